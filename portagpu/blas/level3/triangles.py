"""Triangles of matrices on device arrays: expanded to full matrices, updated, scaled, cleared; enqueued."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.level3.conjugates import conjugate_into
from portagpu.blas.level3.strided_memory import batch_of, index_kind, strided
from portagpu.blas.level3.tiles import along, factor_form, number_of, threads_for, tiles_of_matrices, tiles_of_triangle
from portagpu.blas.level3.triangle_kernels import (
    NOTHING,
    SUMS,
    Expansion,
    Update,
    expand_triangle,
    set_identity,
    update_triangle,
)
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.stream import Stream

_LINE = 64  # bytes
_SAME_SETS = 4096  # bytes: rows so far apart compete for the same sets of a CPU's first cache


def scratch(stream: Stream, role: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceNDArray:
    """An uninitialised matrix, or a batch, with aligned rows; the stream's until the next one for the same role."""
    *outer, rows, columns = shape
    pad = max(1, _LINE // dtype.itemsize)
    pitch = -(-columns // pad) * pad
    if pitch * dtype.itemsize % _SAME_SETS == 0:
        pitch += pad
    made = workspaces.of(stream, f"level 3 {role}", (*outer, rows, pitch), dtype)
    part: DeviceNDArray = made[..., :columns]
    return part


def kept(matrix: DeviceNDArray, stream: Stream, *, conjugate: bool = False) -> DeviceNDArray:
    """A copy in scratch memory, in the matrix's order; ``conjugate``: its conjugate."""
    is_turned = order_of(matrix[(0,) * (matrix.ndim - 2)]) == "F"
    lines = swapped(matrix) if is_turned else matrix
    made = scratch(stream, "given", lines.shape, lines.dtype)
    if conjugate:
        conjugate_into(lines, made, stream)
    else:
        copy_strided(lines, made, stream)
    return swapped(made) if is_turned else made


def identity(a: DeviceNDArray, stream: Stream) -> None:
    """Enqueue ``a = 1`` for matrices, or a batch of them."""
    if a.size == 0:
        return
    if not along(a):
        a = swapped(a)
    n, m = a.shape[-2:]
    kind, threads, count = index_kind(a), threads_for(a.context.capabilities), batch_of(a)
    set_identity[tiles_of_matrices(a), threads.total, stream](
        strided(a, kind), kind(n), kind(m), kind(count), along(a), threads
    )


def expanded(
    a: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool,
    beyond: int,
    unit: bool = False,
    conjugate: bool = False,
    role: str = "expanded",
) -> DeviceNDArray:
    """The full matrices that triangles stand for, in scratch memory, in a's order: products know it already.

    a: (n, n), or with leading axes, any strides; only the triangle that ``lower`` names is read. beyond: of
    `triangle_kernels.SYMMETRIC` and so on. ``unit``: ones on the diagonal, which is not read. ``conjugate``: of all.
    """
    full = scratch(stream, role, a.shape, a.dtype)
    if order_of(a[(0,) * (a.ndim - 2)]) == "F":
        full = swapped(full)
    _expand(a, full, stream, lower=lower, beyond=beyond, unit=unit, conjugate=conjugate)
    return full


def _expand(
    a: DeviceNDArray,
    full: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool,
    beyond: int,
    unit: bool,
    conjugate: bool,
) -> None:
    """`expanded`, into memory that there is."""
    if a.size == 0:
        return
    if a.ndim > 3:
        for i in range(a.shape[0]):
            _expand(a[i], full[i], stream, lower=lower, beyond=beyond, unit=unit, conjugate=conjugate)
        return
    source, target = (a, full) if lower else (swapped(a), swapped(full))
    n = a.shape[-1]
    kind = index_kind(source, target)
    is_complex = a.dtype.kind == "c"
    threads = threads_for(a.context.capabilities)
    plan = Expansion(
        threads=threads,
        number=np.dtype(str(a.dtype)).type,
        beyond=beyond if is_complex or beyond != 1 else 0,
        unit=unit,
        conjugate=conjugate and is_complex,
        is_complex=is_complex,
        source_along=along(source),
        full_along=along(target),
    )
    expand_triangle[tiles_of_triangle(n) * batch_of(a), threads.total, stream](
        strided(source, kind), strided(target, kind), kind(n), kind(batch_of(a)), plan
    )


def update(
    c: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool,
    sums: DeviceNDArray | None = None,
    added: int = SUMS,
    beta: complex = 0.0,
    strict: bool = False,
    real_diagonal: bool = False,
) -> None:
    """``c = sums + beta * c`` in the triangle that ``lower`` names, ``c = beta * c`` without sums.

    c, sums: (n, n), or with leading axes, any strides. added: of `triangle_kernels.SUMS` and so on: whether the sums'
    transpose is added, too. ``strict``: without the diagonal. ``real_diagonal``: imaginary parts on the diagonal are
    not read, and become zero. With ``beta`` 0, c is not read.
    """
    if c.size == 0:
        return
    if c.ndim > 3:
        told: dict[str, Any] = {"lower": lower, "added": added, "beta": beta, "strict": strict}
        for i in range(c.shape[0]):
            own = None if sums is None else sums[i]
            update(c[i], stream, sums=own, real_diagonal=real_diagonal, **told)
        return
    target, source = c if lower else swapped(c), None if sums is None else sums if lower else swapped(sums)
    read = target if source is None else source
    n, kind = c.shape[-1], index_kind(target, read)
    is_complex = c.dtype.kind == "c"
    threads = threads_for(c.context.capabilities)
    plan = Update(
        threads=threads,
        number=np.dtype(str(c.dtype)).type,
        added=NOTHING if source is None else added,
        beta_form=factor_form(beta),
        strict=strict,
        real_diagonal=real_diagonal and is_complex,
        is_complex=is_complex,
        sums_along=along(read),
        target_along=along(target),
    )
    update_triangle[tiles_of_triangle(n) * batch_of(c), threads.total, stream](
        strided(read, kind), strided(target, kind), kind(n), kind(batch_of(c)), number_of(beta, c.dtype), plan
    )
