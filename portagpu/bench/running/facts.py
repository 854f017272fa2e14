"""Facts about the machine and its devices that one must know to judge numbers; nothing that tells whose they are."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from portagpu.bench.peers.products import numpy_blas
from portagpu.bench.records.run import Device, Machine
from portagpu.device import DeviceRecord, devices, sources
from portagpu.version import __version__

_PACKAGES = ("pyopencl", "scipy", "torch", "cupy", "triton", "numba-cuda", "ml_dtypes")
_LONGEST = 2000  # characters of a command line
_ADDRESS, _PATTERN = "--dask", "--filter"  # options whose values are a host's, and no path
_CAPABILITIES = (
    *("compute_units", "fp64", "fp16", "subgroups", "local_memory", "global_memory", "max_work_group_size"),
    *("family", "measured_gflops"),
)


def machine_facts(label: str = "") -> Machine:
    """This machine; ``label``: what its owner calls it."""
    return Machine(
        label=label,
        system=platform.platform(),
        processor=processor(),
        cores=_cores(),
        memory_bytes=_memory(),
        software={
            "portagpu": __version__,
            "python": platform.python_version(),
            "numpy": f"{np.__version__} ({numpy_blas()})",
            **{name: found for name in _PACKAGES if (found := _installed(name))},
        },
    )


def ladder_facts() -> dict[str, str]:
    """This machine's facts as texts, for files of `portagpu bench ladder`."""
    machine = machine_facts()
    told = {"date": now(), "system": machine.system, "processor": machine.processor, "command": command_line()}
    return {**told, **machine.software}


def now() -> str:
    """The time as result files have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def device_facts(device: DeviceRecord) -> Device:
    """A device of the first machine, as result files tell of it; one of several of a name and driver has its index."""
    alike = [one for one in devices(source=sources.named(device.backend)) if one.key == device.key]
    known: dict[str, Any] = {} if device.capabilities is None else asdict(device.capabilities)
    told = {name: known[name] for name in _CAPABILITIES if name in known}
    return Device(
        machine=0,
        name=f"{device.name} #{device.label}" if len(alike) > 1 else device.name,
        platform=device.platform,
        driver=device.driver_version,
        kind=device.device_type.name.lower(),
        vendor=device.vendor,
        version=device.version,
        compiler=f"{device.platform} {device.driver_version}",
        capabilities={name: value for name, value in told.items() if isinstance(value, bool | int | float | str)},
    )


def command_line(arguments: Sequence[str] | None = None) -> str:
    """What was typed; of paths their last part only, for folders tell of people, and no addresses."""
    given = list(sys.argv if arguments is None else arguments)
    parts = [Path(given[0]).name]
    for before, part in pairwise(given):
        option, equals, _ = part.partition("=")
        if before == _ADDRESS:
            parts.append("ADDRESS")
        elif option == _ADDRESS:
            parts.append(f"{option}{equals and '=ADDRESS'}")
        else:
            parts.append(part if _PATTERN in (before, option) else without_folders(part))
    return " ".join(parts)[:_LONGEST]


def without_folders(part: str) -> str:
    """A word of a command line; of a path its last part only, in ``--option=PATH`` and ``-oPATH``, too."""
    option, value = "", part
    if part.startswith("--"):
        option, equals, value = part.partition("=")
        option += equals
    elif part.startswith("-"):
        option, value = part[:2], part[2:]
    return f"{option}{Path(value).name}" if os.sep in value else part


def processor() -> str:
    """The processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        return platform.processor()
    return platform.processor()


def _cores() -> int | None:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


__all__ = ["command_line", "device_facts", "ladder_facts", "machine_facts", "now", "processor", "without_folders"]
