"""Registers OpenCL drivers without root, before PyOpenCL asks its loader for platforms the first time.

The loader reads one folder of ``.icd`` files, named by ``OCL_ICD_VENDORS``. Where libraries were found that no ``.icd``
file names, a private folder is made that lists the system's drivers and those, and the variable is pointed at it. The
folder's name is a digest of its content, so processes that run at the same time never disturb each other.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from portagpu.backends.driver_caches import secure_driver_caches
from portagpu.backends.opencl.drivers import search, usable_folders
from portagpu.backends.opencl.drivers.check import check_libraries
from portagpu.backends.opencl.drivers.records import DriverRecord, DriverSource, DriverState, judged, missing, too_late
from portagpu.backends.temporary_folders import remove_at_exit
from portagpu.private_files import check_path, make_folder, private_folder, read_private, write_private
from portagpu.settings import Settings

SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
_VARIABLES = ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH")  # read by the loader, in this order
_MOST_ICD = 65536  # bytes of a file that names a library
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """Every driver found, and how they were made known to the loader.

    ``vendors_folder`` is None if none was needed; ``previous_vendors`` is what OCL_ICD_VENDORS was before; ``late``:
    the loader had read its folder before us; ``simulator``: the process runs in one, which replaces the loader.
    """

    drivers: tuple[DriverRecord, ...]
    vendors_folder: Path | None
    previous_vendors: str | None = None
    late: bool = False
    simulator: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where registration looks; every part can be replaced."""

    system_vendors: Path = SYSTEM_VENDORS
    prefix: Path = Path(sys.prefix)
    packages: tuple[Path, ...] | None = None  # None: this interpreter's
    bundled: Path | None = None
    families: tuple[search.DriverFamily, ...] = search.FAMILIES
    linker_cache: bytes | None = None  # None: this machine's


_lock = threading.RLock()
_registration: Registration | None = None


def register_drivers(settings: Settings) -> tuple[DriverRecord, ...]:
    """Register every driver of this machine, once per process; later calls return the first call's records.

    Must precede PyOpenCL's first platform call. Never raises for a broken driver or an unwritable cache folder.
    """
    return registration(settings).drivers


def registration(settings: Settings) -> Registration:
    """As `register_drivers`, with the folder used and whether it came too late. The OpenCL loader reads its folder
    once per process, hence one registration per process.
    """
    global _registration
    with _lock:
        if _registration is None:
            usable_folders.secure_pyopencl(os.environ)
            secure_driver_caches(settings, os.environ)
            places = Places(bundled=search.bundled_vendor_folder())
            _registration = perform(settings, os.environ, places)
        return _registration


def perform(
    settings: Settings, environ: MutableMapping[str, str], places: Places, *, fresh: bool = False, dry: bool = False
) -> Registration:
    """Search, check and register; changes ``environ`` only.

    ``fresh`` checks every library again, ``dry`` registers nothing.
    """
    if search.simulator_preloaded(environ):
        return Registration(drivers=(), vendors_folder=None, simulator=True)
    candidates = tuple(_deduplicated(_candidates(settings, environ, places), environ, places))
    if not sys.platform.startswith("linux"):
        # Elsewhere drivers are registered with the operating system and the loader has no folder to point at.
        return Registration(drivers=candidates, vendors_folder=None)
    late = _any_mapped(candidate.path or f"/{candidate.library}" for candidate in candidates)
    loadable = [c.path or c.library for c in candidates if c.state is not DriverState.MISSING]
    checked = check_libraries(loadable, settings.cache_dir, fresh=fresh)
    tried = (judged(candidate, checked.get(candidate.path or candidate.library)) for candidate in candidates)
    drivers = tuple(_first_of_each_file(tried))
    if late and not dry:
        drivers = tuple(too_late(driver) for driver in drivers)
    folder, previous = None, environ.get("OCL_ICD_VENDORS")
    changed = any(d.state in (DriverState.ADDED, DriverState.EXCLUDED) for d in drivers)
    if changed and not dry and not late:
        try:
            folder = _vendors_folder(_vendors(settings), [d for d in drivers if _listed(d)])
            environ["OCL_ICD_VENDORS"] = str(folder)
        except OSError as error:
            _logger.warning("drivers not registered: no folder for them can be made (%s)", error)
    return Registration(drivers=drivers, vendors_folder=folder, previous_vendors=previous, late=late)


def _listed(driver: DriverRecord) -> bool:
    """Whether it belongs into the private folder. Bundled ones are read by the loader anyway."""
    kept = driver.state in (DriverState.REGISTERED, DriverState.ADDED, DriverState.FAILED)
    return kept and driver.source is not DriverSource.BUNDLED


def _candidates(settings: Settings, environ: Mapping[str, str], places: Places) -> Iterator[DriverRecord]:
    """Every library that anything names, the loader's own entries first."""
    if places.bundled is not None:
        for record in _from_folder(places.bundled, DriverSource.BUNDLED):
            beside = places.bundled / record.library  # the bundled loader searches its own folder first
            yield replace(record, library=str(beside)) if os.path.isfile(beside) else record
    chosen = next((environ[name] for name in _VARIABLES if environ.get(name)), None)
    ours = chosen is not None and Path(chosen).parent == _vendors(settings)  # inherited from a parent process
    if chosen is not None and not ours:
        yield from _from_user(chosen, DriverSource.USER)
    else:
        yield from _from_folder(places.system_vendors, DriverSource.SYSTEM)
    if chosen is not None and ours:
        yield from _from_folder(Path(chosen), DriverSource.INHERITED)
    for path in settings.driver_paths:
        yield _candidate(path, DriverSource.SETTINGS)
    use = DriverState.ADDED if chosen is None or ours else DriverState.NOT_USED
    environment = places.prefix / "etc" / "OpenCL" / "vendors"
    if environment != places.system_vendors:
        for record in _from_folder(environment, DriverSource.ENVIRONMENT):
            yield replace(record, state=use) if record.state is not DriverState.MISSING else record
    found = search.find_libraries(
        environ,
        prefix=places.prefix,
        packages=places.packages,
        families=places.families,
        cache=places.linker_cache,
    )
    for family, library in found:
        yield replace(_candidate(str(library), DriverSource.SEARCH), family=family.name, state=use)


