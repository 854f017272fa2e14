"""Systems by factors in a lower precision, refined by residuals in the operands' own.

J. Langou and others, "Exploiting the performance of 32 bit floating point arithmetic in obtaining 64 bit accuracy",
SC 2006; the criterion is that of LAPACK's dsgesv.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.blas.factorisations.number_types import number_types
from portagpu.blas.factorisations.refinement_kernels import compare_columns, convert, sum_rows
from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.level3.strided_memory import batch_of, index_kind, strided
from portagpu.blas.level3.tiles import along, threads_for, tiles_of_matrices
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream

LOWER = {"float64": "float32", "complex128": "complex64"}
"""The dtype in which systems of a dtype may be factored."""

_MOST_STEPS = 30
_THREADS = 128
Solve = Callable[[DeviceNDArray, DeviceNDArray], None]


def refine(
    a: DeviceNDArray,
    b: DeviceNDArray,
    info: DeviceNDArray,
    stream: Stream,
    factor: Callable[[DeviceNDArray], Solve],
) -> bool:
    """``b = inv(a) @ b``, with factors in the lower precision; it waits for the device after each step.

    a: (n, n) or a batch; b: (n, m) or a batch, of which ``a`` has as many. ``factor(low)`` factors a copy of a in the
    lower dtype, with the ``info`` that it has, and returns what solves a system with it in place. True if all solutions
    are as near as those by factors in the operands' dtype; else False, and b is as it was: then the matrix is not for
    the lower precision.
    """
    context, low_dtype = a.context, np.dtype(LOWER[a.dtype.name])
    low = _made(a, low_dtype)
    _convert(a, low, stream)
    solve = factor(low)
    if _on_host(info, stream).any():  # numbers of the operands' dtype may be zero, or too large, in the lower one
        return False
    x, r, step = _made(b, b.dtype), _made(b, b.dtype), _made(b, low_dtype)
    _convert(b, step, stream)
    solve(low, step)
    _convert(step, x, stream)
    types, n, m, count = number_types(a.dtype), b.shape[-2], b.shape[-1], batch_of(b)
    norms = device_array(count * n, np.dtype(types.real), context=context)
    far = device_array(count * m, np.dtype(np.int32), context=context)
    kind = index_kind(a, b)
    sum_rows[-(-count * n // _THREADS), _THREADS, stream](
        strided(a, kind), kind(n), kind(count), norms, types.real, types.is_complex
    )
    tolerance = types.real(np.sqrt(n) * np.finfo(a.dtype).eps)
    for _ in range(_MOST_STEPS):
        _convert(b, r, stream)
        gemm(a, x, r, stream, alpha=-1.0, beta=1.0)
        compare_columns[-(-count * m // _THREADS), _THREADS, stream](
            strided(r, kind), strided(x, kind), kind(n), kind(m), kind(count), norms, tolerance, far, types.is_complex
        )
        if not _on_host(far, stream).any():
            _convert(x, b, stream)
            return True
        _convert(r, step, stream)
        solve(low, step)
        _convert(step, x, stream, adds=True)
    return False


def _on_host(found: DeviceNDArray, stream: Stream) -> np.ndarray[Any, Any]:
    copied = found.copy_to_host(stream=stream)
    stream.synchronize()
    return copied


def _made(like: DeviceNDArray, dtype: np.dtype[Any]) -> DeviceNDArray:
    return device_array(like.shape, dtype, context=like.context)


def _convert(source: DeviceNDArray, target: DeviceNDArray, stream: Stream, *, adds: bool = False) -> None:
    """Enqueue `convert`."""
    if not along(target):
        source, target = swapped(source), swapped(target)
    n, m = target.shape[-2:]
    kind, threads, count = index_kind(source, target), threads_for(target.context.capabilities), batch_of(target)
    convert[tiles_of_matrices(target), threads.total, stream](
        *(strided(source, kind), strided(target, kind), kind(n), kind(m), kind(count)),
        *(adds, target.dtype.type, along(target), threads),
    )
