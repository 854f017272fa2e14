"""CLBlast through its C interface, on buffers and the queue of device arrays.

The interface is CLBlast's documented one (doc/api.md of its releases); Debian's package libclblast1 has the library.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from portagpu.bench.device_clock import clock_of
from portagpu.bench.method.turns import Call
from portagpu.bench.peers.clblast_products import with_parameters
from portagpu.bench.routines.level2_packed import diagonals
from portagpu.bench.routines.task import LETTERS, Task
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context

_COLUMNS, _PLAIN, _TRANSPOSED, _LOWER, _NON_UNIT, _LEFT = 102, 111, 112, 122, 131, 141


def prepare(library: ctypes.CDLL, task: Task, context: Context, tuned: Path | None = None) -> Call:
    """A task as CLBlast computes it; ``tuned``: the folder of its tuners' files.

    Raises RuntimeError for what it does not have, or refuses, `UnsupportedError` where the files have nothing.
    """
    maker = _MAKERS.get(task.name)
    if maker is None:
        raise RuntimeError(f"CLBlast has no {task.name}")
    arrays = {name: to_device(array, context=context) for name, array in task.arrays.items()}
    enqueue, result = maker(_Caller(library, task, context), arrays)

    def fetch() -> Any:
        if isinstance(result, tuple):
            return tuple(one.copy_to_host() for one in result)
        found = result.copy_to_host()
        return found[0] if task.name in _SUMS else found

    enqueue = with_parameters(context, task.dtype, tuned, enqueue)
    return Call(enqueue=enqueue, wait=context.synchronize, fetch=fetch, clock=clock_of(context))


class _Caller:
    """Calls of one dtype's functions."""

    def __init__(self, library: ctypes.CDLL, task: Task, context: Context) -> None:
        self._library, self.task, self.context = library, task, context
        self._letter = LETTERS[task.dtype].upper()
        self.queue: Any = None

    def __call__(self, name: str, *arguments: Any) -> Callable[[], None]:
        """A call that is ready to be repeated: arrays are buffer and offset, Python floats are factors."""
        prefix = f"i{self._letter}amax" if name == "amax" else self._letter + name
        function = getattr(self._library, f"CLBlast{prefix}")
        factor = ctypes.c_float if self._letter == "S" else ctypes.c_double
        made: list[Any] = []
        keep: list[Any] = []
        for value in arguments:
            if isinstance(value, DeviceNDArray):
                theirs = value.T.to_pyopencl() if value.ndim == 2 else value.to_pyopencl()
                keep.append(theirs)
                self.queue = theirs.queue or self.queue
                made += [ctypes.c_void_p(theirs.base_data.int_ptr), ctypes.c_size_t(theirs.offset // value.itemsize)]
            elif isinstance(value, float):
                made.append(factor(value))
            elif isinstance(value, _Option):
                made.append(ctypes.c_int(value))
            else:
                made.append(ctypes.c_size_t(value))
        queue = ctypes.c_void_p(self.queue.int_ptr)

        def call() -> None:
            status = function(*made, ctypes.byref(queue), None)
            if status:
                raise RuntimeError(f"CLBlast's {name} reports {status}")

        call.keep = keep  # type: ignore[attr-defined]
        return call

    def new(self, shape: tuple[int, ...], dtype: Any = None) -> DeviceNDArray:
        """An uninitialised array in columns."""
        return device_array(shape, dtype or self.task.dtype, order="F", context=self.context)


class _Option(int):
    """A value of one of CLBlast's enumerations."""


Made = tuple[Callable[[], None], Any]  # with the array of the result, or two of them
_SUMS = ("dot", "nrm2", "asum", "amax")


def _vectors(call: _Caller, v: dict[str, DeviceNDArray]) -> Made:
    x, y, n = v["x"], v["y"], v["x"].size
    name = call.task.name
    if name in _SUMS:
        result = call.new((1,), np.uint32 if name == "amax" else None)
        return call(name, n, result, x, 1, *((y, 1) if name == "dot" else ())), result
    both = (x, 1, y, 1)
    operands = {"axpy": (-0.5, *both), "scal": (-1.0, x, 1), "copy": both, "swap": both}[name]
    return call(name, n, *operands), {"scal": x, "swap": (x, y)}.get(name, y)


def _matrix_vector(call: _Caller, v: dict[str, DeviceNDArray]) -> Made:
    a, x, y = v["a"], v["x"], v["y"]
    n, name = x.size, call.task.name
    columns, lower = _Option(_COLUMNS), _Option(_LOWER)
    if name in ("gemv", "gemv-t"):
        trans = _Option(_TRANSPOSED if name == "gemv-t" else _PLAIN)
        return call("gemv", columns, trans, n, n, 1.0, a, n, x, 1, 0.0, y, 1), y
    if name == "ger":
        return call("ger", columns, n, n, 0.5, x, 1, y, 1, a, n), a
    if name == "symv":
        return call("symv", columns, lower, n, 1.0, a, n, x, 1, 0.0, y, 1), y
    if name in ("syr", "syr2"):
        return call(name, columns, lower, n, 0.5, x, 1, *((y, 1) if name == "syr2" else ()), a, n), a
    options = (columns, lower, _Option(_PLAIN), _Option(_NON_UNIT))
    return _on_a_copy(call(name, *options, n, a, n, x, 1), x.copy(), x)


def _packed(call: _Caller, v: dict[str, DeviceNDArray]) -> Made:
    ap, x, y = v["ap"], v["x"], v["y"]
    n, name = x.size, call.task.name
    columns, lower = _Option(_COLUMNS), _Option(_LOWER)
    if name == "spmv":
        return call(name, columns, lower, n, 1.0, ap, x, 1, 0.0, y, 1), y
    if name in ("spr", "spr2"):
        return call(name, columns, lower, n, 0.5, x, 1, *((y, 1) if name == "spr2" else ()), ap), ap
    options = (columns, lower, _Option(_PLAIN), _Option(_NON_UNIT))
    return _on_a_copy(call(name, *options, n, ap, x, 1), x.copy(), x)


def _bands(call: _Caller, v: dict[str, DeviceNDArray]) -> Made:
    a, x, y = v["a"], v["x"], v["y"]
    n, k, name = x.size, diagonals(x.size), call.task.name
    columns, lower, plain = _Option(_COLUMNS), _Option(_LOWER), _Option(_PLAIN)
    rows = a.shape[0]
    if name == "gbmv":
        return call(name, columns, plain, n, n, k, k, 1.0, a, rows, x, 1, 0.0, y, 1), y
    if name == "sbmv":
        return call(name, columns, lower, n, k, 1.0, a, rows, x, 1, 0.0, y, 1), y
    options = (columns, lower, plain, _Option(_NON_UNIT))
    return _on_a_copy(call(name, *options, n, k, a, rows, x, 1), x.copy(), x)


def _matrices(call: _Caller, v: dict[str, DeviceNDArray]) -> Made:
    a, n, name = v["a"], v["a"].shape[0], call.task.name
    columns, lower, plain, left = _Option(_COLUMNS), _Option(_LOWER), _Option(_PLAIN), _Option(_LEFT)
    c = call.new((n, n))
    if name in ("trmm", "trsm"):
        options = (columns, left, lower, plain, _Option(_NON_UNIT))
        return _on_a_copy(call(name, *options, n, n, 1.0, a, n, c, n), v["b"], c)
    operands: dict[str, tuple[Any, ...]] = {
        "gemm": (columns, plain, plain, n, n, n, 1.0, a, n, v.get("b"), n, 0.0, c, n),
        "symm": (columns, left, lower, n, n, 1.0, a, n, v.get("b"), n, 0.0, c, n),
        "syrk": (columns, lower, plain, n, n, 1.0, a, n, 0.0, c, n),
        "syr2k": (columns, lower, plain, n, n, 1.0, a, n, v.get("b"), n, 0.0, c, n),
    }
    return call(name, *operands[name]), c


def _on_a_copy(call: Callable[[], None], begin: DeviceNDArray, target: DeviceNDArray) -> Made:
    """A call that works in place, each time on what it began with."""
    stream = target.context.default_stream

    def enqueue() -> None:
        target.copy_to_device(begin, stream)
        call()

    return enqueue, target


_MAKERS: dict[str, Callable[[_Caller, dict[str, DeviceNDArray]], Made]] = {
    **dict.fromkeys(("axpy", "scal", "copy", "swap", *_SUMS), _vectors),
    **dict.fromkeys(("gemv", "gemv-t", "ger", "symv", "trmv", "trsv", "syr", "syr2"), _matrix_vector),
    **dict.fromkeys(("spmv", "tpmv", "spr", "spr2"), _packed),
    **dict.fromkeys(("gbmv", "sbmv", "tbmv"), _bands),
    **dict.fromkeys(("gemm", "symm", "syrk", "syr2k", "trmm", "trsm"), _matrices),
}

ROUTINES = frozenset(_MAKERS)
"""What it has."""
