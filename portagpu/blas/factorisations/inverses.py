"""Inverses of triangular matrices and of positive definite ones by their Cholesky factors, on the device."""

from __future__ import annotations

from portagpu.blas.factorisations.cholesky import potrs
from portagpu.blas.factorisations.triangles import copy_triangle
from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.level3.diagonal_inverses import Inversion, invert_blocks, join_inverses
from portagpu.blas.level3.strided_memory import batch_of
from portagpu.blas.level3.substitution import Substitution, substitute_blocks
from portagpu.blas.level3.triangles import identity
from portagpu.blas.level3.triangular_solve import solve_triangular
from portagpu.blas.replay.calls import repeated
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream

_ROWS = 64  # of triangles that are inverted at once


def trtri(a: DeviceNDArray, stream: Stream, *, lower: bool, unit_diagonal: bool = False) -> None:
    """Triangles become their inverses, in place; enqueued.

    a: (n, n), or a batch, of any strides; only the triangle that ``lower`` names is read and written, without its
    diagonal if ``unit_diagonal``. Zeros on the diagonal give what division by them does.
    """
    if a.size == 0:
        return

    def enqueue(a: DeviceNDArray, stream: Stream) -> None:
        triangle = a if lower else swapped(a)
        if Inversion.predict(a.context.capabilities, a.shape[-1], batch_of(a), _ROWS) is not None and a.ndim == 2:
            _invert_apart(triangle, stream, unit_diagonal)
        else:
            _invert(triangle, stream, unit_diagonal)

    repeated(enqueue, "trtri", (a,), {"stream": stream}, (lower, unit_diagonal))


def _invert(a: DeviceNDArray, stream: Stream, unit: bool) -> None:
    """A lower triangle's inverse."""
    n = a.shape[-1]
    if n <= _ROWS:
        inverse = workspaces.of(stream, "inverse", a.shape, a.dtype)
        identity(inverse, stream)
        solve_triangular(a, inverse, stream, lower=True, unit_diagonal=unit)
        copy_triangle(inverse, a, stream, lower=True, diagonal=not unit)
        return
    half = -(-n // _ROWS) // 2 * _ROWS
    head, tail = slice(0, half), slice(half, n)
    top, left, rest = a[..., head, head], a[..., tail, head], a[..., tail, tail]
    solve_triangular(rest, left, stream, lower=True, unit_diagonal=unit, alpha=-1.0)
    solve_triangular(swapped(top), swapped(left), stream, lower=False, unit_diagonal=unit)
    _invert(top, stream, unit)
    _invert(rest, stream, unit)


def _invert_apart(a: DeviceNDArray, stream: Stream, unit: bool) -> None:
    """A large lower triangle's inverse on a GPU: in scratch memory with zeros beyond it, so that all else are products.

    These are twice as many operations as in place, and a few launches, each of which fills the device.
    """
    inverse = workspaces.of(stream, "inverse", a.shape, a.dtype)
    identity(inverse, stream)
    n = a.shape[0]
    by = Substitution.predict(a.context.capabilities, n, _ROWS, 1, a.dtype)
    _invert_into(a, inverse, stream, by, unit)
    copy_triangle(inverse, a, stream, lower=True, diagonal=not unit)


def _invert_into(a: DeviceNDArray, inverse: DeviceNDArray, stream: Stream, by: Substitution, unit: bool) -> None:
    """The largest power of two of blocks, by levels; then what is left, and the square beside both."""
    n, rows = a.shape[0], by.rows
    if n <= rows:
        substitute_blocks(a, inverse, stream, by, lower=True, unit=unit)
        return
    rows <<= (n // rows).bit_length() - 1
    head, tail = slice(0, rows), slice(rows, n)
    how = Inversion(least=by.rows, rows=rows, blocks=1)
    invert_blocks(a[head, head], inverse[head, head], stream, how, by, lower=True, unit=unit)
    if rows < n:
        _invert_into(a[tail, tail], inverse[tail, tail], stream, by, unit)
        halves = inverse[head, head], inverse[tail, tail]
        join_inverses(a[tail, head], *halves, inverse[tail, head], stream)


def potri(factor: DeviceNDArray, stream: Stream, *, lower: bool) -> None:
    """Triangles of the inverses of positive definite matrices, in place of their Cholesky factors; enqueued."""
    if factor.size == 0:
        return
    whole = device_array(factor.shape, factor.dtype, context=factor.context)
    identity(whole, stream)
    potrs(factor, whole, stream, lower=lower)
    copy_triangle(whole, factor, stream, lower=lower)
