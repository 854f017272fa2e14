"""Who else streams arrays through a device's memory: CuPy and torch on GPUs, NumPy in threads on CPUs."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from portagpu.bench.method.turns import Call
from portagpu.bench.peers import torch_products
from portagpu.bench.peers.cupy_kernels import cupy_for
from portagpu.bench.peers.foreign_errors import told
from portagpu.bench.peers.own_runtime import with_cupy, with_torch
from portagpu.bench.records.cell import Role
from portagpu.bench.roofs.streams import FILL, SCALAR
from portagpu.bench.routines.memory_rate import cores
from portagpu.bench.running.case import Contender
from portagpu.device import DeviceRecord, DeviceType

Array = np.ndarray[Any, Any]


def contenders(name: str, a: Array, b: Array, device: DeviceRecord) -> list[Contender]:
    """Peers for a stream ("copy", "read", "write", "triad") of these operands."""
    if device.device_type is DeviceType.CPU:
        if name == "triad":  # NumPy makes two passes of it
            return []
        label = f"NumPy {np.__version__} in {cores()} threads"
        return [Contender(implementation=label, role=Role.PEER, prepare=partial(_numpy, name, a))]
    found = []
    cupy = cupy_for(device)
    if cupy is not None:
        role = Role.VENDOR if name == "copy" else Role.PEER  # which is the driver's own copy
        label = f"CuPy {cupy.__version__}"
        found.append(Contender(implementation=label, role=role, prepare=told(partial(_cupy, cupy, name, a, b))))
    place = torch_place(device)
    if place is not None:
        label = f"torch {importlib.import_module('torch').__version__}"
        found.append(Contender(implementation=label, role=Role.PEER, prepare=told(partial(_torch, place, name, a, b))))
    return found


def torch_place(device: DeviceRecord) -> torch_products.Place | None:
    """The GPU of torch that is this device (compared by name), if torch is installed and can use it."""
    if importlib.util.find_spec(torch_products.MODULE) is None:
        return None
    try:
        places = torch_products.gpu_places()
    except Exception:  # without a usable GPU it raises anything
        return None
    return next((one for one in places if one.device in device.name or device.name in one.device), None)


def in_threads(jobs: list[Callable[[], Any]]) -> Callable[[], list[Any]]:
    """A call that has all jobs done side by side, and returns what they did."""
    pool = ThreadPoolExecutor(len(jobs))
    return lambda: [done.result() for done in [pool.submit(job) for job in jobs]]


def _numpy(name: str, a: Array) -> Call:
    target = np.zeros_like(a)
    threads = cores()
    bounds = [a.size * i // threads for i in range(threads + 1)]
    parts = [slice(*pair) for pair in itertools.pairwise(bounds)]
    jobs: dict[str, Callable[[slice], Callable[[], Any]]] = {
        "copy": lambda part: partial(np.copyto, target[part], a[part]),
        "read": lambda part: partial(np.add.reduce, a[part]),
        "write": lambda part: partial(target[part].fill, FILL),
    }
    run = in_threads([jobs[name](part) for part in parts])
    held: dict[str, Any] = {}

    def enqueue() -> None:
        held["found"] = run()

    return Call(enqueue=enqueue, fetch=lambda: np.asarray(held["found"]) if name == "read" else target)


def _cupy(cupy: Any, name: str, a: Array, b: Array) -> Call:
    x, y = cupy.asarray(a), cupy.asarray(b)
    target = cupy.empty_like(x)
    triad = cupy.ElementwiseKernel("float32 x, float32 y, float32 s", "float32 z", "z = x + s * y", "triad")
    runs: dict[str, Callable[[], Any]] = {
        "copy": lambda: cupy.copyto(target, x),
        "read": lambda: cupy.sum(x, keepdims=True),
        "write": lambda: target.fill(FILL),
        "triad": lambda: triad(x, y, SCALAR, target),
    }
    held: dict[str, Any] = {}

    def enqueue() -> None:
        held["found"] = runs[name]()

    call = Call(
        enqueue=enqueue,
        wait=cupy.cuda.get_current_stream().synchronize,
        fetch=lambda: cupy.asnumpy(held["found"] if name == "read" else target),
    )
    return with_cupy(cupy, call)


def _torch(place: torch_products.Place, name: str, a: Array, b: Array) -> Call:
    torch = importlib.import_module(torch_products.MODULE)
    x, y = torch.from_numpy(a).to(place.kind), torch.from_numpy(b).to(place.kind)
    target = torch.empty_like(x)
    runs: dict[str, Callable[[], Any]] = {
        "copy": lambda: target.copy_(x),
        "read": lambda: torch.sum(x, 0, keepdim=True),
        "write": lambda: target.fill_(float(FILL)),
        "triad": lambda: torch.add(x, y, alpha=float(SCALAR), out=target),
    }
    held: dict[str, Any] = {}

    def enqueue() -> None:
        held["found"] = runs[name]()

    call = Call(
        enqueue=enqueue,
        wait=place.wait,
        fetch=lambda: (held["found"] if name == "read" else target).cpu().numpy(),
    )
    return with_torch(torch, place.kind, call)


__all__ = ["contenders", "in_threads", "torch_place"]