def _from_folder(folder: Path, source: DriverSource) -> Iterator[DriverRecord]:
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix == ".icd")
    except OSError:
        return
    for path in files:
        yield from _from_icd(path, source)


def _from_icd(path: Path, source: DriverSource) -> Iterator[DriverRecord]:
    try:
        library = path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        yield replace(
            _candidate(str(path), source, str(path)),
            state=DriverState.MISSING,
            problem=f"{path} cannot be read: {error.strerror}",
            remedy=f"make {path} readable or delete it",
        )
        return
    if library:
        yield _candidate(library.splitlines()[0].strip(), source, str(path))


def _from_user(value: str, source: DriverSource) -> Iterator[DriverRecord]:
    """The loader takes a folder, one .icd file or one library."""
    path = Path(value)
    if path.suffix == ".icd":
        yield from _from_icd(path, source)
    elif os.path.isdir(path):
        yield from _from_folder(path, source)
    else:
        yield _candidate(value, source)


def _candidate(library: str, source: DriverSource, icd_file: str | None = None) -> DriverRecord:
    family = search.family_of(library)
    added = source is DriverSource.SETTINGS
    return DriverRecord(
        library=library,
        path=None,
        family=family.name if family else None,
        source=source,
        icd_file=icd_file,
        state=DriverState.ADDED if added else DriverState.REGISTERED,
    )


def _deduplicated(
    candidates: Iterable[DriverRecord], environ: Mapping[str, str], places: Places
) -> Iterator[DriverRecord]:
    """Resolve each library's file; the first that names a file wins, so that no platform appears twice."""
    cache = search.linker_cache_entries() if places.linker_cache is None else places.linker_cache
    seen: set[str] = set()
    for candidate in candidates:
        if candidate.state is DriverState.MISSING:
            yield candidate
            continue
        path = _resolve(candidate.library, environ, cache)
        if path is None and os.sep in candidate.library:
            yield missing(candidate)
            continue
        identity = path or candidate.library
        if identity not in seen:
            seen.add(identity)
            yield replace(candidate, path=path)


def _first_of_each_file(drivers: Iterable[DriverRecord]) -> Iterator[DriverRecord]:
    """Drop what the child processes found to be a file that an earlier entry loads under another name."""
    seen: set[str] = set()
    for driver in drivers:
        if driver.path is None or driver.path not in seen:
            yield driver
        if driver.path is not None:
            seen.add(driver.path)


def _resolve(library: str, environ: Mapping[str, str], cache: bytes) -> str | None:
    found = Path(library) if os.sep in library else search.find_soname(library, environ, cache)
    return os.path.realpath(found) if found is not None and os.path.exists(found) else None


def _any_mapped(endings: Iterable[str]) -> bool:
    """Whether the process has loaded a driver library (its path ends so): then the loader has read its folder."""
    try:
        mapped = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(f"{ending}\n" in mapped for ending in endings)


def _vendors(settings: Settings) -> Path:
    return settings.cache_dir.absolute() / "vendors"


def _vendors_folder(parent: Path, drivers: Sequence[DriverRecord]) -> Path:
    """The private folder for these drivers, made in one step under a name that is a digest of its content."""
    files = {
        f"{index:02}-{re.sub('[^A-Za-z0-9._-]', '_', Path(driver.library).name)}.icd": driver.library
        for index, driver in enumerate(sorted(drivers, key=lambda one: one.library))
    }
    text = "\n".join(f"{name}={library}" for name, library in files.items())
    folder = parent / hashlib.sha256(text.encode()).hexdigest()[:16]
    try:
        filled = _filled(folder, files)
        check_path(filled)  # which the loader opens by itself
        return filled
    except OSError as error:
        _logger.debug("cache folder unusable (%s); a temporary one is used", error)
        temporary = Path(tempfile.mkdtemp(prefix="portagpu-vendors-"))
        remove_at_exit(temporary)
        return _filled(temporary / "vendors", files)


def _filled(folder: Path, files: Mapping[str, str]) -> Path:
    """The folder with these files and no others. Raises `OSError` for one that is not this user's own.

    The loader runs what they name, so each is looked at, and what is not ours is removed.
    """
    if folder.is_dir():
        with private_folder(folder) as handle:
            names = os.listdir(folder if handle is None else handle)
        for name in names:
            if name not in files and name.endswith(".icd"):
                (folder / name).unlink()
        for name, library in files.items():
            try:
                known = read_private(folder / name, _MOST_ICD)
            except OSError:
                known = None
            if known != library.encode():
                write_private(folder / name, library.encode())
        return folder
    make_folder(folder.parent)
    with private_folder(folder.parent):
        staging = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    try:
        for name, library in files.items():
            write_private(staging / name, library.encode())
        staging.rename(folder)
    except OSError as error:
        shutil.rmtree(staging, ignore_errors=True)
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        return _filled(folder, files) if folder.is_dir() else folder
    return folder
