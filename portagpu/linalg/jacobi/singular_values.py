"""Singular values and vectors on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.gemm.engine import gemm
from portagpu.blas.level3.few_rows import are_few
from portagpu.blas.level3.strided_memory import index_kind, strided
from portagpu.linalg.jacobi.edges import measure_rows, order_rows, orient_columns, scale_columns
from portagpu.linalg.jacobi.few_rows import factor_singular
from portagpu.linalg.jacobi.rotations import Threads, edge_plan, orthogonalise
from portagpu.linalg.least_squares import qr
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream


def singular_values(a: DeviceNDArray, stream: Stream) -> DeviceNDArray:
    """The singular values of matrices (count, m, n), in descending order: (count, min(m, n)). As `singular_factors`."""
    if a.shape[-2] < a.shape[-1]:
        a = a.transpose(0, 2, 1)
    if _are_few(a):
        values = device_array((a.shape[0], a.shape[-1]), _real(a.dtype), context=a.context)
        factor_singular(a, values, None, None, stream)
        return values
    if a.size and a.shape[-2] > a.shape[-1]:
        a = qr(a, mode="r", stream=stream)
    found: DeviceNDArray = _square(a, stream, vectors=False)[0]
    return found


def singular_factors(
    a: DeviceNDArray, stream: Stream, *, full: bool
) -> tuple[DeviceNDArray, DeviceNDArray, DeviceNDArray]:
    """``a = U diag(s) Vh``: U (count, m, k), s (count, k), in descending order, and Vh (count, k, n), k = min(m, n).

    a: (count, m, n), of any strides, float32 to complex128. ``full``: U has m columns, and Vh n rows. A tall matrix is
    brought to its factor R first, and rotations make the columns of that orthogonal. Residuals, and what U and Vh
    differ from orthonormal ones, are at most some ``n * eps`` of the norm. Matrices that are not finite give NaN.
    """
    count, m, n = a.shape
    if m < n:
        vt, s, ut = singular_factors(a.transpose(0, 2, 1), stream, full=full)
        return ut.transpose(0, 2, 1), s, vt.transpose(0, 2, 1)
    if count == 0 or n == 0:
        return _nothing(a, stream, full=full)
    if _are_few(a):
        u, vh = (device_array(x, a.dtype, context=a.context) for x in ((count, m, m if full else n), (count, n, n)))
        s = device_array((count, n), _real(a.dtype), context=a.context)
        factor_singular(a, s, u, vh, stream)
        return u, s, vh
    if m == n:
        s, u, vh = _square(a, stream, vectors=True)
        return u, s, vh
    q, r = qr(a, mode="complete" if full else "reduced", stream=stream)
    s, inner, vh = _square(r[:, :n], stream, vectors=True)
    u = device_array(q.shape, a.dtype, context=a.context)
    gemm(q[:, :, :n], inner, u[:, :, :n], stream)
    if full:
        u[:, :, n:].copy_to_device(q[:, :, n:], stream)
    return u, s, vh


def _are_few(a: DeviceNDArray) -> bool:
    count, m, n = a.shape
    return a.size > 0 and are_few(a.context.capabilities, m, n, m, count)


def _nothing(a: DeviceNDArray, stream: Stream, *, full: bool) -> tuple[DeviceNDArray, DeviceNDArray, DeviceNDArray]:
    """Factors of matrices without elements: U of none is any, so that it is 1."""
    count, m, n = a.shape
    eye = np.broadcast_to(np.eye(m, m if full else n, dtype=a.dtype), (count, m, m if full else n))
    u, vh = (device_array(shape, a.dtype, context=a.context) for shape in ((count, m, m if full else n), (count, n, n)))
    s = device_array((count, n), _real(a.dtype), context=a.context)
    if u.size:
        u.copy_to_device(np.ascontiguousarray(eye), stream)
    return u, s, vh


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"float{4 * dtype.itemsize}") if dtype.kind == "c" else dtype


def _square(a: DeviceNDArray, stream: Stream, *, vectors: bool) -> tuple[Any, Any, Any]:
    """Singular values of matrices (count, n, n), and with ``vectors`` U and Vh, else None."""
    count, n = a.shape[0], a.shape[-1]
    context, dtype, real = a.context, a.dtype, _real(a.dtype)
    values = device_array((count, n), real, context=context)
    if values.size == 0:
        return values, None, None
    g, v, left, right = (device_array(count * n * n, dtype, context=context) for _ in range(4))
    scales, lengths = device_array(count, real, context=context), device_array(count * n, real, context=context)
    how = Threads.predict(context.capabilities, n, dtype)
    plan = edge_plan(dtype, how.edge, hermitian=False)
    kind = index_kind(a, g)
    scale_columns[count, how.edge, stream](strided(a, kind), g, v, scales, kind(n), kind(n), plan)
    orthogonalise(g, v if vectors else None, (count, n, n), stream)
    measure_rows[count * n, how.edge, stream](g, lengths, kind(n), plan)
    size = (kind(n), kind(n))
    blocks = order_rows[count * n, how.edge, stream]
    blocks(lengths, scales, g, values.reshape(-1), left, *size, True, True, False, plan)
    if not vectors:
        return values, None, None
    blocks(lengths, scales, v, values.reshape(-1), right, *size, False, False, True, plan)
    # columns of lengths that count as zero are made orthogonal to the others
    u, r = qr(left.reshape((count, n, n)), stream=stream)
    orient_columns[count * n, how.edge, stream](u, r, kind(n), kind(n), kind(n), plan)
    return values, u, right.reshape((count, n, n))
