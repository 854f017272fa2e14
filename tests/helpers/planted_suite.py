"""A suite whose workloads cost nothing, tell that they began, and wait while they are told to, in any process."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path

import numpy as np

from portagpu.bench.method.plan import Method
from portagpu.bench.method.turns import Call
from portagpu.bench.records.cell import Memory, Role
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.running.case import Case, Contender, Entry

MACHINE = "PLANTED_MACHINE"  # environment variable: what a process takes its machine for
METHOD = Method(
    least_rounds=1,
    least_samples=1,
    limit_seconds=0.01,
    round_seconds=0.001,
    sample_seconds=0.0001,
    warm_up_seconds=0.0,
    pause_seconds=0.0,
    energy_seconds=0.0,
)


def entries(device, options, folder, names):
    for name in names:
        yield Entry(path=f"planted/{name}/8", make=partial(_cases, folder, name))


def hold(folder, machine, name):
    """Make a workload wait on one machine."""
    Path(folder, f"hold-{machine}-{name}").touch()


def began(folder, machine, name):
    """The processes that began with a workload on a machine, once there is one."""
    note = Path(folder, f"began-{machine}-{name}")
    for _ in range(600):
        if note.exists() and note.read_text().endswith("\n"):
            return list(map(int, note.read_text().split()))
        time.sleep(0.05)
    raise TimeoutError(f"{name} did not begin on {machine}")


def _cases(folder, name, context):
    machine = os.environ.get(MACHINE, "here")
    with Path(folder, f"began-{machine}-{name}").open("a") as note:
        note.write(f"{os.getpid()}\n")
    if name == "faulty":
        raise TimeoutError("planted")
    while Path(folder, f"hold-{machine}-{name}").exists():
        time.sleep(0.01)
    workload = Workload(suite="planted", name=name, arithmetic="", size="8", unit=Unit.MICROSECONDS)
    ours = Contender(implementation="PortaGPU", role=Role.OURS, prepare=_call)
    yield Case(workload=workload, memory=Memory.HOST, contenders=(ours,), check=lambda result: 0.0)


def _call():
    values = np.zeros(8)
    return Call(enqueue=lambda: np.add(values, 1.0, out=values), wait=lambda: None, fetch=lambda: values)
