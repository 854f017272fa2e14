"""cuBLAS and cuSOLVER through their C interfaces, on CuPy's arrays.

The interfaces are the documented ones: "cuBLAS Library" and "cuSOLVER API Reference", version 13.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.bench.method.turns import Call
from portagpu.bench.peers.own_runtime import with_cupy
from portagpu.bench.routines.level2_packed import diagonals
from portagpu.bench.routines.task import LETTERS, Array, Task

_LOWER, _UPPER, _LEFT, _NON_UNIT = 0, 1, 0, 0
_PLAIN, _TRANSPOSED = 0, 1
_DEVICE_POINTERS = 1  # where dot, nrm2 and asum leave their results
_LIBRARIES = {"cublas": ("libcublas.so.13", "libcublas.so.12"), "cusolver": ("libcusolver.so.12", "libcusolver.so.11")}


class CuBlas:
    """The libraries with their handles, in CuPy's context."""

    def __init__(self, cupy: Any) -> None:
        """Raises RuntimeError where the libraries are not found."""
        self.cupy = cupy
        for name in ("cupy_backends.cuda.libs.cublas", "cupy_backends.cuda.libs.cusolver"):
            importlib.import_module(name)  # which loads the libraries
        self._blas, self._solver = (_opened(_LIBRARIES[name]) for name in ("cublas", "cusolver"))
        self._blas_handle, self._solver_handle = ctypes.c_void_p(), ctypes.c_void_p()
        _check(self._blas.cublasCreate_v2(ctypes.byref(self._blas_handle)), "cublasCreate")
        _check(self._solver.cusolverDnCreate(ctypes.byref(self._solver_handle)), "cusolverDnCreate")

    def blas(self, name: str, *arguments: Any) -> Callable[[], None]:
        """A call of ``cublas<name>_v2`` that is ready to be repeated."""
        function = getattr(self._blas, f"cublas{name}_v2")
        return _bound(function, name, self._blas_handle, arguments)

    def batched(self, name: str, *arguments: Any) -> Callable[[], None]:
        """A call of ``cublas<name>Batched``, whose names have no version."""
        return _bound(getattr(self._blas, f"cublas{name}Batched"), name, self._blas_handle, arguments)

    def solver(self, name: str, *arguments: Any) -> Callable[[], None]:
        """A call of ``cusolverDn<name>`` that is ready to be repeated."""
        return _bound(getattr(self._solver, f"cusolverDn{name}"), name, self._solver_handle, arguments)

    def results_on_device(self) -> None:
        """Let reductions leave their results in the device's memory."""
        _check(self._blas.cublasSetPointerMode_v2(self._blas_handle, _DEVICE_POINTERS), "cublasSetPointerMode")

    def results_on_host(self) -> None:
        """Take factors from the host's memory."""
        _check(self._blas.cublasSetPointerMode_v2(self._blas_handle, 0), "cublasSetPointerMode")


def _opened(names: tuple[str, ...]) -> ctypes.CDLL:
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise RuntimeError(f"{names[0]} is not found")


def _check(status: int, name: str) -> None:
    if status:
        raise RuntimeError(f"{name} reports {status}")


def _bound(function: Any, name: str, handle: Any, arguments: tuple[Any, ...]) -> Callable[[], None]:
    """Arguments as C has them: arrays are pointers, whole numbers ints, factors pointers to what they are."""
    made = [handle, *(_argument(value) for value in arguments)]

    def call() -> None:
        _check(function(*made), name)

    call.keep = arguments  # type: ignore[attr-defined]  # arrays, whose memory CuPy would give to others

    return call


def _argument(value: Any) -> Any:
    if isinstance(value, int):
        return ctypes.c_int(value)
    if isinstance(value, np.floating):
        kind = ctypes.c_float if value.itemsize == 4 else ctypes.c_double
        return ctypes.pointer(kind(float(value)))
    return ctypes.c_void_p(value.data.ptr) if hasattr(value, "data") else value


def prepare(library: CuBlas, task: Task) -> Call:
    """A task as cuBLAS or cuSOLVER computes it. Raises RuntimeError for what they do not have."""
    maker = _MAKERS.get(task.name)
    if maker is None:
        raise RuntimeError(f"cuBLAS has no {task.name} here")
    cupy = library.cupy
    arrays = {name: cupy.array(x, order="F" if x.ndim <= 2 else "C") for name, x in task.arrays.items()}
    enqueue, fetch = maker(library, task, arrays)
    return with_cupy(cupy, Call(enqueue=enqueue, wait=cupy.cuda.get_current_stream().synchronize, fetch=fetch))


Made = tuple[Callable[[], None], Callable[[], Any]]


