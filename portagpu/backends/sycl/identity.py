"""Which device is meant, in text that outlives the process."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from portagpu.backends.sycl.handles import Device
from portagpu.backends.sycl.library import Library

_MOST_DEVICES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceName:
    """A device by names; ``ordinal`` counts those that have the same, ``interface`` is the driver's kind in SYCL."""

    interface: str
    platform: str
    name: str
    driver_version: str
    ordinal: int


class Listed(NamedTuple):
    """A device of this process: its name, itself, and what it tells."""

    name: DeviceName
    device: Device
    facts: Mapping[str, str]


def listed(library: Library) -> tuple[Listed, ...]:
    """All devices, in the library's order. Raises `SyclError`."""
    found = (ctypes.c_void_p * _MOST_DEVICES)()
    count = library.check(library.pg_devices(found, _MOST_DEVICES))
    devices = [Device(library, address) for address in found[: min(count, _MOST_DEVICES)] if address]
    seen: Counter[tuple[str, ...]] = Counter()
    result = []
    for device in devices:
        facts = facts_of(library, device)
        names = tuple(facts.get(name, "") for name in ("interface", "platform", "name", "driver_version"))
        interface, platform, name, version = names
        named = DeviceName(
            interface=interface, platform=platform, name=name, driver_version=version, ordinal=seen[names]
        )
        result.append(Listed(named, device, facts))
        seen[names] += 1
    return tuple(result)


def facts_of(library: Library, device: Device) -> dict[str, str]:
    """What a device tells, by the names of ``devices.hpp``. Raises `SyclError`."""
    size = library.check(library.pg_describe(device.address, None, 0)) + 1
    text = ctypes.create_string_buffer(size)
    library.check(library.pg_describe(device.address, text, size))
    rows = (row.partition("\t") for row in text.value.decode(errors="replace").splitlines())
    return {name: " ".join(value.split()) for name, _, value in rows}
