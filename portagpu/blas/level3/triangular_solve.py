"""Triangular systems with many right sides on device arrays: blocks by substitution or inverses, then products."""

from __future__ import annotations

import numpy as np

from portagpu.blas.gemm.engine import gemm
from portagpu.blas.gemm.scaling import scale as scaled
from portagpu.blas.level3.column_solve import ColumnBlocks, PackedTriangles
from portagpu.blas.level3.conjugates import conjugate_into
from portagpu.blas.level3.diagonal_inverses import Inversion, diagonal_inverses
from portagpu.blas.level3.strided_memory import batch_of
from portagpu.blas.level3.substitution import Substitution, substitute_blocks
from portagpu.blas.level3.triangles import kept
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.stream import Stream


def solve_triangular(
    a: DeviceNDArray,
    b: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool,
    unit_diagonal: bool = False,
    conjugate: bool = False,
    alpha: complex = 1.0,
    out: DeviceNDArray | None = None,
) -> None:
    """``out = inv(a) @ (alpha * b)``, with the conjugate of a if ``conjugate``; enqueued.

    a: triangles (n, n), or a batch (batch, n, n); b: right sides (n, m) or (batch, n, m), which the solutions replace
    unless there is an ``out`` for them, of the same shape; all of one dtype, float32 to complex128, and of any strides,
    which must not overlap. A batch may share one ``a`` (two axes, or batch stride 0). Only the triangle that ``lower``
    names is read, without its diagonal if ``unit_diagonal``; with ``alpha`` 0 neither a nor b is read. Zeros on the
    diagonal give what division by them does.

    Transposed triangles are views (``a.T``, with the other ``lower``), and triangles on the right side are transposed
    problems: X op(A) = B is op(A)^T X^T = B^T.
    """
    if b.size == 0:
        return
    if alpha == 0:
        scaled(b if out is None else out, 0.0, stream)
        return
    if a.ndim == 2 and b.ndim == 3:
        a = a.broadcast_to((b.shape[0], *a.shape))
    if b.ndim == 3 and b.shape[0] == 1:
        a, b, out = a[0], b[0], None if out is None or out is b else out[0]
    if out is None:
        out = b
    n, m = b.shape[-2:]
    how = Substitution.predict(b.context.capabilities, n, m, batch_of(b), b.dtype)
    inversion = Inversion.predict(b.context.capabilities, n, batch_of(b), how.rows)
    conjugate = conjugate and b.dtype.kind == "c"
    is_turned = conjugate and n > how.rows
    if is_turned:  # conj(A) X = B is A conj(X) = conj(B): products have no conjugates
        alpha, conjugate = complex(np.conj(alpha)), False
    if inversion is not None:
        _solve_large(a, kept(b, stream, conjugate=is_turned), out, stream, inversion, lower, unit_diagonal, alpha)
    else:
        if is_turned:
            conjugate_into(b, out, stream)
        elif out is not b:
            copy_strided(b, out, stream)
        columns = ColumnBlocks.predict(b.context.capabilities, out)
        if columns is not None:
            _solve_in_columns(a, out, stream, columns, how, lower, unit_diagonal, alpha)
        else:
            _solve(a, out, stream, how, lower, unit_diagonal, conjugate, alpha)
    if is_turned:
        conjugate_into(out, out, stream)


