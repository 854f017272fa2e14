"""The devices of this machine: each is offered only after a kernel was built and run on it."""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyopencl as cl

from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.device.cuda_names import CudaNames
from portagpu.device.drivers.records import DriverRecord, DriverState
from portagpu.device.drivers.register import register_drivers
from portagpu.device.identity import DeviceIdentity, all_cl_devices, identity_of
from portagpu.device.numbering import memory_of, numbered
from portagpu.device.probing.assemble import capabilities_of, device_type_of
from portagpu.device.probing.prober import probe
from portagpu.device.quirks import remedy_for
from portagpu.errors import DeviceSelectionError, NoDeviceError, did_you_mean
from portagpu.settings import Settings

_WAYS = "choose by index, by a part of name, vendor or platform, or by type (gpu, cpu)"
_RANK = {DeviceType.GPU: 2, DeviceType.ACCELERATOR: 1, DeviceType.CPU: 0}
_logger = logging.getLogger(__name__)
_lock = threading.RLock()
_devices: tuple[DeviceRecord, ...] | None = None
_absent: dict[int, str] = {}  # numbers of devices whose platforms list nothing now, with their names


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeviceRecord(CudaNames):
    """An OpenCL device: what it is, what it can do, or why it does not work and what helps.

    ``index`` is its number, which it keeps while another driver fails (-1 for a device that only the user's context
    knows). ``capabilities`` is None
    exactly if ``problem`` is not.
    """

    index: int
    name: str
    vendor: str
    platform: str
    driver_version: str
    device_type: DeviceType
    cl_device: cl.Device
    capabilities: Capabilities | None
    problem: str | None
    remedy: str | None

    @property
    def works(self) -> bool:
        """Whether a kernel ran on it."""
        return self.capabilities is not None

    @property
    def key(self) -> str:
        """Stable identity of device and driver, for caches and stores: ``platform|device|driver_version``."""
        return f"{self.platform}|{self.name}|{self.driver_version}"


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
    drivers = register_drivers(settings)
    found: list[tuple[cl.Device, DeviceIdentity]] = []
    for device in all_cl_devices():
        try:
            found.append((device, identity_of(device)))
        except cl.Error as error:
            _logger.warning("a device does not even tell its name: %s", error)
    numbers = _numbers(found, memory_of(drivers, settings.cache_dir), anew=renumber)
    same: Counter[str] = Counter()
    records: list[DeviceRecord] = []
    for number, (device, identity) in zip(numbers, found, strict=True):
        records.append(_record(number, device, identity, same[identity.digest], settings, fresh=fresh))
        same[identity.digest] += 1
    return tuple(sorted(records, key=lambda record: record.index))


def _numbers(found: list[tuple[cl.Device, DeviceIdentity]], memory: Path, *, anew: bool) -> tuple[int, ...]:
    """A number for each device; those of platforms that list none now are kept in `_absent`."""
    global _absent
    platforms: dict[int, tuple[str, list[str]]] = {}
    for device, identity in found:
        platforms.setdefault(device.platform.int_ptr, (identity.platform, []))[1].append(identity.name)
    made = numbered(list(platforms.values()), memory, anew=anew)
    _absent = made.absent
    return made.present


def record_for(cl_device: cl.Device, settings: Settings | None = None) -> DeviceRecord:
    """The record of a device that came with a user's context; sub-devices share their parent's probe results."""
    for record in devices(settings):
        if record.cl_device == cl_device:
            return record
    return _record(-1, cl_device, identity_of(cl_device), 0, settings or Settings.from_environment(), fresh=False)


def _record(
    index: int, device: cl.Device, identity: DeviceIdentity, ordinal: int, settings: Settings, *, fresh: bool
) -> DeviceRecord:
    results = probe(device, ordinal, settings, fresh=fresh)
    problem, capabilities = results.problem, None
    if problem is None:
        try:
            capabilities = capabilities_of(device, results, identity.hints)
        except cl.Error as error:
            problem = f"the driver does not describe its device: {error}"
    return DeviceRecord(
        index=index,
        name=identity.name,
        vendor=identity.vendor,
        platform=identity.platform,
        driver_version=identity.driver_version,
        device_type=device_type_of(device),
        cl_device=device,
        capabilities=capabilities,
        problem=problem,
        remedy=None if problem is None else remedy_for(problem),
    )


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
        everything, unused = devices(chosen), _unused(chosen)
        broken = [f"{device.name} ({device.platform}): {device.problem}" for device in everything]
        raise NoDeviceError(
            "no OpenCL device works on this machine" if everything else "no OpenCL device was found on this machine",
            notes=[*broken, *(f"{driver.library} is installed, but {driver.problem}" for driver in unused)],
            hint=unused[0].remedy
            if unused
            else "pip install 'portagpu[cpu]' brings a CPU driver; `portagpu doctor` explains what was found",
        )
    return max(working, key=speed)


def _unused(settings: Settings) -> list[DriverRecord]:
    """Drivers that are installed and not in use: PyOpenCL was asked for platforms before us, or OCL_ICD_VENDORS."""
    return [driver for driver in register_drivers(settings) if driver.state is DriverState.NOT_USED]


def find_device(selector: str | int, settings: Settings | None = None) -> DeviceRecord:
    """The device that a selector names: an index, a type ("gpu", "cpu", "accelerator"), or a part of its name, vendor,
    platform or driver version in any case; the fastest working one where several match.

    Raises `DeviceSelectionError`, which lists what exists.
    """
    return _find(selector, settings or Settings.from_environment(), asked=repr(selector))


def _find(selector: str | int, settings: Settings, *, asked: str) -> DeviceRecord:
    return choose(devices(settings), selector, asked=asked, unused=_unused(settings), absent=_absent)


def choose(
    records: tuple[DeviceRecord, ...],
    selector: str | int,
    *,
    asked: str | None = None,
    unused: Sequence[DriverRecord] = (),
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
    version = getattr(record.cl_device, "version", "")  # some drivers name themselves only here
    text = f"{record.platform}|{record.vendor}|{record.name}|{record.driver_version}|{version}".lower()
    return bool(selector) and selector in text


def _listed(record: DeviceRecord) -> str:
    state = "" if record.works else f", does not work: {record.problem}"
    return f"{record.index}: {record.name} ({record.device_type.value}, {record.platform}){state}"
