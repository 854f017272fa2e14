"""Eigenvalues and eigenvectors of Hermitian matrices on the device.

A shift makes a matrix positive definite and well-conditioned: rotations from one side then make its columns orthogonal,
and these are eigenvectors times eigenvalues. The shift costs nothing of eigenvalues' accuracy, as they are the Rayleigh
quotients of the matrix itself.
"""

from __future__ import annotations

import numpy as np

from portagpu.blas.gemm.engine import gemm
from portagpu.blas.level3.few_rows import are_few
from portagpu.blas.level3.strided_memory import batch_of, index_kind, strided
from portagpu.linalg.jacobi.edges import (
    divide_rows,
    measure_rows,
    order_rows,
    scale_columns,
    shift_diagonals,
    take_quotients,
)
from portagpu.linalg.jacobi.few_rows import factor_hermitian
from portagpu.linalg.jacobi.rotations import Threads, edge_plan, orthogonalise
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream


def eigen_factors(a: DeviceNDArray, stream: Stream) -> tuple[DeviceNDArray, DeviceNDArray]:
    """``a = V diag(w) V^H``: w (count, n), ascending, and V (count, n, n).

    a: (count, n, n), or one matrix, of any strides, of which the lower triangles are read; float32 to complex128.
    Residuals and eigenvalues' errors are at most some ``n * eps`` of the matrix's norm. Matrices that are not finite
    give NaN.
    """
    count, n, context = batch_of(a), a.shape[-1], a.context
    dtype, real = a.dtype, np.dtype(f"float{4 * a.itemsize if a.dtype.kind == 'c' else 8 * a.itemsize}")
    values, vectors = (
        device_array(shape, kind, context=context) for shape, kind in (((count, n), real), ((count, n, n), dtype))
    )
    if values.size == 0:
        return values, vectors
    if are_few(context.capabilities, n, n, n, count):
        factor_hermitian(a, values, vectors, stream)
        return values, vectors
    t, g, second, fourth, found = (device_array((count, n, n), dtype, context=context) for _ in range(5))
    scales, lengths = device_array(count, real, context=context), device_array(count * n, real, context=context)
    how = Threads.predict(context.capabilities, n, dtype)
    plan = edge_plan(dtype, how.edge, hermitian=True)
    kind = index_kind(a, t)
    flat_t, flat_g = t.reshape(-1), g.reshape(-1)
    scale_columns[count, how.edge, stream](strided(a, kind), flat_t, flat_g, scales, kind(n), kind(n), plan)
    gemm(t, t, second, stream)
    gemm(second, second, fourth, stream)
    shift_diagonals[count, how.edge, stream](fourth.reshape(-1), flat_t, flat_g, kind(n), plan)
    orthogonalise(flat_g, None, (count, n, n), stream)
    measure_rows[count * n, how.edge, stream](flat_g, lengths, kind(n), plan)
    divide_rows[count * n, how.edge, stream](flat_g, lengths, kind(n), plan)
    gemm(g, t, found, stream)
    take_quotients[count * n, how.edge, stream](flat_g, found.reshape(-1), lengths, kind(n), plan)
    order_rows[count * n, how.edge, stream](
        lengths, scales, flat_g, values.reshape(-1), vectors.reshape(-1), kind(n), kind(n), True, False, False, plan
    )
    return values, vectors
