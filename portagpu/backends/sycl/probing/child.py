"""The process that surveys SYCL's devices, run as a module with JOURNALS RESULT as arguments.

It may die of a driver's crash; the journal of each device then tells its successor what to leave out.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from portagpu.backends.journal import Journal
from portagpu.backends.sycl.drivers.quirks import known_problem
from portagpu.backends.sycl.identity import Listed, listed
from portagpu.backends.sycl.library import Library, SyclError, library
from portagpu.backends.sycl.probing.trials import run_trials
from portagpu.backends.sycl.probing.workbench import Workbench
from portagpu.errors import PortaGPUError
from portagpu.files import write_atomically


def main(arguments: list[str]) -> int:
    """Survey, and write what was found; the exit status."""
    journals, result = map(Path, arguments)
    try:
        loaded = library()
        devices = [_probed(loaded, device, journals / str(n)) for n, device in enumerate(listed(loaded))]
        found: dict[str, object] = {"devices": devices}
    except (PortaGPUError, SyclError) as error:
        hint = getattr(error, "hint", None)
        found = {"problem": str(getattr(error, "message", error)), "remedy": hint}
    write_atomically(result, json.dumps(found).encode())
    return 0


def _probed(loaded: Library, device: Listed, journal: Path) -> dict[str, object]:
    facts = dict(device.facts)
    problem = known_problem(facts)
    answers: object = {}
    entries = Journal(journal)
    if problem is None and "basic" in entries.crashed:
        problem = "the simplest kernel ends the process"
    if problem is None:
        try:
            answers = run_trials(Workbench(loaded, device.device), entries, facts)
        except SyclError as error:
            problem = f"the driver fails: {error}"
    return {"facts": facts, "ordinal": device.name.ordinal, "problem": problem, "answers": answers}


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # what drivers do at a process's end is of no use here
