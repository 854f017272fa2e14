"""Inverses of triangular matrices and of positive definite ones by their Cholesky factors, on the device."""

from __future__ import annotations

from portagpu.blas.factorisations.cholesky import potrs
from portagpu.blas.factorisations.repeated_calls import repeated
from portagpu.blas.factorisations.triangles import copy_triangle
from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.level3.triangles import identity
from portagpu.blas.level3.triangular_solve import solve_triangular
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
        _invert(a if lower else swapped(a), stream, unit_diagonal)

    repeated(enqueue, "trtri", (a,), stream, (lower, unit_diagonal))


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


def potri(factor: DeviceNDArray, stream: Stream, *, lower: bool) -> None:
    """Triangles of the inverses of positive definite matrices, in place of their Cholesky factors; enqueued."""
    if factor.size == 0:
        return
    whole = device_array(factor.shape, factor.dtype, context=factor.context)
    identity(whole, stream)
    potrs(factor, whole, stream, lower=lower)
    copy_triangle(whole, factor, stream, lower=lower)