def _vectors(library: CuBlas, task: Task, v: dict[str, Any]) -> Made:
    letter, number = LETTERS[task.dtype].upper(), np.dtype(task.dtype).type
    x, y, n = v["x"], v["y"], v["x"].size
    cupy = library.cupy
    if task.name in ("dot", "nrm2", "asum", "amax"):
        result = cupy.zeros(1, np.int32 if task.name == "amax" else task.dtype)
        name = f"I{letter.lower()}amax" if task.name == "amax" else f"{letter}{task.name}"
        operands = (x, 1, y, 1) if task.name == "dot" else (x, 1)
        call = library.blas(name, n, *operands, result)
        library.results_on_device()
        first = int(task.name == "amax")  # counted from 1
        return call, lambda: result.get()[0] - first
    library.results_on_host()
    calls = {
        "axpy": lambda: library.blas(f"{letter}axpy", n, number(-0.5), x, 1, y, 1),
        "scal": lambda: library.blas(f"{letter}scal", n, number(-1), x, 1),
        "copy": lambda: library.blas(f"{letter}copy", n, x, 1, y, 1),
        "swap": lambda: library.blas(f"{letter}swap", n, x, 1, y, 1),
    }
    fetch = {"scal": x.get, "swap": lambda: (x.get(), y.get())}.get(task.name, y.get)
    return calls[task.name](), fetch


def _matrix_vector(library: CuBlas, task: Task, v: dict[str, Any]) -> Made:
    letter, number = LETTERS[task.dtype].upper(), np.dtype(task.dtype).type
    a, x, y = v["a"], v["x"], v["y"]
    n = x.size
    library.results_on_host()
    if task.name in ("gemv", "gemv-t"):
        trans = _TRANSPOSED if task.name == "gemv-t" else _PLAIN
        return library.blas(f"{letter}gemv", trans, n, n, number(1), a, n, x, 1, number(0), y, 1), y.get
    if task.name == "ger":
        return library.blas(f"{letter}ger", n, n, number(0.5), x, 1, y, 1, a, n), a.get
    if task.name == "symv":
        return library.blas(f"{letter}symv", _LOWER, n, number(1), a, n, x, 1, number(0), y, 1), y.get
    if task.name in ("syr", "syr2"):
        other = (y, 1) if task.name == "syr2" else ()
        return library.blas(f"{letter}{task.name}", _LOWER, n, number(0.5), x, 1, *other, a, n), a.get
    call = library.blas(f"{letter}{task.name}", _LOWER, _PLAIN, _NON_UNIT, n, a, n, x, 1)
    return _from_the_beginning(call, x)


def _from_the_beginning(call: Callable[[], None], x: Any) -> Made:
    """A call that works in place, each time on what it began with."""
    begin = x.copy()

    def enqueue() -> None:
        x[...] = begin
        call()

    return enqueue, x.get


def _packed(library: CuBlas, task: Task, v: dict[str, Any]) -> Made:
    letter, number = LETTERS[task.dtype].upper(), np.dtype(task.dtype).type
    ap, x, y = v["ap"], v["x"], v["y"]
    n, name = x.size, f"{letter}{task.name}"
    library.results_on_host()
    if task.name == "spmv":
        return library.blas(name, _LOWER, n, number(1), ap, x, 1, number(0), y, 1), y.get
    if task.name in ("spr", "spr2"):
        other = (y, 1) if task.name == "spr2" else ()
        return library.blas(name, _LOWER, n, number(0.5), x, 1, *other, ap), ap.get
    return _from_the_beginning(library.blas(name, _LOWER, _PLAIN, _NON_UNIT, n, ap, x, 1), x)


def _bands(library: CuBlas, task: Task, v: dict[str, Any]) -> Made:
    letter, number = LETTERS[task.dtype].upper(), np.dtype(task.dtype).type
    a, x, y = v["a"], v["x"], v["y"]
    n, name, rows, k = x.size, f"{letter}{task.name}", a.shape[0], diagonals(x.size)
    one, zero = number(1), number(0)
    library.results_on_host()
    if task.name == "gbmv":
        return library.blas(name, _PLAIN, n, n, k, k, one, a, rows, x, 1, zero, y, 1), y.get
    if task.name == "sbmv":
        return library.blas(name, _LOWER, n, k, one, a, rows, x, 1, zero, y, 1), y.get
    return _from_the_beginning(library.blas(name, _LOWER, _PLAIN, _NON_UNIT, n, k, a, rows, x, 1), x)


