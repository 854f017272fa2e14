"""LU factors with partial pivoting of one large matrix on GPUs whose blocks can wait for each other.

Recursive in columns, as `portagpu.blas.factorisations.lu`, down to as many columns as all blocks of a grid factor
together (`lu_grid_kernels`); the rows of all other columns are exchanged after each of these, so that nothing is left
to be exchanged on the way back. Rows are moved fastest where their elements are side by side: large matrices in another
order are copied, and copied back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portagpu.blas.factorisations.lu_grid_kernels import GridPlan, Messages, factor_columns_together
from portagpu.blas.factorisations.number_types import number_types
from portagpu.blas.factorisations.parameters import GridColumns
from portagpu.blas.factorisations.row_move_kernels import MovePlan, move_rows
from portagpu.blas.gemm.core.fill import clear
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.level3.combine import Term, combine
from portagpu.blas.level3.strided_memory import index_kind, strided
from portagpu.blas.level3.triangular_solve import solve_triangular
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_MOVE_THREADS = 256
_WORD = 4  # bytes
_VECTOR = 16
_LARGE = 2048  # rows and columns: elements of a row that are not side by side take longer to move than a copy
_SHARE = 32  # of the device's memory that such a copy may take


@dataclass(frozen=True, slots=True)
class _Factors:
    """What is factored, where pivots and info go, and memory of the kernels."""

    a: DeviceNDArray
    pivots: DeviceNDArray
    info: DeviceNDArray
    moves: DeviceNDArray
    messages: DeviceNDArray
    stream: Stream
    how: GridColumns


def factor_together(
    a: DeviceNDArray, pivots: DeviceNDArray, info: DeviceNDArray, stream: Stream, how: GridColumns
) -> None:
    """``a = P L U``, in place; enqueued. a: (m, n), pivots: int32 (min(m, n)), info: int32 (1), as `lu.getrf` has them.

    ``how`` must be for as many rows as a has.
    """
    caps, (m, n) = a.context.capabilities, a.shape
    if order_of(a) != "C" and min(m, n) >= _LARGE and a.nbytes * _SHARE <= caps.global_memory:
        rows = workspaces.of(stream, "rows", (m, n), a.dtype)
        combine(rows, stream, Term(a))
        factor_together(rows, pivots, info, stream, how)
        combine(a, stream, Term(rows))
        return
    moves = workspaces.of(stream, "moves", (2 * how.width,), np.dtype(np.int32))
    factors = _Factors(a, pivots, info, moves, _messages(how, a, stream), stream, how)
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
        _move_others(factors, first, last)
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
    real_words = np.dtype(types.real).itemsize // _WORD
    lanes = _lanes(part)
    plan = GridPlan(
        width=how.width,
        threads=how.threads,
        doublings=how.doublings,
        rows=how.rows,
        blocks=how.blocks,
        number=types.number,
        real=types.real,
        words=part.itemsize // _WORD,
        real_words=real_words,
        is_complex=types.is_complex,
        lanes=lanes,
        cell=vector_type(part.dtype.name, lanes) if lanes > 1 else types.number,
        polls=factors.a.context.capabilities.cooperative_launch,
    )
    heads = 2 * how.blocks**2 * (real_words + 1)
    messages = Messages(factors.messages[:heads], factors.messages[heads:])
    blocks = -(-m // (how.threads * how.rows))
    factor_columns_together[blocks, how.threads, stream](
        strided(part, kind),
        kind(m),
        kind(n),
        np.int32(first),
        factors.pivots,
        factors.info,
        factors.moves,
        messages,
        plan,
    )


def _lanes(a: DeviceNDArray) -> int:
    """How many elements of a row are a vector that is aligned in memory."""
    is_aligned = order_of(a) == "C" and a.offset % _VECTOR == 0 and a.strides[0] % _VECTOR == 0
    return max(1, _VECTOR // a.itemsize) if is_aligned and a.dtype.kind == "f" else 1


def _messages(how: GridColumns, a: DeviceNDArray, stream: Stream) -> DeviceNDArray:
    """Memory for what blocks tell each other, of zeros: no word has a column's number."""
    real = np.dtype(number_types(a.dtype).real)
    words = how.width * a.itemsize // _WORD + how.blocks * (real.itemsize // _WORD + 1)
    memory = workspaces.of(stream, "messages", (2 * how.blocks * words,), np.dtype(np.uint64))
    clear(memory, stream)
    return memory


def _move_others(factors: _Factors, first: int, last: int) -> None:
    """Enqueue `move_rows` for the pivots of these columns, in all others."""
    a, how = factors.a, factors.how
    others, n = a.shape[1] - (last - first), last - first
    if not others:
        return
    kind = index_kind(a)
    plan = MovePlan(
        rows=how.width,
        columns=how.strip,
        threads=_MOVE_THREADS,
        number=number_types(a.dtype).number,
        along=order_of(a) == "C",
    )
    move_rows[-(-others // how.strip), _MOVE_THREADS, factors.stream](
        strided(a[first:], kind), kind(n), kind(others), kind(first), kind(n), factors.moves, plan
    )
