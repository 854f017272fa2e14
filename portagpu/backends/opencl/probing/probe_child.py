"""The process that probes one device, run as a module with IDENTITY ORDINAL JOURNAL RESULT as arguments.

It may die of a driver's crash; the journal then tells its successor what to leave out.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from portagpu.backends.journal import Journal
from portagpu.backends.opencl.identity import all_cl_devices, identity_of
from portagpu.backends.opencl.probing.trials import run_trials
from portagpu.backends.opencl.probing.workbench import ContextLostError, Workbench
from portagpu.files import write_atomically

FOUND_NO_DEVICE = 3
CONTEXT_LOST = 4


def main(arguments: list[str]) -> int:
    """Probe and write the result file; the exit status is 0, `FOUND_NO_DEVICE` or `CONTEXT_LOST`."""
    digest, ordinal, journal, result = arguments
    matching = [device for device in all_cl_devices() if identity_of(device).digest == digest]
    if len(matching) <= int(ordinal):
        return FOUND_NO_DEVICE
    device = matching[int(ordinal)]
    try:
        bench = Workbench(device, identity_of(device).hints)
        results = run_trials(bench, Journal(Path(journal)), isolated=True)
    except ContextLostError:
        return CONTEXT_LOST
    write_atomically(Path(result), json.dumps(results.to_json()).encode())
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # some drivers crash in their exit handlers after all is done
