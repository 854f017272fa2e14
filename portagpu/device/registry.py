"""The devices of this machine: each is offered only after a kernel was built and run on it."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from portagpu.device import sources
from portagpu.device.capabilities import DeviceType
from portagpu.device.record import DeviceRecord
from portagpu.device.sources import DeviceSource, UnusedDriver
from portagpu.errors import DeviceSelectionError, NoDeviceError, did_you_mean
from portagpu.settings import Settings

_WAYS = "choose by index, by a part of name, vendor or platform, or by type (gpu, cpu)"
_RANK = {DeviceType.GPU: 2, DeviceType.ACCELERATOR: 1, DeviceType.CPU: 0}
_lock = threading.RLock()
_devices: tuple[DeviceRecord, ...] | None = None
_absent: Mapping[int, str] = {}  # numbers of devices whose platforms list nothing now, with their names


def devices(settings: Settings | None = None) -> tuple[DeviceRecord, ...]:
    """All devices, broken ones too, by their numbers; listed once per process, probed once per driver version.

    OpenCL lists platforms once per process, so ``settings`` count at the first call only.
    """
    global _devices
    with _lock:
        if _devices is None:
            _devices = discover(settings or Settings.from_environment())
        return _devices


def drivers_are_loaded() -> bool:
    """Whether this process has listed its devices."""
    return _devices is not None


def working_devices(settings: Settings | None = None) -> tuple[DeviceRecord, ...]:
    """Devices on which a kernel ran."""
    return tuple(device for device in devices(settings) if device.works)


def discover(settings: Settings, *, fresh: bool = False, renumber: bool = False) -> tuple[DeviceRecord, ...]:
    """List every device now; see `devices`. ``fresh`` probes each again instead of trusting the cache, ``renumber``
    gives numbers anew."""
    global _absent
    found = sources.chosen().discover(settings, fresh=fresh, renumber=renumber)
    _absent = found.absent
    return found.records


def record_for(native: Any, settings: Settings | None = None, *, source: DeviceSource | None = None) -> DeviceRecord:
    """The record of a device that came with a user's context; sub-devices share their parent's probe results.

    ``source``: whose device it is, the chosen back end's by default.
    """
    own = sources.chosen()
    if source is None or source is own:
        for record in devices(settings):
            if record.native == native:
                return record
    return (source or own).describe(native, settings or Settings.from_environment())


def speed(record: DeviceRecord) -> tuple[int, float, int]:
    """Sorting key, greatest is best: GPUs before accelerators before CPUs, then the measured rate, then the order."""
    caps = record.capabilities
    if caps is None:
        return -1, 0.0, -record.index
    rate = caps.measured_gflops or caps.compute_units * caps.clock_mhz * caps.vector_width_float / 1e6
    return _RANK[caps.device_type], rate, -record.index


def default_device(settings: Settings | None = None) -> DeviceRecord:
    """The device that the settings name, else the fastest working GPU, else the fastest working CPU driver.

    Raises `NoDeviceError` where nothing works, `DeviceSelectionError` for a selector that names nothing.
    """
    chosen = settings or Settings.from_environment()
    if chosen.device is not None:
        return _find(chosen.device, chosen, asked=f"PORTAGPU_DEVICE={chosen.device}")
    working = working_devices(chosen)
    if not working:
        everything, unused = devices(chosen), sources.chosen().unused_drivers(chosen)
        broken = [f"{device.name} ({device.platform}): {device.problem}" for device in everything]
        raise NoDeviceError(
            "no OpenCL device works on this machine" if everything else "no OpenCL device was found on this machine",
            notes=[*broken, *(f"{driver.library} is installed, but {driver.problem}" for driver in unused)],
            hint=unused[0].remedy
            if unused
            else "pip install 'portagpu[cpu]' brings a CPU driver; `portagpu doctor` explains what was found",
        )
    return max(working, key=speed)


def find_device(selector: str | int, settings: Settings | None = None) -> DeviceRecord:
    """The device that a selector names: an index, a type ("gpu", "cpu", "accelerator"), or a part of its name, vendor,
    platform or driver version in any case; the fastest working one where several match.

    Raises `DeviceSelectionError`, which lists what exists.
    """
    return _find(selector, settings or Settings.from_environment(), asked=repr(selector))


def _find(selector: str | int, settings: Settings, *, asked: str) -> DeviceRecord:
    return choose(
        devices(settings), selector, asked=asked, unused=sources.chosen().unused_drivers(settings), absent=_absent
    )


def choose(
    records: tuple[DeviceRecord, ...],
    selector: str | int,
    *,
    asked: str | None = None,
    unused: Sequence[UnusedDriver] = (),
    absent: Mapping[int, str] | None = None,
) -> DeviceRecord:
    """As `find_device`, among given records. ``asked``: what the message calls the selector; ``unused``: drivers whose
    devices are missing; ``absent``: names of devices whose platforms list nothing now, by number."""
    matching = [record for record in records if _matches(record, str(selector).strip().lower())]
    working = [record for record in matching if record.works]
    if working:
        return max(working, key=speed)
    listing = [_listed(record) for record in records]
    if matching:
        broken = matching[0]
        raise DeviceSelectionError(
            f"the device {selector!r} ({broken.name}) does not work: {broken.problem}",
            notes=listing,
            hint=broken.remedy,
        )
    text = str(selector).strip()
    lost = (absent or {}).get(int(text)) if text.isdecimal() else None
    if lost is not None:
        raise DeviceSelectionError(
            f"the device {text} was {lost}, whose driver shows no device now",
            notes=listing,
            hint="`portagpu doctor` explains what is wrong with it; `portagpu devices --fresh` numbers the others anew",
        )
    hint = f"{did_you_mean(str(selector).lower(), _words(records))}{_WAYS}"
    raise DeviceSelectionError(
        f"no device matches {asked or repr(selector)}",
        notes=[
            *(listing or ["there is no OpenCL device"]),
            *(f"{driver.library} is installed, but {driver.problem}" for driver in unused),
        ],
        hint=f"{hint}; or {unused[0].remedy}" if unused else hint,
    )


def _words(records: tuple[DeviceRecord, ...]) -> list[str]:
    """What selectors may have meant: types, and the words of names, vendors and platforms."""
    texts = " ".join(f"{record.name} {record.vendor} {record.platform}" for record in records).lower()
    return [*(kind.value for kind in DeviceType), *dict.fromkeys(re.findall(r"[a-z][\w-]{2,}", texts))]


def _matches(record: DeviceRecord, selector: str) -> bool:
    if selector.removeprefix("-").isdecimal():
        return record.index == int(selector)
    if selector in {kind.value for kind in DeviceType}:
        return record.device_type.value == selector
    texts = (record.platform, record.vendor, record.name, record.driver_version, record.version)
    text = "|".join(texts).lower()  # some drivers name themselves only in the last one
    return bool(selector) and selector in text


def _listed(record: DeviceRecord) -> str:
    state = "" if record.works else f", does not work: {record.problem}"
    return f"{record.index}: {record.name} ({record.device_type.value}, {record.platform}){state}"