def _matrices(library: CuBlas, task: Task, v: dict[str, Any]) -> Made:
    letter, number = LETTERS[task.dtype].upper(), np.dtype(task.dtype).type
    a, b, n = v["a"], v.get("b"), v["a"].shape[0]
    c = library.cupy.empty((n, n), task.dtype, order="F")
    one, zero = number(1), number(0)
    library.results_on_host()
    if task.name == "trsm":
        call = library.blas(f"{letter}trsm", _LEFT, _LOWER, _PLAIN, _NON_UNIT, n, n, one, a, n, c, n)

        def on_a_copy() -> None:
            c[...] = b
            call()

        return on_a_copy, c.get
    calls: dict[str, tuple[Any, ...]] = {
        "gemm": (_PLAIN, _PLAIN, n, n, n, one, a, n, b, n, zero, c, n),
        "symm": (_LEFT, _LOWER, n, n, one, a, n, b, n, zero, c, n),
        "syrk": (_LOWER, _PLAIN, n, n, one, a, n, zero, c, n),
        "syr2k": (_LOWER, _PLAIN, n, n, one, a, n, b, n, zero, c, n),
        "trmm": (_LEFT, _LOWER, _PLAIN, _NON_UNIT, n, n, one, a, n, b, n, c, n),
    }
    return library.blas(f"{letter}{task.name}", *calls[task.name]), c.get


def _factorisation(library: CuBlas, task: Task, v: dict[str, Any]) -> Made:
    letter, cupy = LETTERS[task.dtype].upper(), library.cupy
    a, n = v["a"], v["a"].shape[0]
    c, info, pivots = cupy.empty((n, n), task.dtype, order="F"), cupy.zeros(1, np.int32), cupy.zeros(n, np.int32)
    size = ctypes.c_int()
    sizes = (_LOWER, n) if task.name == "potrf" else (n, n)
    library.solver(f"{letter}{task.name}_bufferSize", *sizes, c, n, ctypes.byref(size))()
    work = cupy.empty(size.value, task.dtype)
    if task.name == "potrf":
        call = library.solver(f"{letter}potrf", _LOWER, n, c, n, work, size.value, info)
    else:
        call = library.solver(f"{letter}getrf", n, n, c, n, work, pivots, info)

    def on_a_copy() -> None:
        c[...] = a
        call()

    def fetch() -> tuple[Array, ...]:
        found: Array = c.get()
        return (found, info.get()[0]) if task.name == "potrf" else (found, pivots.get() - 1, info.get()[0])

    return on_a_copy, fetch


def _batch(library: CuBlas, task: Task, v: dict[str, Any]) -> Made:
    """A batch in C order whose matrices are in columns: transposed before the clock runs, and after."""
    letter, cupy = LETTERS[task.dtype].upper(), library.cupy
    columns = {name: cupy.array(_transposed(x.get())) for name, x in v.items()}
    begin = columns["b" if task.name == "trsm-batch" else "a"]
    count, n = begin.shape[:2]
    c, info, pivots = begin.copy(), cupy.zeros(count, np.int32), cupy.zeros((count, n), np.int32)
    addresses = _addresses(cupy, c)
    library.results_on_host()
    if task.name == "potrf-batch":
        call = library.solver(f"{letter}potrfBatched", _LOWER, n, addresses, n, info, count)
    elif task.name == "getrf-batch":
        call = library.batched(f"{letter}getrf", n, addresses, n, pivots, info, count)
    else:
        options = (_LEFT, _LOWER, _PLAIN, _NON_UNIT)
        factor, triangles = np.dtype(task.dtype).type(1), _addresses(cupy, columns["a"])
        call = library.batched(f"{letter}trsm", *options, n, n, factor, triangles, n, addresses, n, count)

    def on_a_copy() -> None:
        c[...] = begin
        call()

    on_a_copy.keep = columns  # type: ignore[attr-defined]  # what the addresses are of

    def fetch() -> tuple[Array, ...]:
        return _transposed(c.get()), pivots.get() - 1, info.get()

    return on_a_copy, fetch


def _transposed(x: Array) -> Array:
    return np.ascontiguousarray(x.swapaxes(1, 2))


def _addresses(cupy: Any, batch: Any) -> Any:
    """Where each matrix begins, on the device."""
    step = batch[0].size * batch.itemsize
    return cupy.array(np.uint64(batch.data.ptr) + np.arange(len(batch), dtype=np.uint64) * np.uint64(step))


_MAKERS: dict[str, Callable[[CuBlas, Task, dict[str, Any]], Made]] = {
    **dict.fromkeys(("axpy", "scal", "copy", "swap", "dot", "nrm2", "asum", "amax"), _vectors),
    **dict.fromkeys(("gemv", "gemv-t", "ger", "symv", "trmv", "trsv", "syr", "syr2"), _matrix_vector),
    **dict.fromkeys(("spmv", "tpmv", "spr", "spr2"), _packed),
    **dict.fromkeys(("gbmv", "sbmv", "tbmv"), _bands),
    **dict.fromkeys(("gemm", "symm", "syrk", "syr2k", "trmm", "trsm"), _matrices),
    **dict.fromkeys(("potrf", "getrf"), _factorisation),
    **dict.fromkeys(("potrf-batch", "getrf-batch", "trsm-batch"), _batch),
}
