"""Peer libraries that are importable and fit the device."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from portagpu.bench.method.turns import Call
from portagpu.bench.peers import cupy_products, torch_products
from portagpu.bench.records.cell import Memory, Role
from portagpu.blas.gemm.core.problem import Problem
from portagpu.device import DeviceRecord, DeviceType

Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A library: its name and a way to make a product that can be timed.

    ``serves`` tells which arithmetic the library uses for a problem: its own where it has it, else the nearest one that
    is at least as exact. ``prepare(problem, a, b)`` takes such a problem and operands as NumPy arrays, (m, k) and
    (k, n), or batches of them; it raises RuntimeError for what the library cannot do.
    """

    name: str
    memory: Memory
    prepare: Callable[[Problem, Matrix, Matrix], Call]
    serves: Callable[[Problem], Problem]
    role: Role = Role.VENDOR


def peers_for(device: DeviceRecord) -> tuple[Peer, ...]:
    """Peers on a device that work in this process: the GPU's vendor library through torch or CuPy, NumPy for CPUs."""
    if device.device_type is not DeviceType.CPU:
        for library in (torch_products, cupy_products):
            peer = _gpu_peer(library, device)
            if peer is not None:
                return (peer,)
    name = f"NumPy {np.__version__} ({numpy_blas()})"
    return (Peer(name=name, memory=Memory.HOST, prepare=_numpy, serves=blas_problem),)


def numpy_blas() -> str:
    """Name and version of the BLAS that NumPy was built with."""
    try:
        details: Any = np.show_config(mode="dicts")
        blas = details["Build Dependencies"]["blas"]
        return f"{blas['name']} {blas['version']}"
    except (KeyError, TypeError):
        return "unknown BLAS"


def blas_problem(problem: Problem) -> Problem:
    """What a BLAS computes for a problem: NumPy's own loops for 16 bits and integers would be no rival."""
    has = problem.dtype in ("float32", "float64", "complex64", "complex128")
    return replace(problem, dtype=problem.dtype if has else "float32", out="", precision="")


def _numpy(problem: Problem, a: Matrix, b: Matrix) -> Call:
    left, right = a.astype(problem.dtype, copy=False), b.astype(problem.dtype, copy=False)
    held: dict[str, Matrix] = {}

    def enqueue() -> None:
        held["c"] = np.matmul(left, right)

    return Call(enqueue=enqueue, fetch=lambda: held["c"])


def _gpu_peer(library: Any, device: DeviceRecord) -> Peer | None:
    """The peer, if it can use this very device (compared by name)."""
    if importlib.util.find_spec(library.MODULE) is None:
        return None
    try:
        name, version = library.device_and_version()
    except Exception:  # a library without a usable GPU raises anything
        return None
    if name not in device.name and device.name not in name:  # one of them may add the maker's name
        return None
    return Peer(
        name=f"{library.MODULE} {version}", memory=Memory.DEVICE, prepare=library.prepare, serves=library.serves
    )
