"""Whether a driver library can be loaded, found out in a child process and remembered per file."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from portagpu.files import read_json
from portagpu.private_files import read_private_json, write_private

_SCHEMA = 1
_TIME_LIMIT_S = 20.0
_CRASH_MEMORY_S = 24 * 3600.0  # a crash may have had a passing cause: try again after a day
_SCRIPT = Path(__file__).with_name("load_check.py")
_LINKER_CACHE = Path("/etc/ld.so.cache")
_logger = logging.getLogger(__name__)


class LoadOutcome(Enum):
    """What loading a library in a child process led to."""

    LOADED = "loaded"
    FAILED = "failed"  # an error was returned; harmless, the OpenCL loader skips such a library
    CRASHED = "crashed"
    HUNG = "hung"
    UNKNOWN = "unknown"  # no child process could be started here


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformInfo:
    """An OpenCL platform as its driver describes it."""

    name: str
    version: str
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """Outcome of loading one library: the file that was mapped, its platforms, and the error text."""

    outcome: LoadOutcome
    path: str | None = None
    platforms: tuple[PlatformInfo, ...] = ()
    error: str | None = None

    @property
    def harmful(self) -> bool:
        """Whether loading it would take the user's process down."""
        return self.outcome in (LoadOutcome.CRASHED, LoadOutcome.HUNG)


def check_libraries(libraries: Sequence[str], cache_dir: Path, *, fresh: bool = False) -> Mapping[str, LoadResult]:
    """Load each library in a child of its own, all at once; results are remembered by path, size and time of change.

    One that did not load is tried again as soon as what it lacked may have been installed.
    ``fresh`` ignores (and renews) what is remembered. Never raises for a bad library.
    """
    results: dict[str, LoadResult] = {}
    pending: list[str] = []
    for library in dict.fromkeys(libraries):
        known = None if fresh else _remembered(_entry(cache_dir, library), library)
        if known is None:
            pending.append(library)
        else:
            results[library] = known
    if pending:
        with tempfile.TemporaryDirectory(prefix="portagpu-") as folder:
            children = [(library, *_start(library, Path(folder) / f"{i}.json")) for i, library in enumerate(pending)]
            deadline = time.monotonic() + _TIME_LIMIT_S
            for library, child, answer in children:
                results[library] = _collect(child, answer, deadline)
        for library in pending:
            _remember(_entry(cache_dir, library), library, results[library])
    return results


def _start(library: str, answer: Path) -> tuple[subprocess.Popen[bytes] | None, Path]:
    if not sys.executable:
        return None, answer
    try:
        child = subprocess.Popen(
            [sys.executable, "-I", str(_SCRIPT), library, str(answer)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        _logger.debug("no child process for %s: %s", library, error)
        return None, answer
    return child, answer


def _collect(child: subprocess.Popen[bytes] | None, answer: Path, deadline: float) -> LoadResult:
    if child is None:
        return LoadResult(outcome=LoadOutcome.UNKNOWN)
    try:
        code = child.wait(max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return LoadResult(outcome=LoadOutcome.HUNG, error=f"loading did not end within {_TIME_LIMIT_S:.0f} s")
    found = read_json(answer)
    if code != 0 or found is None:
        cause = f"signal {-code}" if code < 0 else f"exit status {code}"
        return LoadResult(outcome=LoadOutcome.CRASHED, error=f"loading it ends the process ({cause})")
    return _decode(found, LoadOutcome.FAILED if found.get("error") else LoadOutcome.LOADED)


def _decode(found: Mapping[str, Any], outcome: LoadOutcome) -> LoadResult:
    return LoadResult(
        outcome=outcome,
        path=found.get("path"),
        platforms=tuple(
            PlatformInfo(name=str(p["name"]), version=str(p["version"]), devices=tuple(map(str, p["devices"])))
            for p in found["platforms"]
        ),
        error=found.get("error"),
    )


def _entry(cache_dir: Path, library: str) -> Path:
    try:
        status = Path(library).stat()
        identity = f"{Path(library).resolve()}|{status.st_size}|{status.st_mtime_ns}"
    except OSError:
        identity = library
    digest = hashlib.sha256(f"{_SCHEMA}|{identity}".encode()).hexdigest()[:24]
    return cache_dir / "drivers" / f"{digest}.json"


def _surroundings(library: str) -> str:
    """What changes when a library that another one needs is installed: its folder, the linker's list, the variable."""
    return "|".join((_changed(Path(library).parent), _changed(_LINKER_CACHE), os.environ.get("LD_LIBRARY_PATH", "")))


def _changed(path: Path) -> str:
    try:
        return str(path.stat().st_mtime_ns)
    except OSError:
        return "missing"


def _remembered(entry: Path, library: str) -> LoadResult | None:
    found = read_private_json(entry)
    if found is None or found.get("schema") != _SCHEMA:
        return None
    try:
        result = _decode(found, LoadOutcome(found["outcome"]))
        age = time.time() - float(found["time"])
    except (KeyError, TypeError, ValueError):
        return None
    if result.outcome is LoadOutcome.FAILED and found.get("surroundings") != _surroundings(library):
        return None
    return None if result.harmful and age > _CRASH_MEMORY_S else result


def _remember(entry: Path, library: str, result: LoadResult) -> None:
    if result.outcome is LoadOutcome.UNKNOWN:
        return
    record = {
        "schema": _SCHEMA,
        "library": library,
        "time": time.time(),
        "outcome": result.outcome.value,
        "path": result.path,
        "error": result.error,
        "surroundings": _surroundings(library),
        "platforms": [{"name": p.name, "version": p.version, "devices": list(p.devices)} for p in result.platforms],
    }
    try:
        write_private(entry, json.dumps(record, indent=1).encode())
    except OSError as error:
        _logger.debug("driver check not remembered: %s", error)
