"""Products of matrices by CLBlast, on device arrays of any OpenCL device."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from portagpu.bench.device_clock import clock_of
from portagpu.bench.method.turns import Call
from portagpu.bench.peers import clblast_library, clblast_tuned
from portagpu.blas.gemm.core.problem import Problem
from portagpu.errors import UnsupportedError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context

_ROWS, _PLAIN = 101, 111
_LETTERS = {"float32": "S", "float64": "D"}
Matrix = np.ndarray[Any, Any]


def serves(problem: Problem) -> Problem:
    """The arithmetic that it uses: its sums of 16 bits are of 16 bits, so float32 is the nearest that is as exact."""
    if problem.is_complex:
        return replace(problem, out="", precision="")
    dtype = problem.dtype if problem.dtype in _LETTERS else "float32"
    return replace(problem, dtype=dtype, out="", precision="")


def prepare(context: Context, tuned: Path | None, problem: Problem, a: Matrix, b: Matrix) -> Call:
    """A product; ``tuned``: the folder of its tuners' files. Raises `UnsupportedError` for what is not served."""
    library = clblast_library.opened()
    if library is None or problem.dtype not in _LETTERS:
        raise UnsupportedError(f"CLBlast is not asked for products of {problem.arithmetic} here")
    dtype = np.dtype(problem.dtype)
    left, right = (to_device(x.astype(dtype, copy=False), context=context) for x in (a, b))
    result = device_array((*left.shape[:-1], right.shape[-1]), dtype, context=context)
    call = _call(library, problem, left, right, result)
    return Call(
        enqueue=with_parameters(context, problem.dtype, tuned, call),
        wait=context.synchronize,
        fetch=lambda: np.asarray(result.copy_to_host()),
        clock=clock_of(context),
    )


def with_parameters(context: Context, dtype: str, tuned: Path | None, call: Any) -> Any:
    """A call of CLBlast with its own parameters, or with those of its tuners' files."""
    state = clblast_library.state(context.device.cl_device.int_ptr, dtype)
    kernels = clblast_library.OWN
    if tuned is not None:
        kernels = state.complete(clblast_tuned.kernels(tuned, context.device, dtype))
    return state.using(kernels, call)


def _call(library: ctypes.CDLL, problem: Problem, a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray) -> Any:
    m, n, k, batch = problem.m, problem.n, problem.k, problem.batch
    factor = ctypes.c_float if problem.dtype == "float32" else ctypes.c_double
    theirs = [array.to_pyopencl() for array in (a, b, c)]
    strides = (m * k, k * n, m * n) if batch > 1 else ()
    operands: list[list[Any]] = []
    for index, (array, rows) in enumerate(zip(theirs, (k, n, n), strict=True)):
        offset = ctypes.c_size_t(array.offset // array.dtype.itemsize)
        stride = [ctypes.c_size_t(strides[index])] if strides else []
        operands.append([ctypes.c_void_p(array.base_data.int_ptr), offset, ctypes.c_size_t(rows), *stride])
    name = f"CLBlast{_LETTERS[problem.dtype]}gemm{'StridedBatched' if strides else ''}"
    function = getattr(library, name)
    queue = ctypes.c_void_p(theirs[2].queue.int_ptr)
    options = [ctypes.c_int(value) for value in (_ROWS, _PLAIN, _PLAIN)]
    sizes = [ctypes.c_size_t(value) for value in (m, n, k)]
    count = [ctypes.c_size_t(batch)] if strides else []
    arguments = (*options, *sizes, factor(1), *operands[0], *operands[1], factor(0), *operands[2], *count)

    def call(keep: Any = theirs) -> None:
        status = function(*arguments, ctypes.byref(queue), None)
        if status:
            raise RuntimeError(f"{name} reports {status}")

    return call


__all__ = ["prepare", "serves", "with_parameters"]
