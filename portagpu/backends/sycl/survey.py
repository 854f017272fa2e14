"""Finds out what SYCL devices there are, in a child process: a run time that crashes costs its devices and no more.

What was found is kept for as long as the run time, the drivers, and the variables that hide devices stay as they are.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portagpu.backends.journal import Journal
from portagpu.backends.sycl.drivers.installed import SyclRuntime, adapt_environment
from portagpu.files import read_json
from portagpu.private_files import read_private_json, write_private
from portagpu.settings import Settings

_SCHEMA = 2
_PACKAGE_ROOT = Path(__file__).resolve().parents[3]
_VENDORS = Path("/etc/OpenCL/vendors")
_HARDWARE = Path("/dev/dri")
_VARIABLES = ("ONEAPI_DEVICE_SELECTOR", "OCL_ICD_FILENAMES", "OCL_ICD_VENDORS", "ZE_AFFINITY_MASK", "CXX")
_ATTEMPTS = 8
_LIMIT_S = 240.0
_BROKEN_MEMORY_S = 600.0  # what failed is tried again after ten minutes
_logger = logging.getLogger(__name__)
_unwritten: dict[Path, Survey] = {}  # what only this process knows, since the cache's folder cannot be written


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedDevice:
    """``facts``: what the device tells, by the names of ``devices.hpp``; ``answers``: what trials found."""

    facts: Mapping[str, str]
    ordinal: int
    problem: str | None
    answers: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """All devices, or why none could be listed."""

    devices: tuple[SurveyedDevice, ...] = ()
    problem: str | None = None
    remedy: str | None = None


def surveyed(runtime: SyclRuntime, settings: Settings, *, fresh: bool) -> Survey:
    """What devices there are: from the cache, else found out now. Never raises for a broken run time."""
    adapt_environment(runtime)
    key = "\0".join(_state(runtime, _environment(settings)))
    entry = settings.cache_dir / "sycl" / f"devices-{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"
    if not fresh:
        known = _unwritten.get(entry) or _remembered(entry)
        if known is not None:
            return known
    found = _found_out(settings)
    result = _survey_of(found) or Survey(problem="the survey of SYCL's devices cannot be read")
    _unwritten.pop(entry, None)
    try:
        write_private(entry, json.dumps({"schema": _SCHEMA, "time": time.time(), **found}, indent=1).encode())
    except OSError as error:
        _logger.debug("survey not remembered: %s", error)
        _unwritten[entry] = result
    return result


def _environment(settings: Settings) -> dict[str, str]:
    """This process's variables, without the folder of drivers that it has made for PyOpenCL's loader."""
    found = dict(os.environ)
    if Path(found.get("OCL_ICD_VENDORS", "/")).is_relative_to(settings.cache_dir):
        del found["OCL_ICD_VENDORS"]
    return found


def _state(runtime: SyclRuntime, environment: Mapping[str, str]) -> Iterator[str]:
    """All that the answer depends on, as far as files and variables tell."""
    yield str(_SCHEMA)
    folder = Path(environment.get("OCL_ICD_VENDORS") or _VENDORS)
    for path in sorted(folder.glob("*.icd")) if folder.is_dir() else ():
        yield f"{path.name} {path.read_text(encoding='utf-8', errors='replace').strip()}"
    for path in (*runtime.parts, *sorted(Path(__file__).parent.rglob("*.[ch]pp"))):
        status = path.stat()
        yield f"{path} {status.st_size} {status.st_mtime_ns}"
    if _HARDWARE.is_dir():
        yield " ".join(sorted(path.name for path in _HARDWARE.iterdir()))
    for name in _VARIABLES:
        yield f"{name}={environment.get(name)}"


def _remembered(entry: Path) -> Survey | None:
    found = read_private_json(entry)
    if found is None or found.get("schema") != _SCHEMA:
        return None
    survey = _survey_of(found)
    if survey is None:
        return None
    is_broken = survey.problem is not None or any(device.problem for device in survey.devices)
    try:
        age = time.time() - float(found["time"])
    except (KeyError, TypeError, ValueError):
        return None
    return None if is_broken and age > _BROKEN_MEMORY_S and survey.problem is not None else survey


def _survey_of(found: Mapping[str, Any]) -> Survey | None:
    try:
        devices = tuple(
            SurveyedDevice(
                facts={str(name): str(value) for name, value in one["facts"].items()},
                ordinal=int(one["ordinal"]),
                problem=None if one["problem"] is None else str(one["problem"]),
                answers=dict(one["answers"]),
            )
            for one in found.get("devices", ())
        )
        return Survey(devices=devices, problem=found.get("problem"), remedy=found.get("remedy"))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _found_out(settings: Settings) -> dict[str, Any]:
    """Survey in children, a new one after each crash."""
    if not sys.executable:
        return {"problem": "Python does not know its own program, which would look for SYCL's devices"}
    with tempfile.TemporaryDirectory(prefix="portagpu-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        journals, result, log = folder / "journals", folder / "result.json", folder / "log"
        journals.mkdir()
        known: set[str] = set()
        for _ in range(_ATTEMPTS):
            status = _run(settings, (str(journals), str(result)), folder, log)
            found = read_json(result)
            if status == 0 and found is not None:
                return found
            crashed = {f"{path.name} {trial}" for path in journals.iterdir() for trial in Journal(path).crashed}
            if not crashed - known:  # it died outside every trial
                return {"problem": f"the SYCL run time ends the process that uses it: {_tail(log, status)}"}
            known |= crashed
    return {"problem": "too many trials ended the process"}


def _run(settings: Settings, arguments: Sequence[str], folder: Path, log: Path) -> int:
    """Exit status of one surveying process (negative: signal)."""
    environment = _environment(settings)
    inherited = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if Path(path).is_absolute()]
    environment["PYTHONPATH"] = os.pathsep.join([str(_PACKAGE_ROOT), *inherited])
    environment["PORTAGPU_CACHE_DIR"] = str(settings.cache_dir)
    environment["TMPDIR"] = str(folder)  # it ends without tidying up
    command = [sys.executable, "-m", "portagpu.backends.sycl.probing.child", *arguments]
    with log.open("wb") as sink:
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, env=environment, cwd=folder,
                timeout=_LIMIT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return -9
        except OSError as error:
            sink.write(str(error).encode())
            return 1
    return done.returncode


def _tail(log: Path, status: int) -> str:
    cause = f"signal {-status}" if status < 0 else f"exit status {status}"
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()] or lines
    return f"{cause}; {telling[-1][:200]}" if telling else cause
