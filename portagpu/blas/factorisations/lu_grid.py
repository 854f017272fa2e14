"""LU factors with partial pivoting of one large matrix on GPUs whose blocks can wait for each other.

Recursive in columns, as `portagpu.blas.factorisations.lu`, down to as many columns as all blocks of a grid factor
together (`lu_grid_kernels`); the rows of all other columns are exchanged after each of these, so that nothing is left
to be exchanged on the way back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portagpu.blas.factorisations.lu_grid_kernels import Candidates, GridPlan, factor_columns_together
from portagpu.blas.factorisations.number_types import number_types
from portagpu.blas.factorisations.parameters import GridColumns
from portagpu.blas.factorisations.row_swap_kernels import SwapPlan, swap_rows
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.level3.strided_memory import index_kind, strided
from portagpu.blas.level3.triangular_solve import solve_triangular
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_SWAP_THREADS = 128


@dataclass(frozen=True, slots=True)
class _Factors:
    """What is factored, and where pivots and info go; a: (m, n), m >= n."""

    a: DeviceNDArray
    pivots: DeviceNDArray
    info: DeviceNDArray
    stream: Stream
    how: GridColumns


def factor_together(
    a: DeviceNDArray, pivots: DeviceNDArray, info: DeviceNDArray, stream: Stream, how: GridColumns
) -> None:
    """``a = P L U``, in place; enqueued. a: (m, n), pivots: int32 (min(m, n)), info: int32 (1), as `lu.getrf` has them.

    ``how`` must be for as many rows as a has.
    """
    m, n = a.shape
    factors = _Factors(a, pivots, info, stream, how)
    square = min(m, n)
    _factor(factors, 0, square)
    if n > m:
        solve_triangular(a[:, :m], a[:, m:], stream, lower=True, unit_diagonal=True)


def _factor(factors: _Factors, first: int, last: int) -> None:
    """Columns from ``first`` to ``last``, below the rows of those that are finished."""
    a, stream, width = factors.a, factors.stream, factors.how.width
    n = last - first
    if n <= width:
        _factor_columns(factors, first, last)
        _exchange_others(factors, first, last)
        return
    middle = first + -(-n // width) // 2 * width
    _factor(factors, first, middle)
    tops = a[first:middle, middle:last]
    solve_triangular(a[first:middle, first:middle], tops, stream, lower=True, unit_diagonal=True)
    gemm(a[middle:, first:middle], tops, a[middle:, middle:last], stream, alpha=-1.0, beta=1.0)
    _factor(factors, middle, last)


def _factor_columns(factors: _Factors, first: int, last: int) -> None:
    """Enqueue `factor_columns_together`."""
    part, how, stream = factors.a[first:, first:last], factors.how, factors.stream
    m, n = part.shape
    kind, types = index_kind(factors.a), number_types(part.dtype)
    blocks = -(-m // (how.threads * how.rows))
    most = -(-factors.a.shape[0] // (how.threads * how.rows))
    found = Candidates(
        workspaces.of(stream, "pivots", (2 * most,), np.dtype(types.real)),
        workspaces.of(stream, "pivots' rows", (2 * most,), np.dtype(kind)),
        workspaces.of(stream, "pivots' lines", (2 * (most + 1) * how.width,), part.dtype),
    )
    plan = GridPlan(
        width=how.width,
        threads=how.threads,
        doublings=how.doublings,
        rows=how.rows,
        number=types.number,
        real=types.real,
        is_complex=types.is_complex,
    )
    factor_columns_together[blocks, how.threads, stream](
        strided(part, kind), kind(m), kind(n), np.int32(first), factors.pivots, factors.info, found, plan
    )


def _exchange_others(factors: _Factors, first: int, last: int) -> None:
    """Enqueue `swap_rows` for the pivots of these columns, in all others."""
    a = factors.a
    m, others = a.shape[0], a.shape[1] - (last - first)
    if not others:
        return
    kind = index_kind(a)
    plan = SwapPlan(
        chunk=factors.how.width,
        columns=factors.how.strip,
        threads=_SWAP_THREADS,
        lanes=1,
        number=number_types(a.dtype).number,
        backward=False,
        along=order_of(a) == "C",
    )
    pivots = factors.pivots.reshape((1, factors.pivots.size))
    swap_rows[-(-others // factors.how.strip), _SWAP_THREADS, factors.stream](
        strided(a, kind),
        kind(m),
        kind(others),
        kind(1),
        pivots,
        np.int32(first),
        np.int32(last),
        np.int32(0),
        kind(first),
        kind(last - first),
        plan,
    )
