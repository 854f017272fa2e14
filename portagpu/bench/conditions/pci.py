"""Which card a device is: its place on the PCI bus, where the driver tells it, else its name."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portagpu.bench.conditions.reading import NoSensors, Sensors, attempt
from portagpu.device import DeviceRecord

_BUS_INFO = 0x410F  # what cl_khr_pci_bus_info answers: domain, bus, device, function
_ADDRESS = re.compile(r"(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})\.([0-9a-fA-F])")

# of a device in the terms of its back end: the number of a fact, and its size in bytes
Query = Callable[[Any, int, int], bytes | None]


@dataclass(frozen=True, slots=True)
class PciAddress:
    """A place on the PCI bus; some drivers do not tell the domain."""

    domain: int | None
    bus: int
    device: int
    function: int = 0

    def __str__(self) -> str:
        return f"{self.domain or 0:04x}:{self.bus:02x}:{self.device:02x}.{self.function:x}"

    def is_place_of(self, other: PciAddress | None) -> bool:
        """Whether both are one place, as far as they are known."""
        return (
            other is not None
            and (self.bus, self.device, self.function) == (other.bus, other.device, other.function)
            and (self.domain is None or other.domain is None or self.domain == other.domain)
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A card as a library or Linux lists it: what it is read with, where it is, what it is called."""

    handle: Any
    address: PciAddress | None
    names: tuple[str, ...] = ()


def parsed(text: object) -> PciAddress | None:
    """An address such as ``0000:03:00.0``; None for other texts."""
    if isinstance(text, bytes):
        text = text.decode("ascii", "replace")
    found = _ADDRESS.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        return None
    domain, *place = found.groups()
    return PciAddress(None if domain is None else int(domain, 16), *(int(part, 16) for part in place))


def driver_answer(native: Any, fact: int, size: int, root: Path = Path("/")) -> bytes | None:
    """What the loaded OpenCL library tells of a device, for facts that PyOpenCL has no name for. Raises anything."""
    maps = (root / "proc/self/maps").read_text(encoding="utf-8", errors="replace")
    found = re.search(r"(/\S*libOpenCL\S*)", maps)
    if found is None:
        return None
    ask = ctypes.CDLL(found.group(1)).clGetDeviceInfo
    ask.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    answer = ctypes.create_string_buffer(size)
    return answer.raw if ask(native.int_ptr, fact, size, answer, None) == 0 else None


def pci_address(device: DeviceRecord, query: Query = driver_answer) -> PciAddress | None:
    """Where a device is on the PCI bus; None where its driver does not tell."""
    native = device.native
    if "cl_khr_pci_bus_info" in str(attempt(getattr, native, "extensions")).split():
        answer = attempt(query, native, _BUS_INFO, 16)
        if answer is not None and len(answer) == 16:
            return PciAddress(*struct.unpack("4I", answer))
    bus, slot = attempt(getattr, native, "pci_bus_id_nv"), attempt(getattr, native, "pci_slot_id_nv")
    if isinstance(bus, int) and isinstance(slot, int):  # the slot has the function in its last three bits
        domain = attempt(getattr, native, "pci_domain_id_nv")
        return PciAddress(domain if isinstance(domain, int) else None, bus, slot >> 3, slot & 7)
    topology = attempt(getattr, native, "topology_amd")
    if topology is not None:  # signed bytes
        place = [attempt(getattr, topology, part) for part in ("bus", "device", "function")]
        if all(isinstance(part, int) for part in place):
            return PciAddress(None, *(part & 0xFF for part in place))
    return None


def sensors_of_card(
    name: str,
    found: Callable[[], Iterable[Candidate]],
    make: Callable[[Any], Sensors],
    device: DeviceRecord,
    address: PciAddress | None,
) -> Sensors:
    """What ``make`` makes of the handle of a device's card; ``found()``: the cards that a library, ``name``, lists."""
    try:
        cards = tuple(found())
    except Exception as error:
        return NoSensors(f"{name} does not work: {error}")
    handle, why = pick(cards, device, address)
    return NoSensors(f"{name}: {why}") if handle is None else make(handle)


def pick(candidates: Iterable[Candidate], device: DeviceRecord, address: PciAddress | None) -> tuple[Any, str]:
    """The handle of a device's card, or None and why it cannot be told."""
    listed = tuple(candidates)
    if address is not None and any(candidate.address for candidate in listed):
        here = [candidate.handle for candidate in listed if address.is_place_of(candidate.address)]
        return (here[0], "") if len(here) == 1 else (None, f"no card is listed at {address}")
    called = [c.handle for c in listed if device.name.casefold() in (name.strip().casefold() for name in c.names)]
    if len(called) == 1:
        return called[0], ""
    if called:
        return None, f"{len(called)} cards are called {device.name}, and the driver does not tell which of them this is"
    return None, f"no card called {device.name} is listed"
