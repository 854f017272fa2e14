"""QR factors by Householder reflections on the device, and products with Q.

Blocks of columns are factored by a kernel, and their reflections applied together, as 1 - V T V^H, to the columns to
the right (R. Schreiber, C. Van Loan, "A storage-efficient WY representation for products of Householder
transformations", SIAM Journal on Scientific and Statistical Computing 10(1), 1989).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.factorisations.few_rows_kernels import find_few_reflections, reflect_few_rows
from portagpu.blas.factorisations.number_types import cell_type, number_types
from portagpu.blas.factorisations.parameters import Reflections
from portagpu.blas.factorisations.qr_kernels import QrPlan, join_reflections, reflect_columns
from portagpu.blas.factorisations.scaling import range_of
from portagpu.blas.factorisations.triangles import clear_beyond
from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.level3.conjugates import conjugate_into, conjugate_transpose
from portagpu.blas.level3.few_rows import are_few
from portagpu.blas.level3.strided_memory import batch_of, index_kind, strided
from portagpu.blas.replay.calls import repeated
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.stream import Stream


def geqrf(a: DeviceNDArray, taus: DeviceNDArray, stream: Stream) -> None:
    """``a = Q R``, in place: R on and above the diagonal, the vectors of reflections below it; enqueued.

    a: (m, n), or a batch (batch, m, n), of any strides, float32 to complex128. taus: factors of the min(m, n)
    reflections, of a's dtype, (min(m, n)) or a batch of them. As LAPACK's geqrf has them.
    """
    if a.size == 0:
        return
    count, (m, n) = batch_of(a), a.shape[-2:]
    if a.ndim == 3 and count == 1:
        a = a[0]
    least = min(m, n)
    taus = taus.reshape((count, least))
    how = Reflections.predict(a.context.capabilities, a.dtype)
    few = are_few(a.context.capabilities, m, n, least, count)

    def enqueue(a: DeviceNDArray, taus: DeviceNDArray, stream: Stream) -> None:
        if few:
            _find_few_reflections(a, taus, stream)
            return
        for first in range(0, least, how.width):
            end = min(first + how.width, least)
            # the last block has all columns that are left, if they are few
            last = n if end == least and n - first <= how.width else end
            _reflect(a[..., first:, first:last], taus, first, stream, how)
            if last < n:
                _apply(a[..., first:, first:end], taus, first, a[..., first:, end:], stream, how, adjoint=True)

    repeated(enqueue, "geqrf", (a, taus), {"stream": stream}, (how, few))


def multiply_by_q(
    factors: DeviceNDArray, taus: DeviceNDArray, c: DeviceNDArray, stream: Stream, *, adjoint: bool, right: bool = False
) -> None:
    """``c = Q c``, or ``Q^H c`` with ``adjoint``, or from the ``right``, in place; enqueued.

    factors: (m, k), as `geqrf` leaves them, with k reflections of taus (k); c: (m, n), or (n, m) from the right; or
    batches of all.
    """
    if c.size == 0 or factors.shape[-1] == 0:
        return
    count, k = batch_of(c), taus.shape[-1]
    taus = taus.reshape((count, k))
    how = Reflections.predict(c.context.capabilities, c.dtype)
    is_complex = c.dtype.kind == "c"
    rows, columns = c.shape[-2:] if not right else (c.shape[-1], c.shape[-2])
    few = are_few(c.context.capabilities, rows, columns, k, count)

    def enqueue(factors: DeviceNDArray, taus: DeviceNDArray, c: DeviceNDArray, stream: Stream) -> None:
        if right and is_complex:  # (c Q)^T = conj(Q^H conj(c^T))
            conjugate_into(c, c, stream)
        target, is_adjoint = (swapped(c), not adjoint) if right else (c, adjoint)
        blocks = range(0, 0 if few else k, how.width)
        if few:
            _apply_few_rows(factors, taus, target, stream, adjoint=is_adjoint)
        for first in blocks if is_adjoint else reversed(blocks):
            end = min(first + how.width, k)
            _apply(
                factors[..., first:, first:end], taus, first, target[..., first:, :], stream, how, adjoint=is_adjoint
            )
        if right and is_complex:
            conjugate_into(c, c, stream)

    repeated(enqueue, "ormqr", (factors, taus, c), {"stream": stream}, (adjoint, right, how, few))


def _find_few_reflections(a: DeviceNDArray, taus: DeviceNDArray, stream: Stream) -> None:
    """Enqueue `find_few_reflections`."""
    kind, types = index_kind(a), number_types(a.dtype)
    m, n = a.shape[-2:]
    find_few_reflections[batch_of(a), 1, stream](
        strided(a, kind), taus, kind(m), kind(n), range_of(types.real), types.real, types.is_complex
    )


def _apply_few_rows(
    factors: DeviceNDArray, taus: DeviceNDArray, c: DeviceNDArray, stream: Stream, *, adjoint: bool
) -> None:
    """Enqueue `reflect_few_rows`."""
    kind, types = index_kind(factors, c), number_types(c.dtype)
    m, n = c.shape[-2:]
    reflect_few_rows[batch_of(c), 1, stream](
        strided(factors, kind),
        taus,
        strided(c, kind),
        kind(m),
        kind(n),
        kind(taus.shape[-1]),
        np.int32(adjoint),
        types.number,
        types.is_complex,
    )


def _plan(dtype: np.dtype[Any], how: Reflections) -> QrPlan:
    types = number_types(dtype)
    return QrPlan(
        width=how.width,
        along=how.along,
        groups=how.groups,
        lanes=how.lanes,
        cell=cell_type(dtype, how.lanes),
        number=types.number,
        real=types.real,
        is_complex=types.is_complex,
        usual=range_of(types.real),
    )


def _reflect(a: DeviceNDArray, taus: DeviceNDArray, first: int, stream: Stream, how: Reflections) -> None:
    """Enqueue `reflect_columns`."""
    count, (m, n) = batch_of(a), a.shape[-2:]
    pitch = -(-m // 16) * 16
    copies = workspaces.of(stream, "columns", (count * n * pitch,), a.dtype)
    kind = index_kind(a, copies)
    reflect_columns[count, how.along * how.groups, stream](
        strided(a, kind), copies, kind(pitch), kind(m), kind(n), kind(count), taus, np.int32(first), _plan(a.dtype, how)
    )


def _apply(
    block: DeviceNDArray,
    taus: DeviceNDArray,
    first: int,
    c: DeviceNDArray,
    stream: Stream,
    how: Reflections,
    *,
    adjoint: bool,
) -> None:
    """``c = (1 - V T V^H) c``, or with T^H; block: a copy of V has ones on its diagonal and zeros above it."""
    m, k = block.shape[-2:]
    n, batch, context = c.shape[-1], c.shape[:-2], c.context
    v = device_array((*batch, m, k), c.dtype, context=context)
    copy_strided(block, v, stream)
    clear_beyond(v, stream, lower=True, unit_diagonal=True)
    adjoint_v = conjugate_transpose(v, stream)
    gram, t = (device_array((batch_of(c), k, k), c.dtype, context=context) for _ in range(2))
    gemm(adjoint_v, v, gram if batch else gram[0], stream)
    join_reflections[gram.shape[0], how.threads, stream](
        gram, t, np.uint32(k), np.uint32(gram.shape[0]), taus, np.int32(first), how.width, _plan(c.dtype, how)
    )
    one = t if batch else t[0]
    factor = conjugate_transpose(one, stream) if adjoint else one
    products, scaled = (device_array((*batch, k, n), c.dtype, context=context) for _ in range(2))
    gemm(adjoint_v, c, products, stream)
    gemm(factor, products, scaled, stream)
    gemm(v, scaled, c, stream, alpha=-1.0, beta=1.0)
