"""Sums of two matrices, transposed copies and products with diagonal matrices on device arrays; enqueued."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.level3.combine_kernels import (
    COLUMNS,
    NO_DIAGONAL,
    NO_TILE,
    OWN_TILE,
    ROWS,
    SHARED_TILE,
    Addend,
    Combination,
)
from portagpu.blas.level3.combine_kernels import combine as combine_tiles
from portagpu.blas.level3.strided_memory import batch_of, index_kind, strided
from portagpu.blas.level3.tiles import along, factor_form, number_of, threads_for, tiles_of_matrices
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream


@dataclass(frozen=True, slots=True)
class Term:
    """``factor * matrix`` of a sum, or of its complex conjugate; a transposed matrix is a view of it."""

    matrix: DeviceNDArray
    factor: complex = 1.0
    conjugate: bool = False


def combine(
    target: DeviceNDArray,
    stream: Stream,
    first: Term,
    second: Term | None = None,
    *,
    diagonal: DeviceNDArray | None = None,
    left: bool = True,
) -> None:
    """``target = first + second``; its rows times ``diagonal``, or its columns unless ``left``; enqueued.

    target and the terms' matrices: (m, n), or with the same leading axes, any strides; diagonal: (m) or (n), with the
    same leading axes. The target may be the very same view as a term's matrix, or not overlap it. Matrices with a
    factor of 0 are not read.
    """
    if target.size == 0:
        return
    if target.ndim > 3:
        for i, part in enumerate(target):
            inner = None if second is None else Term(second.matrix[i], second.factor, second.conjugate)
            term = Term(first.matrix[i], first.factor, first.conjugate)
            combine(part, stream, term, inner, diagonal=None if diagonal is None else diagonal[i], left=left)
        return
    other = Term(first.matrix, 0.0) if second is None else second
    is_complex = target.dtype.kind == "c"
    target_along = along(target)

    threads = threads_for(target.context.capabilities)

    def addend(term: Term) -> Addend:
        form, is_along = factor_form(term.factor), along(term.matrix)
        return Addend(form, is_along, is_along != target_along and form > 0, term.conjugate and is_complex)

    terms = addend(first), addend(other)
    turned = SHARED_TILE if threads.total > 1 else OWN_TILE
    plan = Combination(
        threads=threads,
        number=np.dtype(str(target.dtype)).type,
        is_complex=is_complex,
        first=terms[0],
        second=terms[1],
        tile=turned if any(term.across for term in terms) else NO_TILE,
        diagonal=NO_DIAGONAL if diagonal is None else ROWS if left else COLUMNS,
        target_along=target_along,
    )
    factors = first.matrix if diagonal is None else _column(diagonal)
    kind = index_kind(target, first.matrix, other.matrix, factors)
    rows, columns = target.shape[-2:]
    count = batch_of(target)
    combine_tiles[tiles_of_matrices(target), threads.total, stream](
        strided(first.matrix, kind),
        strided(other.matrix, kind),
        strided(factors, kind),
        strided(target, kind),
        (kind(rows), kind(columns), kind(count)),
        number_of(first.factor, target.dtype),
        number_of(other.factor, target.dtype),
        plan,
    )


def _column(vector: DeviceNDArray) -> DeviceNDArray:
    """A vector, or each of a batch, as a matrix with one column."""
    return with_strides(vector, (*vector.shape, 1), (*vector.strides, vector.itemsize))
