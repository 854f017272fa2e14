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
from portagpu.errors import ArgumentTypeError, DeviceSelectionError, NoDeviceError, did_you_mean
from portagpu.settings import Settings

_WAYS = "choose by index, by a part of name, vendor or platform, or by type (gpu, cpu)"  # after "sycl:" those of SYCL
_RANK = {DeviceType.GPU: 2, DeviceType.ACCELERATOR: 1, DeviceType.CPU: 0}
_lock = threading.RLock()
_devices: dict[str, tuple[DeviceRecord, ...]] = {}  # by names of back ends
_absent: dict[str, Mapping[int, str]] = {}  # numbers of devices whose platforms list nothing now, with their names


def devices(settings: Settings | None = None, *, source: DeviceSource | None = None) -> tuple[DeviceRecord, ...]:
    """All devices of a back end, broken ones too, by their numbers; listed once per process, probed once per driver
    version. ``source``: the back end, by default the one that the settings choose.

    OpenCL lists platforms once per process, so ``settings`` count at the first call only, but for the choice.
    """
    with _lock:
        settings = settings or Settings.from_environment()
        source = source or sources.chosen(settings)
        if source.name not in _devices:
            _devices[source.name] = discover(settings, source=source)
        return _devices[source.name]


def all_devices(settings: Settings | None = None) -> tuple[DeviceRecord, ...]:
    """The devices of all back ends, those of the chosen one first."""
    settings = settings or Settings.from_environment()
    return tuple(record for source in _chosen_first(settings) for record in devices(settings, source=source))


def drivers_are_loaded() -> bool:
    """Whether this process has listed its devices."""
    return bool(_devices)


def working_devices(settings: Settings | None = None) -> tuple[DeviceRecord, ...]:
    """Devices on which a kernel ran."""
    return tuple(device for device in devices(settings) if device.works)


def discover(
    settings: Settings, *, source: DeviceSource | None = None, fresh: bool = False, renumber: bool = False
) -> tuple[DeviceRecord, ...]:
    """List every device of a back end now; see `devices`. ``fresh`` probes each again instead of trusting the cache,
    ``renumber`` gives numbers anew."""
    source = source or sources.chosen(settings)
    found = source.discover(settings, fresh=fresh, renumber=renumber)
    _absent[source.name] = found.absent
    return found.records


def discover_all(settings: Settings, *, renumber: bool = False) -> tuple[DeviceRecord, ...]:
    """List and probe every device of all back ends now, those of the chosen one first."""
    found = (discover(settings, source=one, fresh=True, renumber=renumber) for one in _chosen_first(settings))
    return tuple(record for records in found for record in records)


def _chosen_first(settings: Settings) -> list[DeviceSource]:
    own = sources.chosen(settings)
    return [own, *(one for one in sources.registered() if one is not own)]


def record_for(native: Any, settings: Settings | None = None, *, source: DeviceSource | None = None) -> DeviceRecord:
    """The record of a device that came with a user's context; sub-devices share their parent's probe results.

    ``source``: whose device it is, the chosen back end's by default.
    """
    settings = settings or Settings.from_environment()
    source = source or sources.chosen(settings)
    for record in devices(settings, source=source):
        if record.native == native:
            return record
    return source.describe(native, settings)


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
    return _fastest(sources.chosen(chosen), chosen)


def _fastest(source: DeviceSource, settings: Settings) -> DeviceRecord:
    """The fastest working device of a back end. Raises `NoDeviceError`."""
    everything = devices(settings, source=source)
    working = [device for device in everything if device.works]
    if not working:
        unused = source.unused_drivers(settings)
        broken = [f"{device.name} ({device.platform}): {device.problem}" for device in everything]
        raise NoDeviceError(
            f"no {source.title} device works on this machine"
            if everything
            else f"no {source.title} device was found on this machine",
            notes=[*broken, *(f"{driver.library} is installed, but {driver.problem}" for driver in unused)],
            hint=(unused[0].remedy if unused else None) or f"{source.to_install}; `portagpu doctor` tells more",
        )
    return max(working, key=speed)


def find_device(selector: str | int, settings: Settings | None = None) -> DeviceRecord:
    """The device that a selector names: an index, a type ("gpu", "cpu", "accelerator"), or a part of its name, vendor,
    platform or driver version in any case; the fastest working one where several match. After a back end's name and a
    colon ("sycl:cpu", "cuda:0") it names one of that back end's devices, and nothing after it the fastest.

    Raises `DeviceSelectionError`, which lists what exists.
    """
    return _find(selector, settings or Settings.from_environment(), asked=repr(selector))


def record_of(device: Any) -> DeviceRecord:
    """The device that an array's ``device``, one of `cuda.gpus`, or a selector ("cpu", "cuda:0") names.

    Raises `DeviceSelectionError`, and `ArgumentTypeError` for anything else.
    """
    record = getattr(device, "record", device)
    if isinstance(record, DeviceRecord):
        return record
    if isinstance(record, str):
        return find_device(record)
    raise ArgumentTypeError(
        f"device= is a device, not {type(device).__name__}",
        hint='pass x.device, one of cuda.gpus, or a selector such as "gpu" or "cuda:0"',
    )


def _find(selector: str | int, settings: Settings, *, asked: str) -> DeviceRecord:
    source, rest = sources.split_selector(selector)
    if source is not None and not rest:
        return _fastest(source, settings)
    source = source or sources.chosen(settings)
    return choose(
        devices(settings, source=source),
        rest,
        asked=asked,
        source=source,
        unused=source.unused_drivers(settings),
        absent=_absent[source.name],
    )


def choose(
    records: tuple[DeviceRecord, ...],
    selector: str | int,
    *,
    asked: str | None = None,
    source: DeviceSource | None = None,
    unused: Sequence[UnusedDriver] = (),
    absent: Mapping[int, str] | None = None,
) -> DeviceRecord:
    """As `find_device`, among given records. ``asked``: what the message calls the selector; ``source``: whose devices
    they are; ``unused``: drivers whose devices are missing; ``absent``: names of devices whose platforms list nothing
    now, by number."""
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
    title = "OpenCL" if source is None else source.title
    words = _words(records)
    meant = "" if text.lower() in words else did_you_mean(text.lower(), words)
    hint = f"{meant}{_WAYS}" if records or source is None else source.to_install
    remedy = unused[0].remedy if unused else None
    raise DeviceSelectionError(
        f"no device matches {asked or repr(selector)}",
        notes=[
            *(listing or [f"there is no {title} device"]),
            *(f"{driver.library} is installed, but {driver.problem}" for driver in unused),
        ],
        hint=hint if remedy is None or remedy in hint else f"{hint}; or {remedy}",
    )


def _words(records: tuple[DeviceRecord, ...]) -> list[str]:
    """What selectors may have meant: types, and the words of names, vendors and platforms."""
    texts = " ".join(f"{record.name} {record.vendor} {record.platform}" for record in records).lower()
    others = (f"{source.name}:" for source in sources.registered())
    return [*(kind.value for kind in DeviceType), *others, *dict.fromkeys(re.findall(r"[a-z][\w-]{2,}", texts))]


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
    return f"{record.label}: {record.name} ({record.device_type.value}, {record.platform}){state}"
