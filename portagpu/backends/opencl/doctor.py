"""What is wrong with this machine's OpenCL drivers, and how to mend it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import pyopencl as cl

from portagpu.backends.diagnosis import DriverReport, Finding, InstalledDriver, Severity
from portagpu.backends.opencl.drivers import search
from portagpu.backends.opencl.drivers.records import DriverRecord, DriverSource, DriverState
from portagpu.backends.opencl.drivers.register import Places, Registration, perform, registration
from portagpu.device.record import DeviceRecord
from portagpu.settings import Settings

_SERVING = (DriverState.REGISTERED, DriverState.ADDED)


def examine(settings: Settings, records: Sequence[DeviceRecord], *, fresh: bool) -> DriverReport:
    """Look at all drivers; ``fresh`` loads every library again instead of trusting the cache.

    Never raises for a broken driver.
    """
    registered = registration(settings)
    drivers = _examined_again(settings, registered) if fresh else registered.drivers
    folder = registered.vendors_folder
    return DriverReport(
        drivers=tuple(map(_shown, drivers)),
        findings=(
            *_about_hidden(drivers, records),
            *_about_drivers(drivers, late=registered.late),
            *_about_hardware(drivers, simulator=registered.simulator),
        ),
        replaced_by="a simulator" if registered.simulator else None,
        interface=f"PyOpenCL {cl.VERSION_TEXT}",
        notes=() if folder is None else (f"OCL_ICD_VENDORS={folder} (set for this process)",),
        facts={
            "pyopencl": cl.VERSION_TEXT,
            "vendors_folder": None if folder is None else str(folder),
            "simulator": registered.simulator,
        },
    )


def _shown(driver: DriverRecord) -> InstalledDriver:
    return InstalledDriver(
        path=driver.path or driver.library,
        state=driver.state.value,
        serves=driver.state in _SERVING,
        named_by=driver.icd_file or driver.source.value,
        platforms=tuple((platform.name, tuple(platform.devices)) for platform in driver.platforms),
        facts={
            "library": driver.library,
            "path": driver.path,
            "source": driver.source.value,
            "icd_file": driver.icd_file,
            "state": driver.state.value,
            "platforms": [{"name": p.name, "version": p.version, "devices": list(p.devices)} for p in driver.platforms],
            "problem": driver.problem,
            "remedy": driver.remedy,
        },
    )


def _examined_again(settings: Settings, registered: Registration) -> tuple[DriverRecord, ...]:
    """The drivers as a process that starts now would find them."""
    if registered.late:
        return registered.drivers
    environ = dict(os.environ)
    if registered.vendors_folder is not None:
        environ.pop("OCL_ICD_VENDORS", None)
        if registered.previous_vendors is not None:
            environ["OCL_ICD_VENDORS"] = registered.previous_vendors
    places = Places(bundled=search.bundled_vendor_folder())
    return perform(settings, environ, places, fresh=True, dry=True).drivers


def _about_hidden(drivers: Sequence[DriverRecord], records: Sequence[DeviceRecord]) -> Iterator[Finding]:
    """Drivers that load and are registered, but whose platforms PyOpenCL does not list."""
    platforms = {record.platform for record in records}
    for driver in drivers:
        serves = driver.state in _SERVING
        names = {" ".join(platform.name.split()) for platform in driver.platforms if platform.devices}
        if serves and names and not names & platforms:
            yield Finding(
                severity=Severity.WARNING,
                subject=driver.library,
                problem="the driver loads, but the OpenCL loader of PyOpenCL does not list its platform",
                remedy="call portagpu.device.devices() before pyopencl.get_platforms(); unset OPENCL_VENDOR_PATH;"
                " if that does not help, install PyOpenCL from PyPI",
            )


def _about_drivers(drivers: Sequence[DriverRecord], *, late: bool) -> Iterator[Finding]:
    served = {driver.family for driver in drivers if driver.state in _SERVING}
    for driver in drivers:
        if driver.problem is None:
            continue
        replaced = driver.family is not None and driver.family in served
        harmless = (driver.state is DriverState.NOT_USED and not late) or (
            driver.state is DriverState.MISSING and replaced
        )
        asked_for = driver.source in (DriverSource.SETTINGS, DriverSource.USER)
        severity = Severity.ERROR if asked_for else Severity.NOTE if harmless else Severity.WARNING
        remedy = driver.remedy
        if driver.state is DriverState.MISSING and replaced and not asked_for:
            remedy = "nothing to do: the same driver is served by the library that PortaGPU found"
        yield Finding(severity=severity, subject=driver.library, problem=driver.problem, remedy=remedy)
    yield from _duplicates(drivers)


def _duplicates(drivers: Sequence[DriverRecord]) -> Iterator[Finding]:
    """Two libraries that offer the same platform: its devices are listed twice."""
    first: dict[tuple[str, str], str] = {}
    for driver in drivers:
        if driver.state not in _SERVING:
            continue
        for platform in driver.platforms:
            known = first.setdefault((platform.name, platform.version), driver.library)
            if known != driver.library:
                yield Finding(
                    severity=Severity.NOTE,
                    subject=driver.library,
                    problem=f"it offers the same platform as {known}: its devices are listed twice",
                    remedy=f"delete one of them, or {driver.icd_file}" if driver.icd_file else "delete one of them",
                )


def _about_hardware(drivers: Sequence[DriverRecord], *, simulator: bool) -> Iterator[Finding]:
    """Hardware whose device file is there, without a driver that serves it."""
    if simulator:
        return
    served = {d.family for d in drivers if d.state in _SERVING and d.platforms}
    for device_file, families in search.DEVICE_FILES:
        if not device_file.exists():
            continue
        if not served & set(families):
            package = next(f.package for f in search.FAMILIES if f.name == families[0])
            yield Finding(
                severity=Severity.WARNING,
                subject=str(device_file),
                problem=f"there is a device for the driver {families[0]}, but no such OpenCL driver serves it",
                remedy=package,
            )
        elif not os.access(device_file, os.R_OK | os.W_OK):
            yield Finding(
                severity=Severity.WARNING,
                subject=str(device_file),
                problem="you may not open this device",
                remedy="add yourself to the groups video and render, and log in again",
            )
