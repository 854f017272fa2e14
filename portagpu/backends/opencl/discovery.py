"""Lists OpenCL's devices: drivers are registered, devices named, numbered and probed."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

import pyopencl as cl

from portagpu.backends.opencl.announcement import NAME
from portagpu.backends.opencl.drivers.records import DriverRecord, DriverState
from portagpu.backends.opencl.drivers.register import register_drivers
from portagpu.backends.opencl.identity import DeviceIdentity, all_cl_devices, identity_of
from portagpu.backends.opencl.numbering import Numbered, memory_of, numbered
from portagpu.backends.opencl.probing.assemble import capabilities_of, device_type_of
from portagpu.backends.opencl.probing.prober import probe
from portagpu.backends.opencl.quirks import remedy_for
from portagpu.device.record import DeviceRecord
from portagpu.device.sources import Discovery
from portagpu.settings import Settings

_logger = logging.getLogger(__name__)


def discover(settings: Settings, *, fresh: bool, renumber: bool) -> Discovery:
    """List every device now; see `portagpu.device.sources.DeviceSource`. OpenCL lists platforms once per process."""
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
    for number, (device, identity) in zip(numbers.present, found, strict=True):
        records.append(_record(number, device, identity, same[identity.digest], settings, fresh=fresh))
        same[identity.digest] += 1
    return Discovery(records=tuple(sorted(records, key=lambda record: record.index)), absent=numbers.absent)


def describe(device: cl.Device, settings: Settings) -> DeviceRecord:
    """The record of a device that came with a user's context; sub-devices share their parent's probe results."""
    return _record(-1, device, identity_of(device), 0, settings, fresh=False)


def unused_drivers(settings: Settings) -> list[DriverRecord]:
    """Drivers that are installed and not in use: PyOpenCL was asked for platforms before us, or OCL_ICD_VENDORS."""
    return [driver for driver in register_drivers(settings) if driver.state is DriverState.NOT_USED]


def _numbers(found: list[tuple[cl.Device, DeviceIdentity]], memory: Path, *, anew: bool) -> Numbered:
    """A number for each device, and those of platforms that list none now."""
    platforms: dict[int, tuple[str, list[str]]] = {}
    for device, identity in found:
        platforms.setdefault(device.platform.int_ptr, (identity.platform, []))[1].append(identity.name)
    return numbered(list(platforms.values()), memory, anew=anew)


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
        native=device,
        capabilities=capabilities,
        problem=problem,
        remedy=None if problem is None else remedy_for(problem),
        backend=NAME,
        version=identity.device_version,
        told_capability=_compute_capability(device, identity),
        corrects_errors=_corrects_errors(device),
    )


def _compute_capability(device: cl.Device, identity: DeviceIdentity) -> tuple[int, int] | None:
    query = identity.hints.compute_capability_query
    if query is None:
        return None
    try:
        major, minor = (int(getattr(device, query.format(part))) for part in ("major", "minor"))
    except (cl.Error, AttributeError):
        return None  # an old driver
    return major, minor


def _corrects_errors(device: cl.Device) -> bool:
    try:
        return bool(device.error_correction_support)
    except cl.Error:
        return False
