"""LU factors with partial pivoting on the device, and systems with them.

Recursive in columns: the left half, the rows of the right half exchanged as its pivots say, a triangular system and a
product for these, the right half's lower part, and its exchanges in the left half (S. Toledo, "Locality of reference in
LU decomposition with partial pivoting", SIAM Journal on Matrix Analysis and Applications 18(4), 1997).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu.blas.factorisations.determinant_kernels import PivotPlan, multiply_pivots
from portagpu.blas.factorisations.few_rows_kernels import factor_few_rows, solve_few_rows
from portagpu.blas.factorisations.lu_grid import factor_together
from portagpu.blas.factorisations.lu_kernels import LuPlan, factor_columns
from portagpu.blas.factorisations.lu_small_kernels import SmallPlan, factor_small_matrices
from portagpu.blas.factorisations.lu_tall_kernels import TallPlan, factor_tall_columns
from portagpu.blas.factorisations.number_types import number_types
from portagpu.blas.factorisations.parameters import Columns, GridColumns, SmallMatrices, TallColumns
from portagpu.blas.factorisations.row_swap_kernels import SwapPlan, exchange_rows, swap_rows
from portagpu.blas.factorisations.scaling import range_of
from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.fill import clear
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.level3.few_rows import are_few
from portagpu.blas.level3.strided_memory import batch_of, index_kind, strided
from portagpu.blas.level3.triangular_solve import solve_triangular
from portagpu.blas.replay.calls import repeated
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_THREADS = 64


def getrf(a: DeviceNDArray, pivots: DeviceNDArray, info: DeviceNDArray, stream: Stream) -> None:
    """``a = P L U``, in place: L below the diagonal of ones, U on and above it; enqueued.

    a: (m, n), or a batch (batch, m, n), of any strides, float32 to complex128. pivots: int32 (min(m, n)), or a batch of
    them: the row with which row i was exchanged, counted from 0; it is the first one with the largest magnitude, for
    complex numbers |re| + |im|. info: int32, one for each matrix: of each it becomes the number of the first pivot that
    is 0, counted from 1, or 0.
    """
    if a.size == 0:
        clear(info, stream)
        return
    count, (m, n) = batch_of(a), a.shape[-2:]
    if a.ndim == 3 and count == 1:
        a = a[0]
    pivots = pivots.reshape((count, min(m, n)))
    caps = a.context.capabilities
    few = are_few(caps, m, n, min(m, n), count)
    how = Columns.predict(caps, m, n, count, a.dtype)
    together = GridColumns.predict(caps, m, n, count, a.dtype)

    def enqueue(a: DeviceNDArray, pivots: DeviceNDArray, info: DeviceNDArray, stream: Stream) -> None:
        if few:
            _factor_few_rows(a, pivots, info, stream)
        elif together is not None:
            factor_together(a.reshape((m, n)), pivots.reshape(min(m, n)), info, stream, together)
        else:
            _factor(a, pivots, info, stream, how, 0)

    repeated(enqueue, "getrf", (a, pivots, info), {"stream": stream}, (how, together, few))


def _factor_few_rows(a: DeviceNDArray, pivots: DeviceNDArray, info: DeviceNDArray, stream: Stream) -> None:
    """Enqueue `factor_few_rows`."""
    kind, types = index_kind(a), number_types(a.dtype)
    m, n = a.shape[-2:]
    factor_few_rows[batch_of(a), 1, stream](
        strided(a, kind), kind(m), kind(n), pivots, info, types.real, types.is_complex
    )


def _factor(
    a: DeviceNDArray, pivots: DeviceNDArray, info: DeviceNDArray, stream: Stream, how: Columns, before: int
) -> None:
    """The factors of all columns; ``before``: rows, and columns, of the whole matrix before these."""
    m, n = a.shape[-2:]
    if n <= how.width:
        _factor_columns(a, pivots, info, stream, how, before)
        return
    half = max(1, -(-min(m, n) // how.width) // 2) * how.width
    left, right = a[..., :half], a[..., half:]
    _factor(left, pivots, info, stream, how, before)
    done = min(half, m)
    _swap(right, pivots, before, before + done, stream, how, first=before)
    solve_triangular(left[..., :done, :done], right[..., :done, :], stream, lower=True, unit_diagonal=True)
    if done == m:
        return
    rest = right[..., done:, :]
    gemm(left[..., done:, :], right[..., :done, :], rest, stream, alpha=-1.0, beta=1.0)
    _factor(rest, pivots, info, stream, how, before + done)
    _swap(left, pivots, before + done, before + min(m, n), stream, how, first=before)


def _factor_columns(
    a: DeviceNDArray, pivots: DeviceNDArray, info: DeviceNDArray, stream: Stream, how: Columns, before: int
) -> None:
    """Enqueue `factor_columns`, or a kernel that has all in registers where a GPU has enough of them."""
    count, (m, n) = batch_of(a), a.shape[-2:]
    kind, types = index_kind(a), number_types(a.dtype)
    small = SmallMatrices.predict(a.context.capabilities, m, n, a.dtype)
    if small is not None and before == 0 and pivots.shape[-1] == min(m, n):
        rows = 1 << small.doublings
        sizes = SmallPlan(
            rows=rows,
            doublings=small.doublings,
            chunk=small.chunk,
            matrices=small.matrices,
            number=types.number,
            real=types.real,
            is_complex=types.is_complex,
            along=order_of(a) == "C",
        )
        factor_small_matrices[-(-count // small.matrices), rows * small.matrices, stream](
            strided(a, kind), kind(m), kind(n), kind(count), pivots, info, sizes
        )
        return
    tall = None if how.elements else TallColumns.predict(a.context.capabilities, m, n, a.dtype)
    if tall is not None:
        shape = TallPlan(how.width, tall.panel, tall.threads, tall.rows, types.number, types.real, types.is_complex)
        factor_tall_columns[count, tall.threads, stream](
            strided(a, kind), kind(m), kind(n), np.int32(before), pivots, info, shape
        )
        return
    pitch = math.isqrt(how.elements) + 1
    copies: Any = None
    if not how.elements:
        pitch = -(-(m + how.lanes) // 16) * 16
        copies = workspaces.of(stream, "columns", (count * n * pitch,), a.dtype)
    plan = LuPlan(
        elements=how.elements,
        panel=how.panel,
        threads=how.threads,
        across=min(32, how.threads),
        lanes=how.lanes,
        matrices=how.matrices,
        cell=vector_type(a.dtype.name, how.lanes) if how.lanes > 1 else types.number,
        number=types.number,
        real=types.real,
        least=float(np.finfo(a.dtype).tiny),
        is_complex=types.is_complex,
        along=order_of(a) == "C",
        lines=order_of(a) == "F",
    )
    factor_columns[-(-count // how.matrices), how.threads * how.matrices, stream](
        strided(a, kind),
        copies,
        kind(pitch),
        kind(m),
        kind(n),
        kind(count),
        np.int32(before),
        pivots,
        info,
        plan,
    )


def _swap(
    a: DeviceNDArray,
    pivots: DeviceNDArray,
    begin: int,
    end: int,
    stream: Stream,
    how: Columns,
    *,
    first: int = 0,
    backward: bool = False,
) -> None:
    """Enqueue `swap_rows` for pivots ``begin`` to ``end``, which count the first row of a as ``first``."""
    if a.size == 0:
        return
    count, (n, m) = batch_of(a), a.shape[-2:]
    kind, along = index_kind(a), order_of(a) == "C"
    plan = SwapPlan(
        chunk=how.chunk,
        columns=how.strip,
        threads=how.strip_threads,
        lanes=how.lanes,
        number=number_types(a.dtype).number,
        backward=backward,
        along=along,
    )
    named = (kind(n), kind(m), kind(count), pivots, np.int32(begin), np.int32(end), np.int32(first))
    grid = -(-m // how.strip) * count
    if how.strip_threads == 1:
        exchange_rows[grid, 1, stream](strided(a, kind), *named, plan)
    else:
        swap_rows[grid, how.strip_threads, stream](strided(a, kind), *named, plan)


def getrs(
    factors: DeviceNDArray,
    pivots: DeviceNDArray,
    b: DeviceNDArray,
    stream: Stream,
    *,
    transpose: bool = False,
    conjugate: bool = False,
) -> None:
    """``b = inv(op(a)) @ b`` with the factors and pivots of a, as `getrf` leaves them; enqueued.

    b: (n, m) or (batch, n, m); op: nothing, the transpose, or that of the conjugate with ``conjugate``, too.
    """
    if b.size == 0:
        return
    n = factors.shape[-1]
    count = batch_of(b)
    pivots = pivots.reshape((count, n))
    how = Columns.predict(b.context.capabilities, n, n, count, b.dtype)
    few = not transpose and are_few(b.context.capabilities, n, b.shape[-1], n, count)

    def enqueue(factors: DeviceNDArray, pivots: DeviceNDArray, b: DeviceNDArray, stream: Stream) -> None:
        if few:
            kind = index_kind(factors, b)
            both = strided(factors, kind), pivots, strided(b, kind)
            solve_few_rows[count, 1, stream](*both, kind(n), kind(b.shape[-1]))
            return
        if not transpose:
            _swap(b, pivots, 0, n, stream, how)
            solve_triangular(factors, b, stream, lower=True, unit_diagonal=True)
            solve_triangular(factors, b, stream, lower=False)
            return
        turned = swapped(factors)
        solve_triangular(turned, b, stream, lower=True, conjugate=conjugate)
        solve_triangular(turned, b, stream, lower=False, unit_diagonal=True, conjugate=conjugate)
        _swap(b, pivots, 0, n, stream, how, backward=True)

    repeated(enqueue, "getrs", (factors, pivots, b), {"stream": stream}, (transpose, conjugate, how, few))


def determinants(factors: DeviceNDArray, pivots: DeviceNDArray, result: DeviceNDArray, stream: Stream) -> None:
    """Determinants of the matrices that `getrf` factored: products of pivots, with the signs of exchanges; enqueued.

    result: one number of the factors' dtype for each matrix; parts of the product neither overflow nor vanish.
    """
    count, n = batch_of(factors), factors.shape[-1]
    kind = index_kind(factors)
    threads = _THREADS if factors.context.capabilities.local_memory_dedicated else 1
    types = number_types(factors.dtype)
    plan = PivotPlan(threads, types.number, types.real, types.is_complex, range_of(types.real))
    multiply_pivots[count, threads, stream](strided(factors, kind), kind(n), pivots.reshape((count, n)), result, plan)
