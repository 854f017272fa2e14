"""What becomes of the triangle that a factor does not fill."""

from __future__ import annotations

from portagpu.blas.factorisations.triangle_kernels import clear_triangles, copy_triangles, find_first_zero
from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.fill import clear
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.level3.strided_memory import batch_of, index_kind, strided
from portagpu.blas.level3.tiles import along, threads_for, tiles_of_matrices
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_THREADS = 128


def clear_beyond(a: DeviceNDArray, stream: Stream, *, lower: bool, unit_diagonal: bool = False) -> None:
    """Enqueue zeros beyond lower, or upper, triangles, and ones on their diagonals if ``unit_diagonal``."""
    if a.size == 0:
        return
    if order_of(a) == "F":
        a, lower = swapped(a), not lower
    n, m = a.shape[-2:]
    kind, threads, count = index_kind(a), threads_for(a.context.capabilities), batch_of(a)
    clear_triangles[tiles_of_matrices(a), threads.total, stream](
        strided(a, kind), kind(n), kind(m), kind(count), lower, unit_diagonal, along(a), threads
    )


def first_zero(a: DeviceNDArray, info: DeviceNDArray, stream: Stream) -> None:
    """Enqueue for info the number of the first zero on each matrix's diagonal, counted from 1, or 0."""
    if a.size == 0:
        clear(info, stream)
        return
    kind = index_kind(a)
    threads = _THREADS if a.context.capabilities.local_memory_dedicated else 1
    find_first_zero[batch_of(a), threads, stream](strided(a, kind), kind(a.shape[-1]), info, threads)


def copy_triangle(
    source: DeviceNDArray, target: DeviceNDArray, stream: Stream, *, lower: bool, diagonal: bool = True
) -> None:
    """Enqueue copies of the lower, or upper, triangles of square matrices, with or without their diagonals."""
    if target.size == 0:
        return
    if not lower:
        source, target = swapped(source), swapped(target)
    n = target.shape[-1]
    kind, threads, count = index_kind(source, target), threads_for(target.context.capabilities), batch_of(target)
    copy_triangles[tiles_of_matrices(target), threads.total, stream](
        strided(source, kind), strided(target, kind), kind(n), kind(count), diagonal, threads
    )
