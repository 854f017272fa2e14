"""Singular and eigenvalues of few small matrices on a CPU's device: one kernel, where others would be a dozen."""

from __future__ import annotations

import numpy as np

from portagpu.blas.level3.strided_memory import index_kind, strided
from portagpu.linalg.jacobi.few_rows_kernels import factor_few_hermitian, factor_few_singular
from portagpu.linalg.jacobi.rotations import SWEEPS, Threads, edge_plan, jacobi_plan, tolerance_of
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream

_ALONE = Threads(along=1, groups=1, lanes=1, edge=1)


def factor_singular(
    a: DeviceNDArray,
    values: DeviceNDArray,
    u: DeviceNDArray | None,
    vh: DeviceNDArray | None,
    stream: Stream,
) -> None:
    """Enqueue `factor_few_singular` for matrices (count, m, n), m >= n; u (count, m, k), vh, or both None."""
    count, m, n = a.shape
    dtype, context = a.dtype, a.context
    g, v = (device_array(count * n * size, dtype, context=context) for size in (m, n))
    lengths = device_array(count * n, values.dtype, context=context)
    left, right = (g if x is None else x.reshape(-1) for x in (u, vh))
    kind = index_kind(a, g, left)
    factor_few_singular[count, 1, stream](
        strided(a, kind),
        g,
        v,
        lengths,
        values.reshape(-1),
        left,
        right,
        kind(n),
        kind(m),
        kind(n if u is None else u.shape[-1]),
        tolerance_of(dtype, m),
        np.int32(SWEEPS),
        edge_plan(dtype, 1, hermitian=False),
        jacobi_plan(dtype, _ALONE, vectors=u is not None),
    )


def factor_hermitian(a: DeviceNDArray, values: DeviceNDArray, vectors: DeviceNDArray, stream: Stream) -> None:
    """Enqueue `factor_few_hermitian` for matrices (count, n, n), or one of them."""
    n, dtype, context = a.shape[-1], a.dtype, a.context
    t, g = (device_array(vectors.size, dtype, context=context) for _ in range(2))
    lengths = device_array(values.size, values.dtype, context=context)
    kind = index_kind(a, t)
    factor_few_hermitian[values.shape[0], 1, stream](
        strided(a, kind),
        t,
        g,
        lengths,
        values.reshape(-1),
        vectors.reshape(-1),
        kind(n),
        tolerance_of(dtype, n),
        np.int32(SWEEPS),
        edge_plan(dtype, 1, hermitian=True),
        jacobi_plan(dtype, _ALONE, vectors=False),
    )
