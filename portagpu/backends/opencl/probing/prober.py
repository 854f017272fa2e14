"""Probes devices in child processes and remembers the answers on disk, per driver version."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyopencl as cl

from portagpu.backends.journal import Journal
from portagpu.backends.opencl.identity import DeviceIdentity, identity_of
from portagpu.backends.opencl.probing.probe_child import CONTEXT_LOST, FOUND_NO_DEVICE
from portagpu.backends.opencl.probing.results import PROBE_SCHEMA, ProbeResults
from portagpu.backends.opencl.probing.trials import run_trials
from portagpu.backends.opencl.probing.workbench import DRIVER_ERRORS, ContextLostError, Workbench, first_telling_line
from portagpu.files import read_json
from portagpu.private_files import read_private_json, write_private
from portagpu.settings import Settings

_PACKAGE_ROOT = Path(__file__).resolve().parents[4]
_TRIAL_LIMIT_S = 30.0  # without an entry in the journal, a child counts as hung
_SIMULATED_LIMIT_S = 240.0
_ATTEMPTS = 16
_PYTHON_FAILED = 1  # exit status after an exception that nobody caught, such as a missing module
_BROKEN_MEMORY_S = 600.0  # a device that failed is tried again after ten minutes
_logger = logging.getLogger(__name__)


def probe(device: cl.Device, ordinal: int, settings: Settings, *, fresh: bool = False) -> ProbeResults:
    """What a device can do: from the cache, else found out now. ``ordinal`` counts devices of the same identity.

    Never raises for a broken device: its result has a problem.
    """
    identity = identity_of(device)
    entry = settings.cache_dir / "probes" / f"{identity.digest}-{ordinal}-v{PROBE_SCHEMA}.json"
    if not fresh:
        known = _remembered(entry, identity)
        if known is not None:
            return known
    results = _probe_isolated(identity, ordinal)
    if results is None:
        results = _probe_here(device, identity)
    _remember(entry, identity, results)
    return results


def _probe_isolated(identity: DeviceIdentity, ordinal: int) -> ProbeResults | None:
    """Probe in children, a new one after each crash; None where no child can be started."""
    if not sys.executable:
        return None
    with tempfile.TemporaryDirectory(prefix="portagpu-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        result, log = folder / "result.json", folder / "log"
        for _ in range(_ATTEMPTS):
            status = _run_child(identity, ordinal, folder, log)
            if status is None or status == FOUND_NO_DEVICE:
                _logger.debug("no probing process for %s (%s)", identity.name, status)
                return None
            found = read_json(result)
            if status == 0 and found is not None:
                return ProbeResults.from_json(found)
            crashed = Journal(folder / "journal").crashed
            _logger.debug("probing %s: status %s, crashed trials %s", identity.name, status, sorted(crashed))
            if status == _PYTHON_FAILED and not crashed:
                _logger.warning("the probing process failed: %s", _tail(log, status))
                return None
            if status != CONTEXT_LOST and not crashed:
                # It died outside every trial: while the driver started or a context was made.
                return ProbeResults(problem=f"the driver ends the process that uses it: {_tail(log, status)}")
            if "basic" in crashed:
                return ProbeResults(problem=f"the simplest kernel ends the process: {_tail(log, status)}")
    return ProbeResults(problem="too many trials ended the process")


def _run_child(identity: DeviceIdentity, ordinal: int, folder: Path, log: Path) -> int | None:
    """Exit status of one probing process (negative: signal), None where none can be started."""
    environment = dict(os.environ)
    # Relative entries meant the folder in which this process started, which may no longer be the working folder.
    inherited = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(path)]
    environment["PYTHONPATH"] = os.pathsep.join([str(_PACKAGE_ROOT), *inherited])
    environment["PYOPENCL_NO_CACHE"] = "1"
    journal = folder / "journal"
    command = [sys.executable, "-m", "portagpu.backends.opencl.probing.probe_child", identity.digest, str(ordinal)]
    try:
        with log.open("wb") as sink:
            child = subprocess.Popen(
                [*command, str(journal), str(folder / "result.json")],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env=environment,
                cwd=folder,  # `-m` searches the working folder first: no file of the user's may stand in for a module
            )
    except OSError as error:
        _logger.debug("no child process: %s", error)
        return None
    return _wait(child, journal, _SIMULATED_LIMIT_S if identity.hints.simulated else _TRIAL_LIMIT_S)


def _wait(child: subprocess.Popen[bytes], journal: Path, limit: float) -> int:
    """Wait for the child's end; kill it once its journal has not grown for ``limit`` seconds."""
    size, since = -1, time.monotonic()
    while True:
        try:
            return child.wait(0.5)
        except subprocess.TimeoutExpired:
            now = journal.stat().st_size if journal.exists() else 0
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > limit:
                child.kill()
                return child.wait()


def _tail(log: Path, status: int) -> str:
    cause = f"signal {-status}" if status < 0 else f"exit status {status}"
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()] or lines
    return f"{cause}; {telling[-1][:200]}" if telling else cause


def _probe_here(device: cl.Device, identity: DeviceIdentity) -> ProbeResults:
    """Probe in this process, where no child can be started: only what is sure not to harm it."""
    with tempfile.TemporaryDirectory(prefix="portagpu-", ignore_cleanup_errors=True) as folder:
        try:
            return run_trials(Workbench(device, identity.hints), Journal(Path(folder) / "journal"), isolated=False)
        except ContextLostError as error:
            return ProbeResults(problem=f"a kernel killed the device's context: {error}")
        except DRIVER_ERRORS as error:
            return ProbeResults(problem=f"the driver fails: {first_telling_line(error)}")


def _remembered(entry: Path, identity: DeviceIdentity) -> ProbeResults | None:
    """What an earlier process found; a damaged or foreign entry counts as absent."""
    found = read_private_json(entry)
    if found is None or found.get("key") != identity.key or found.get("schema") != PROBE_SCHEMA:
        return None
    try:
        results = ProbeResults.from_json(found["results"])
        age = time.time() - float(found["time"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return None if results.problem is not None and age > _BROKEN_MEMORY_S else results


def _remember(entry: Path, identity: DeviceIdentity, results: ProbeResults) -> None:
    record = {"schema": PROBE_SCHEMA, "key": identity.key, "time": time.time(), "results": results.to_json()}
    try:
        write_private(entry, json.dumps(record, indent=1).encode())
    except OSError as error:
        _logger.debug("probe not remembered: %s", error)
