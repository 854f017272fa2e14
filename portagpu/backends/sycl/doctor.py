"""What is installed of the SYCL run time, and what is missing, for `portagpu doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from portagpu.backends.diagnosis import DriverReport, Finding, InstalledDriver, Severity
from portagpu.backends.sycl.announcement import INSTALL
from portagpu.backends.sycl.discovery import survey_now
from portagpu.backends.sycl.drivers.installed import SyclRuntime, find_runtime
from portagpu.backends.sycl.shim_build import compiler_version, find_compiler
from portagpu.device.record import DeviceRecord
from portagpu.settings import Settings


def examine(settings: Settings, records: Sequence[DeviceRecord], *, fresh: bool) -> DriverReport:
    """See `portagpu.backends.backend.Backend.examine`. Without a run time there is nothing to report."""
    runtime = find_runtime()
    if runtime is None:
        return DriverReport()
    survey = survey_now(settings, fresh=fresh)
    compiler = find_compiler()
    said = None if compiler is None else compiler_version(compiler)
    problem = survey.problem
    platforms: dict[str, list[str]] = {}
    for record in records:
        platforms.setdefault(record.platform, []).append(record.name)
    findings = list(_about_compiler(runtime, compiler))
    if problem is not None:
        findings.append(
            Finding(severity=Severity.WARNING, subject=str(runtime.library), problem=problem, remedy=survey.remedy)
        )
    facts: Mapping[str, object] = {
        "library": str(runtime.library),
        "version": runtime.version,
        "headers": None if runtime.headers is None else str(runtime.headers),
        "adapters": [path.name for path in _adapters(runtime)],
        "compiler": compiler,
        "compiler_version": said,
        "problem": problem,
    }
    return DriverReport(
        drivers=(
            InstalledDriver(
                path=str(runtime.library),
                state="usable" if problem is None else "broken",
                serves=problem is None and any(record.works for record in records),
                named_by="its package or folder",
                platforms=tuple((name, tuple(devices)) for name, devices in platforms.items()),
                facts=facts,
            ),
        ),
        findings=tuple(findings),
        interface=f"SYCL {runtime.version}",
        notes=(
            f"SYCL: {runtime.library}",
            f"SYCL: its library for Python is compiled by {compiler or 'nothing: there is no C++ compiler'}"
            + (f" ({said})" if said else ""),
        ),
        facts={"sycl": facts},
    )


def _adapters(runtime: SyclRuntime) -> list[Path]:
    return sorted(runtime.folder.glob("libur_adapter_*.so"))


def _about_compiler(runtime: SyclRuntime, compiler: str | None) -> Iterator[Finding]:
    if compiler is None:
        yield Finding(
            severity=Severity.WARNING,
            subject=str(runtime.library),
            problem="there is no C++ compiler, which the SYCL back end needs once",
            remedy="install one (Debian, Ubuntu: apt install g++), or name it in CXX",
        )
    if not any(path.name.startswith("libur_adapter_opencl") for path in _adapters(runtime)):
        yield Finding(
            severity=Severity.WARNING,
            subject=str(runtime.folder),
            problem="the run time has no adapter for OpenCL drivers, so that CPUs are no SYCL devices",
            remedy=f"{INSTALL} brings a version that has it",
        )
