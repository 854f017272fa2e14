"""What is known about a driver library, and what is said about one that does not serve."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum

from portagpu.backends.opencl.drivers import search
from portagpu.backends.opencl.drivers.check import LoadOutcome, LoadResult, PlatformInfo


class DriverSource(Enum):
    """Who named a driver library."""

    SYSTEM = "system .icd file"
    USER = "OCL_ICD_VENDORS"
    INHERITED = "registered by a parent process"
    BUNDLED = "bundled with PyOpenCL"
    ENVIRONMENT = "Python environment's .icd file"
    SEARCH = "found on disk"
    SETTINGS = "PORTAGPU_DRIVERS"


class DriverState(Enum):
    """What became of a driver library."""

    REGISTERED = "registered"  # the loader knows it without us
    ADDED = "added by PortaGPU"
    MISSING = "file missing"
    FAILED = "does not load"
    EXCLUDED = "excluded: crashes"
    NOT_USED = "not used"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverRecord:
    """One driver library: where it was named, whether it loads, its platforms, what is wrong and how to mend it."""

    library: str
    path: str | None
    family: str | None
    source: DriverSource
    icd_file: str | None
    state: DriverState
    platforms: tuple[PlatformInfo, ...] = ()
    problem: str | None = None
    remedy: str | None = None


def missing(candidate: DriverRecord) -> DriverRecord:
    """The record of a library that does not exist."""
    family = search.family_of(candidate.library)
    if candidate.icd_file is None:
        problem = f"{candidate.library} does not exist"
        remedy = "correct the path, or unset the variable that names it"
    else:
        problem = f"{candidate.icd_file} names {candidate.library}, which does not exist"
        remedy = f"nothing to do if the driver is listed from another place; else delete {candidate.icd_file}"
        if family is not None and family.package:
            remedy += f" or install the driver: {family.package}"
    return replace(candidate, state=DriverState.MISSING, path=None, problem=problem, remedy=remedy)


def judged(candidate: DriverRecord, result: LoadResult | None) -> DriverRecord:
    """The candidate's record after its library was tried."""
    if result is None or result.outcome is LoadOutcome.UNKNOWN:
        return candidate
    record = replace(candidate, path=result.path or candidate.path, platforms=result.platforms)
    family = search.family_of(candidate.library)
    install = f"install or repair it: {family.package}" if family is not None and family.package else "reinstall it"
    if result.harmful:
        bundled = candidate.source is DriverSource.BUNDLED
        fate = "PyOpenCL bundles it and loads it all the same" if bundled else "it is kept out"
        return replace(
            record,
            state=DriverState.EXCLUDED,
            problem=f"{result.error}; {fate}",
            remedy=f"{install}; `portagpu doctor` tries it again",
        )
    if result.outcome is LoadOutcome.FAILED and (result.error or "").startswith(f"{candidate.library}: cannot open"):
        return missing(candidate)
    if result.outcome is LoadOutcome.FAILED:
        state = record.state if record.state is DriverState.NOT_USED else DriverState.FAILED
        return replace(record, state=state, problem=result.error, remedy=_load_remedy(result.error or "", install))
    if record.state is DriverState.NOT_USED:
        return replace(
            record,
            problem="OCL_ICD_VENDORS is set and does not name it",
            remedy=f"unset OCL_ICD_VENDORS, or set PORTAGPU_DRIVERS={record.path}",
        )
    return record


def too_late(driver: DriverRecord) -> DriverRecord:
    """The record of a library that could not be added any more; others stay as they are."""
    if driver.state is not DriverState.ADDED:
        return driver
    return replace(
        driver,
        state=DriverState.NOT_USED,
        problem="PyOpenCL had listed its platforms before PortaGPU could register this driver",
        remedy="import portagpu and call portagpu.device.devices() before pyopencl.get_platforms()",
    )


def _load_remedy(error: str, install: str) -> str:
    lacking = re.match(r"(\S+): cannot open shared object file", error)
    if lacking:
        return f"a library it needs, {lacking[1]}, is not installed; {install}"
    if "lists no platform" in error:
        return search.no_platform_hint()
    return install