def _solve(
    a: DeviceNDArray,
    b: DeviceNDArray,
    stream: Stream,
    how: Substitution,
    lower: bool,
    unit: bool,
    conjugate: bool,
    alpha: complex,
) -> None:
    """By substitution, in place."""
    n = b.shape[-2]
    if n <= how.rows:
        substitute_blocks(a, b, stream, how, lower=lower, unit=unit, conjugate=conjugate, alpha=alpha)
        return
    half = -(-n // how.rows) // 2 * how.rows
    done, rest = _in_order(half, n, lower)
    _solve(a[..., done, done], b[..., done, :], stream, how, lower, unit, conjugate, alpha)
    gemm(a[..., rest, done], b[..., done, :], b[..., rest, :], stream, alpha=-1.0, beta=alpha)
    _solve(a[..., rest, rest], b[..., rest, :], stream, how, lower, unit, conjugate, 1.0)


def _solve_in_columns(
    a: DeviceNDArray,
    b: DeviceNDArray,
    stream: Stream,
    how: ColumnBlocks,
    by: Substitution,
    lower: bool,
    unit: bool,
    alpha: complex,
) -> None:
    """By blocks of rows of columns that are side by side in memory, in place; what is left over by substitution."""
    n = b.shape[0]
    done, rest = _in_order(n // how.rows * how.rows, n, lower)
    packed = PackedTriangles(a[done, done], stream, how, lower=lower, unit=unit)
    _solve_packed(packed, 0, a[done, done], b[done], stream, lower, alpha)
    if rest.start < rest.stop:
        gemm(a[rest, done], b[done], b[rest], stream, alpha=-1.0, beta=alpha)
        _solve(a[rest, rest], b[rest], stream, by, lower, unit, False, 1.0)


def _solve_packed(
    packed: PackedTriangles,
    first: int,
    a: DeviceNDArray,
    b: DeviceNDArray,
    stream: Stream,
    lower: bool,
    alpha: complex,
) -> None:
    """With the packed triangles from number ``first`` on, half of the rows after the other half."""
    n, height = b.shape[0], packed.how.height
    if n <= height:
        packed.solve(first, b, np.real(alpha))
        return
    half = -(-n // height) // 2
    done, rest = _in_order(half * height, n, lower)
    _solve_packed(packed, first, a[done, done], b[done], stream, lower, alpha)
    gemm(a[rest, done], b[done], b[rest], stream, alpha=-1.0, beta=alpha)
    _solve_packed(packed, first + half, a[rest, rest], b[rest], stream, lower, 1.0)


def _solve_large(
    a: DeviceNDArray,
    work: DeviceNDArray,
    out: DeviceNDArray,
    stream: Stream,
    how: Inversion,
    lower: bool,
    unit: bool,
    alpha: complex,
) -> None:
    """By inverses of blocks, and what is left after these; ``work``: the right sides, which are lost."""
    done, rest = _in_order(how.rows * how.blocks, a.shape[0], lower)
    by = Substitution.predict(a.context.capabilities, a.shape[0], how.least, 1, a.dtype)
    inverses = diagonal_inverses(a[done, done], stream, how, by, lower=lower, unit=unit)
    _solve_blocks(a[done, done], inverses, work[done], out[done], stream, lower, alpha)
    if rest.start < rest.stop:
        gemm(a[rest, done], out[done], work[rest], stream, alpha=-1.0, beta=alpha)
        solve_triangular(a[rest, rest], work[rest], stream, lower=lower, unit_diagonal=unit, out=out[rest])


def _solve_blocks(
    a: DeviceNDArray,
    inverses: DeviceNDArray,
    work: DeviceNDArray,
    out: DeviceNDArray,
    stream: Stream,
    lower: bool,
    alpha: complex,
) -> None:
    """Blocks whose inverses are known, half of them after the other half."""
    count, rows = inverses.shape[:2]
    if count == 1:
        gemm(inverses[0], work, out, stream, alpha=alpha)
        return
    half = count // 2
    done, rest = _in_order(half * rows, count * rows, lower)
    first, second = _in_order(half, count, lower)
    _solve_blocks(a[done, done], inverses[first], work[done], out[done], stream, lower, alpha)
    gemm(a[rest, done], out[done], work[rest], stream, alpha=-1.0, beta=alpha)
    _solve_blocks(a[rest, rest], inverses[second], work[rest], out[rest], stream, lower, 1.0)


def _in_order(count: int, n: int, lower: bool) -> tuple[slice, slice]:
    """The ``count`` of n rows that are found first, and the others: an upper triangle's are the last."""
    return (slice(0, count), slice(count, n)) if lower else (slice(n - count, n), slice(0, n - count))
