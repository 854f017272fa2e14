"""The best sensors that there are for a device."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from portagpu.bench.conditions import amdsmi, level_zero, nvml, sysfs_gpu
from portagpu.bench.conditions.cpu import CpuSensors
from portagpu.bench.conditions.pci import PciAddress, pci_address
from portagpu.bench.conditions.reading import NoSensors, Reading, Sensors, attempt, unread
from portagpu.device import DeviceRecord, DeviceType

Import = Callable[[str], Any]
_READ = tuple(field.name for field in fields(Reading) if field.name != "idle")


@dataclass(frozen=True, slots=True)
class _Library:
    """A library of a vendor's: its module, how a device is found in it, and what installs it."""

    module: str
    find: Callable[[Any, DeviceRecord, PciAddress | None], Sensors]
    remedy: str


_LIBRARIES = {  # by PCI's number of the vendor, which OpenCL tells of GPUs
    0x10DE: _Library(nvml.MODULE, nvml.sensors, "pip install 'portagpu[bench]'"),
    0x1002: _Library(amdsmi.MODULE, amdsmi.sensors, "pip install amdsmi, of the version of the ROCm in use"),
    0x8086: _Library(level_zero.MODULE, level_zero.sensors, "pip install pyzes"),
}


class Together:
    """Sensors of one device by two ways: what the first cannot read, the second may."""

    def __init__(self, first: Sensors, second: Sensors) -> None:
        self._first, self._second = first, second
        self._meter = first if first.energy() is not None else second
        self.name = f"{first.name} and {second.name}"
        self.missing = first.missing
        self.least_window_s = self._meter.least_window_s

    def read(self) -> Reading:
        """What either tells."""
        first, second = self._first.read(), self._second.read()
        told = {name: getattr(first, name) for name in _READ}
        told |= {name: getattr(second, name) for name, value in told.items() if value is None}
        return Reading(**told, idle=first.idle or second.idle)

    def energy(self) -> float | None:
        """Joules by the one that could tell them when both were new."""
        return self._meter.energy()


def sensors_for(
    device: DeviceRecord,
    *,
    root: Path = Path("/"),
    load: Import = importlib.import_module,
    place: Callable[[DeviceRecord], PciAddress | None] = pci_address,
) -> Sensors:
    """The sensors of a device: the best there are, or some that read nothing and say why. Never raises."""
    try:
        return _sensors_for(device, root, load, place)
    except Exception as error:  # a benchmark goes on without
        return NoSensors(f"sensors fail: {error!r}")


def _sensors_for(
    device: DeviceRecord, root: Path, load: Import, place: Callable[[DeviceRecord], PciAddress | None]
) -> Sensors:
    if device.device_type is DeviceType.CPU:
        return CpuSensors(root)
    address, vendor = place(device), attempt(getattr, device.native, "vendor_id")
    library = _LIBRARIES.get(vendor) if isinstance(vendor, int) else None
    own = _of_library(library, load, device, address)
    shown = sysfs_gpu.sensors(root, device, address, vendor if isinstance(vendor, int) else None)
    why = [sensors.missing for sensors in (own, shown) if isinstance(sensors, NoSensors) and sensors.missing]
    found = [sensors for sensors in (own, shown) if not isinstance(sensors, NoSensors)]
    if not found:
        return NoSensors("; ".join(why))
    best = Together(*found) if len(found) == 2 and unread(own) else found[0]
    silent = unread(best)
    best.missing = "; ".join([*why, silent]) if silent else ""
    return best


def _of_library(library: _Library | None, load: Import, device: DeviceRecord, address: PciAddress | None) -> Sensors:
    if library is None:
        return NoSensors("")
    try:
        module = load(library.module)
    except ModuleNotFoundError:
        return NoSensors(f"the module {library.module} is not installed: {library.remedy}")
    except Exception as error:  # it looks for the driver's part when it is imported
        return NoSensors(f"the module {library.module} does not load: {error}")
    try:
        return library.find(module, device, address)
    except Exception as error:
        return NoSensors(f"the module {library.module} fails: {error!r}")


__all__ = ["Together", "sensors_for"]
