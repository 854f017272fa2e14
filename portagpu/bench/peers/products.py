"""Libraries of products that are importable or findable, and fit the device."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from portagpu.bench.method.turns import Call
from portagpu.bench.peers import clblast_library, clblast_products, cupy_products, mkl_products, torch_products
from portagpu.bench.peers.foreign_errors import told
from portagpu.bench.records.cell import Memory, Role
from portagpu.blas.gemm.core.problem import Problem
from portagpu.device import DeviceRecord, DeviceType
from portagpu.runtime.execution.context import Context

Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A library: its name and a way to make a product that can be timed.

    ``serves`` tells which arithmetic the library uses for a problem: its own where it has it, else the nearest one that
    is at least as exact. ``prepare(problem, a, b)`` takes such a problem and operands as NumPy arrays, (m, k) and
    (k, n), or batches of them; it raises `UnsupportedError` or RuntimeError for what the library cannot do.
    """

    name: str
    memory: Memory
    prepare: Callable[[Problem, Matrix, Matrix], Call]
    serves: Callable[[Problem], Problem]
    role: Role = Role.VENDOR


def peers_for(device: DeviceRecord) -> tuple[Peer, ...]:
    """The library of the device's maker: through torch, else CuPy; for CPUs, and GPUs without either, NumPy's BLAS.

    Beside a GPU that one is no vendor's: it computes on the host.
    """
    if device.device_type is not DeviceType.CPU:
        for peer in _of_gpu(device):
            return (peer,)
        return (_of_numpy(Role.PEER),)
    return (_of_numpy(),)


def all_peers(context: Context, tuned: Path | None = None) -> tuple[Peer, ...]:
    """Every library on a device, those of its maker first; ``tuned``: the folder of CLBlast's tuners' files.

    A package that is installed and does not work is one, too, so that its cells say why they are empty.
    """
    device = context.device
    if device.device_type is DeviceType.CPU:
        broken = _broken(torch_products.MODULE, Memory.HOST, torch_products.cpu_place)
        return (_of_numpy(), *_of_cpu(), *broken, *_of_any(context, tuned))
    theirs = tuple(_of_gpu(device))
    broken = _broken(torch_products.MODULE, Memory.DEVICE, torch_products.gpu_places)
    broken += _broken(cupy_products.MODULE, Memory.DEVICE, cupy_products.device_and_label)
    return (*theirs, *broken, *_of_any(context, tuned), *(() if theirs else (_of_numpy(Role.PEER),)))


def _of_numpy(role: Role = Role.VENDOR) -> Peer:
    name = f"NumPy {np.__version__} ({numpy_blas()})"
    return Peer(name=name, memory=Memory.HOST, prepare=_numpy, serves=blas_problem, role=role)


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


def _of_gpu(device: DeviceRecord) -> Iterator[Peer]:
    """Libraries of the GPU's maker, through packages that use this very device (compared by name)."""
    if _is_installed(torch_products.MODULE):
        for place in _tried(torch_products.gpu_places):
            if _is_same(place.device, device):
                prepare = partial(torch_products.prepare, place)
                yield _peer(place.label, Memory.DEVICE, prepare, torch_products.serves)
    if _is_installed(cupy_products.MODULE):
        for name, label in _tried(lambda: [cupy_products.device_and_label()]):
            if _is_same(name, device):
                yield _peer(label, Memory.DEVICE, cupy_products.prepare, cupy_products.serves)


def _of_cpu() -> Iterator[Peer]:
    """Other libraries for NumPy's arrays."""
    if _is_installed(torch_products.MODULE):
        for place in _tried(lambda: [torch_products.cpu_place()]):
            prepare = partial(torch_products.prepare, place)
            yield _peer(place.label, Memory.HOST, prepare, blas_problem, Role.PEER)
    library = mkl_products.opened()
    if library is not None:
        prepare = partial(mkl_products.prepare, library)
        yield _peer(mkl_products.label(library), Memory.HOST, prepare, blas_problem, Role.PEER)


def _of_any(context: Context, tuned: Path | None) -> Iterator[Peer]:
    """Libraries for every OpenCL device."""
    if clblast_library.opened() is None or context.device.backend != "opencl":
        return
    label = clblast_library.label()
    folders = {label: None} if tuned is None else {label: None, f"{label}, tuned": tuned}
    for name, folder in folders.items():
        prepare = partial(clblast_products.prepare, context, folder)
        yield _peer(name, Memory.DEVICE, prepare, clblast_products.serves, Role.PEER)


def _peer(name: str, memory: Memory, prepare: Any, serves: Any, role: Role = Role.VENDOR) -> Peer:
    def prepared(problem: Problem, a: Matrix, b: Matrix) -> Call:
        return told(partial(prepare, problem, a, b))()

    return Peer(name=name, memory=memory, prepare=prepared, serves=serves, role=role)


def _broken(module: str, memory: Memory, find: Callable[[], object]) -> tuple[Peer, ...]:
    """A package that cannot be used here although it is installed, as one whose products fail with its error."""
    if not _is_installed(module):
        return ()
    try:
        find()
    except Exception as error:  # anything, see `_tried`
        failure = error
    else:
        return ()

    def prepare(problem: Problem, a: Matrix, b: Matrix) -> Call:
        raise failure

    return (_peer(module, memory, prepare, lambda problem: problem),)


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _tried(find: Callable[[], list[Any]]) -> list[Any]:
    try:
        return find()
    except Exception:  # a library without a usable device raises anything
        return []


def _is_same(name: str, device: DeviceRecord) -> bool:
    return name in device.name or device.name in name  # one of them may add the maker's name


__all__ = ["Matrix", "Peer", "all_peers", "blas_problem", "numpy_blas", "peers_for"]
