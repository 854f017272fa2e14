"""Probes one device in a process of its own: a driver may crash or hang on a kernel that it cannot take.

Run as ``python -m portagpu.device.probe_child PLATFORM DEVICE [LABEL ...]``; labels of kernels to leave out. Prints
``trial LABEL`` before each kernel and ``result JSON`` at the end.
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import asdict
from typing import Any

import pyopencl as cl

from portagpu.device.capabilities import Capabilities
from portagpu.device.prober import probe, works


def to_json(capabilities: Capabilities) -> dict[str, Any]:
    """Capabilities as JSON values."""
    values = asdict(capabilities)
    values["device_type"] = capabilities.device_type.value
    values["extensions"] = sorted(capabilities.extensions)
    return values


def main(arguments: list[str]) -> None:
    """Entry point of the child process."""
    warnings.simplefilter("ignore")
    platform, device, *skip = arguments

    def announce(label: str) -> None:
        print("trial", label, flush=True)

    cl_device = cl.get_platforms()[int(platform)].get_devices()[int(device)]
    problem = works(cl_device, announce)
    capabilities = None if problem else to_json(probe(cl_device, frozenset(skip), announce))
    print("result", json.dumps({"problem": problem, "capabilities": capabilities}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
