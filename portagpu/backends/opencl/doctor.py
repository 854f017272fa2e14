"""What is wrong with this machine's OpenCL, and how to mend it, as data (the command line prints it)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pyopencl as cl

from portagpu.backends.opencl.drivers import search
from portagpu.backends.opencl.drivers.records import DriverRecord, DriverSource, DriverState
from portagpu.backends.opencl.drivers.register import Places, Registration, perform, registration
from portagpu.device.as_json import device_as_json
from portagpu.device.record import DeviceRecord
from portagpu.device.registry import default_device, devices, discover
from portagpu.errors import DeviceError
from portagpu.settings import Settings


class Severity(Enum):
    """How much a finding matters."""

    NOTE = "note"  # nothing is lost
    WARNING = "warning"  # something installed cannot be used
    ERROR = "error"  # PortaGPU cannot run, or not as asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong: what it is about, what is the matter, what to do."""

    severity: Severity
    subject: str
    problem: str
    remedy: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Every driver library found, every device, what is wrong, and where things are kept.

    ``default`` is the device that is used when nothing else is asked for, or None where there is none.
    """

    drivers: tuple[DriverRecord, ...]
    devices: tuple[DeviceRecord, ...]
    default: DeviceRecord | None
    findings: tuple[Finding, ...]
    vendors_folder: Path | None
    cache_dir: Path
    simulator: bool
    pyopencl_version: str

    @property
    def healthy(self) -> bool:
        """Whether at least one device works and no finding is an error."""
        return self.default is not None and all(f.severity is not Severity.ERROR for f in self.findings)


def diagnose(settings: Settings, *, fresh: bool = True) -> Diagnosis:
    """Look at everything; ``fresh`` loads every library and probes every device again instead of trusting the cache.

    Never raises for a broken driver or device.
    """
    registered = registration(settings)
    records = discover(settings, fresh=True) if fresh else devices(settings)
    drivers = _examined_again(settings, registered) if fresh else registered.drivers
    default, selection = _default(settings, records)
    findings = [
        *selection,
        *_about_hidden(drivers, records),
        *_about_drivers(drivers, late=registered.late),
        *_about_devices(records),
        *_about_hardware(drivers, simulator=registered.simulator),
        *_about_cache(settings),
    ]
    order = list(Severity)
    return Diagnosis(
        drivers=drivers,
        devices=records,
        default=default,
        findings=tuple(sorted(findings, key=lambda finding: -order.index(finding.severity))),
        vendors_folder=registered.vendors_folder,
        cache_dir=settings.cache_dir,
        simulator=registered.simulator,
        pyopencl_version=cl.VERSION_TEXT,
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


def _default(settings: Settings, records: Sequence[DeviceRecord]) -> tuple[DeviceRecord | None, tuple[Finding, ...]]:
    try:
        chosen = default_device(settings)
    except DeviceError as error:
        subject = f"PORTAGPU_DEVICE={settings.device}" if settings.device is not None else "devices"
        remedy = error.hint
        if not records:
            remedy = f"{remedy}; or install your GPU vendor's OpenCL driver"
        return None, (Finding(severity=Severity.ERROR, subject=subject, problem=error.message, remedy=remedy),)
    return chosen, ()


def _about_hidden(drivers: Sequence[DriverRecord], records: Sequence[DeviceRecord]) -> Iterator[Finding]:
    """Drivers that load and are registered, but whose platforms PyOpenCL does not list."""
    platforms = {record.platform for record in records}
    for driver in drivers:
        serves = driver.state in (DriverState.REGISTERED, DriverState.ADDED)
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
    served = {driver.family for driver in drivers if driver.state in (DriverState.REGISTERED, DriverState.ADDED)}
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
        if driver.state not in (DriverState.REGISTERED, DriverState.ADDED):
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


def _about_devices(records: Sequence[DeviceRecord]) -> Iterator[Finding]:
    for record in records:
        if record.problem is not None:
            yield Finding(
                severity=Severity.WARNING,
                subject=f"device {record.index}: {record.name} ({record.platform})",
                problem=record.problem,
                remedy=record.remedy,
            )


def _about_hardware(drivers: Sequence[DriverRecord], *, simulator: bool) -> Iterator[Finding]:
    """Hardware whose device file is there, without a driver that serves it."""
    if simulator:
        return
    served = {d.family for d in drivers if d.state in (DriverState.REGISTERED, DriverState.ADDED) and d.platforms}
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


def _about_cache(settings: Settings) -> Iterator[Finding]:
    """Without a writable cache every start probes and compiles again."""
    folder = settings.cache_dir
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not os.access(folder, os.W_OK | os.X_OK) or not folder.is_dir():
        yield Finding(
            severity=Severity.WARNING,
            subject=str(settings.cache_dir),
            problem="the cache folder cannot be written: every start probes and compiles again",
            remedy="make it writable, or set PORTAGPU_CACHE_DIR to a folder of yours",
        )


def as_json(diagnosis: Diagnosis) -> Mapping[str, object]:
    """The diagnosis as JSON values, for reports and tools."""
    return {
        "healthy": diagnosis.healthy,
        "pyopencl": diagnosis.pyopencl_version,
        "default": None if diagnosis.default is None else diagnosis.default.index,
        "vendors_folder": None if diagnosis.vendors_folder is None else str(diagnosis.vendors_folder),
        "cache_dir": str(diagnosis.cache_dir),
        "simulator": diagnosis.simulator,
        "drivers": [
            {
                "library": driver.library,
                "path": driver.path,
                "source": driver.source.value,
                "icd_file": driver.icd_file,
                "state": driver.state.value,
                "platforms": [
                    {"name": p.name, "version": p.version, "devices": list(p.devices)} for p in driver.platforms
                ],
                "problem": driver.problem,
                "remedy": driver.remedy,
            }
            for driver in diagnosis.drivers
        ],
        "devices": [device_as_json(record) for record in diagnosis.devices],
        "findings": [
            {"severity": f.severity.value, "subject": f.subject, "problem": f.problem, "remedy": f.remedy}
            for f in diagnosis.findings
        ],
    }
