"""What is wrong with this machine's drivers and devices, and how to mend it, as data (the command line prints it)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from portagpu.device.as_json import device_as_json
from portagpu.device.record import DeviceRecord
from portagpu.device.registry import default_device
from portagpu.errors import DeviceError
from portagpu.files import is_folder
from portagpu.settings import Settings


class Severity(Enum):
    """How much a finding matters."""

    NOTE = "note"  # nothing is lost
    WARNING = "warning"  # something installed cannot be used
    ERROR = "error"  # PortaGPU cannot run, or not as asked


class Finding(NamedTuple):
    """One thing that is wrong: what it is about, what is the matter, what to do."""

    severity: Severity
    subject: str
    problem: str
    remedy: str | None


class InstalledDriver(NamedTuple):
    """A driver as it is shown: ``state`` in words, ``named_by`` whom or what, ``platforms`` with their devices.

    ``facts`` are what there is to say of it as JSON values.
    """

    path: str
    state: str
    serves: bool
    named_by: str
    platforms: tuple[tuple[str, tuple[str, ...]], ...]
    facts: Mapping[str, object]


class DriverReport(NamedTuple):
    """What a back end finds of its drivers.

    ``replaced_by``: what runs in place of all of them. ``interface``: the library through which they are reached, with
    its version; ``notes``: lines about this process; ``facts``: the same as JSON values.
    """

    drivers: tuple[InstalledDriver, ...] = ()
    findings: tuple[Finding, ...] = ()
    replaced_by: str | None = None
    interface: str | None = None
    notes: tuple[str, ...] = ()
    facts: Mapping[str, object] = MappingProxyType({})


class Diagnosis(NamedTuple):
    """Every driver found, every device, what is wrong, and where things are kept.

    ``default`` is the device that is used when nothing else is asked for, or None where there is none.
    """

    reports: tuple[DriverReport, ...]
    devices: tuple[DeviceRecord, ...]
    default: DeviceRecord | None
    findings: tuple[Finding, ...]
    cache_dir: Path

    @property
    def drivers(self) -> tuple[InstalledDriver, ...]:
        """The drivers of all back ends."""
        return tuple(driver for report in self.reports for driver in report.drivers)

    @property
    def healthy(self) -> bool:
        """Whether at least one device works and no finding is an error."""
        return self.default is not None and all(f.severity is not Severity.ERROR for f in self.findings)


def diagnosed(reports: Sequence[DriverReport], records: tuple[DeviceRecord, ...], settings: Settings) -> Diagnosis:
    """Put what back ends found together with what is wrong with devices, their choice, and the cache."""
    default, selection = _default(settings, records)
    findings = [
        *selection,
        *(finding for report in reports for finding in report.findings),
        *_about_devices(records),
        *_about_cache(settings),
    ]
    order = list(Severity)
    return Diagnosis(
        reports=tuple(reports),
        devices=records,
        default=default,
        findings=tuple(sorted(findings, key=lambda finding: -order.index(finding.severity))),
        cache_dir=settings.cache_dir,
    )


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


def _about_devices(records: Sequence[DeviceRecord]) -> Iterator[Finding]:
    for record in records:
        if record.problem is not None:
            yield Finding(
                severity=Severity.WARNING,
                subject=f"device {record.label}: {record.name} ({record.platform})",
                problem=record.problem,
                remedy=record.remedy,
            )


def _about_cache(settings: Settings) -> Iterator[Finding]:
    """Without a writable cache every start probes and compiles again."""
    folder = settings.cache_dir
    while not os.access(folder, os.F_OK) and folder != folder.parent:
        folder = folder.parent
    if not os.access(folder, os.W_OK | os.X_OK) or not is_folder(folder):
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
        **{name: value for report in diagnosis.reports for name, value in report.facts.items()},
        "default": None if diagnosis.default is None else diagnosis.default.index,
        "cache_dir": str(diagnosis.cache_dir),
        "drivers": [driver.facts for driver in diagnosis.drivers],
        "devices": [device_as_json(record) for record in diagnosis.devices],
        "findings": [
            {"severity": f.severity.value, "subject": f.subject, "problem": f.problem, "remedy": f.remedy}
            for f in diagnosis.findings
        ],
    }
