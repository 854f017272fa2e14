"""Finds OpenCL drivers and registers those that the system forgot, without root.

The loader reads ``.icd`` files (each names a library) from one folder. Before PyOpenCL's first platform call,
``OCL_ICD_VENDORS`` is pointed at a private folder with copies of the system's files and one for each library found
elsewhere. A value that the user has set is respected.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
import threading
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from portagpu.device.quirks import DRIVER_FILES
from portagpu.files import write_atomically
from portagpu.settings import Settings

SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
_lock = threading.Lock()
_registered: tuple[DriverRecord, ...] | None = None


class DriverState(Enum):
    """What became of a driver that was found."""

    SYSTEM = "registered with the system"
    REGISTERED = "found and registered by PortaGPU"
    BROKEN = "cannot be loaded"
    USER = "the user's OCL_ICD_VENDORS decides"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverRecord:
    """An OpenCL library, where it was found, and its state."""

    library: str
    origin: str
    state: DriverState
    problem: str | None = None
    remedy: str | None = None


def register_drivers(settings: Settings) -> tuple[DriverRecord, ...]:
    """Register drivers once per process. Never raises for a broken driver."""
    global _registered
    with _lock:
        if _registered is None:
            _registered = _register(settings)
        return _registered


def _register(settings: Settings) -> tuple[DriverRecord, ...]:
    user = os.environ.get("OCL_ICD_VENDORS")
    if user is not None:
        return tuple(_read_folder(Path(user), DriverState.USER)) if Path(user).is_dir() else ()
    records = list(_read_folder(SYSTEM_VENDORS, DriverState.SYSTEM))
    present = {_real(r.library) for r in records if r.state is not DriverState.BROKEN}
    for library, origin in _candidates(settings):
        if _real(library) in present:
            continue
        problem = load_problem(library)
        if problem is None:
            present.add(_real(library))
            records.append(DriverRecord(library=library, origin=origin, state=DriverState.REGISTERED))
        else:
            records.append(
                DriverRecord(
                    library=library,
                    origin=origin,
                    state=DriverState.BROKEN,
                    problem=problem,
                    remedy="reinstall the driver's package; its dependencies must be loadable",
                )
            )
    if any(r.state is DriverState.REGISTERED for r in records):
        os.environ["OCL_ICD_VENDORS"] = str(_vendors_folder(settings, records))
    return tuple(records)


def _read_folder(folder: Path, state: DriverState) -> list[DriverRecord]:
    records = []
    for file in sorted(folder.glob("*.icd")) if folder.is_dir() else ():
        try:
            library = file.read_text(encoding="utf-8", errors="replace").strip().splitlines()[0].strip()
        except (OSError, IndexError):
            continue
        problem = load_problem(library)
        records.append(
            DriverRecord(
                library=library,
                origin=str(file),
                state=state if problem is None else DriverState.BROKEN,
                problem=problem,
                remedy=None if problem is None else f"reinstall the driver, or remove {file}",
            )
        )
    return records


def load_problem(library: str) -> str | None:
    """Why the dynamic loader cannot load a library, or None if it can."""
    try:
        ctypes.CDLL(library)
    except OSError as error:
        return str(error)
    return None


def _real(library: str) -> str:
    """Identity of a library: the file it resolves to, else its name."""
    return os.path.realpath(library) if os.path.isabs(library) else os.path.basename(library)


def _candidates(settings: Settings) -> list[tuple[str, str]]:
    found = [(path, "PORTAGPU_DRIVERS") for path in settings.driver_paths]
    for driver in DRIVER_FILES:
        folders = [f.format(prefix=sys.prefix) for f in driver.folders]
        paths = [Path(folder) / driver.library for folder in folders]
        existing = next((p for p in paths if p.exists()), None)
        if existing is not None:
            found.append((str(existing), driver.reason))
        elif load_problem(driver.library) is None:
            found.append((driver.library, driver.reason))
    return found


def _vendors_folder(settings: Settings, records: list[DriverRecord]) -> Path:
    """A folder of .icd files; its name depends on its content, so that processes do not disturb each other."""
    libraries = [r.library for r in records if r.state in (DriverState.SYSTEM, DriverState.REGISTERED)]
    digest = hashlib.sha256("\n".join(libraries).encode()).hexdigest()[:16]
    folder = settings.cache_dir / "vendors" / digest
    folder.mkdir(parents=True, exist_ok=True)
    for number, library in enumerate(libraries):
        file = folder / f"{number:02d}.icd"
        if not file.exists():
            write_atomically(file, (library + "\n").encode())
    return folder
