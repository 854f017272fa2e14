"""Cholesky factors of Hermitian positive definite matrices on the device, and systems with them.

Recursive on CPUs, and for batches: the factor of the upper left half, the lower left quarter from a triangular system,
the lower right one less a product, and its factor (F. Gustavson, "Recursion leads to automatic variable blocking for
dense linear-algebra algorithms", IBM Journal of Research and Development 41(6), 1997).

One large matrix on a GPU, which waits for each launch that does not fill it: a panel of columns, then the rest less its
product. A panel's blocks of columns are three launches each: what those before make of it, the factor of the block on
the diagonal with its inverse, and the product of the rows below with this one.
"""

from __future__ import annotations

import numpy as np

from portagpu.blas.factorisations.cholesky_kernels import CholeskyPlan, factor_cholesky
from portagpu.blas.factorisations.number_types import number_types
from portagpu.blas.factorisations.parameters import Blocks
from portagpu.blas.factorisations.triangle_update import subtract_product
from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.fill import clear
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.level3.conjugates import conjugate_transpose
from portagpu.blas.level3.strided_memory import batch_of, index_kind, strided
from portagpu.blas.level3.syrk import syrk
from portagpu.blas.level3.triangles import kept
from portagpu.blas.level3.triangular_solve import solve_triangular
from portagpu.blas.replay.calls import repeated
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream


def potrf(a: DeviceNDArray, info: DeviceNDArray, stream: Stream, *, lower: bool) -> None:
    """Triangles of Hermitian matrices become their Cholesky factors: a = L L^H, or U^H U; enqueued.

    a: (n, n), or a batch (batch, n, n), of any strides, float32 to complex128; only the triangle that ``lower`` names
    is read and written. info: int32, one for each matrix: of each it becomes the order of the first leading minor that
    is not positive definite, or 0 if all are; the matrix holds anything if one is not.
    """
    if a.size == 0:
        clear(info, stream)
        return
    if a.ndim == 3 and a.shape[0] == 1:
        a = a[0]
    # a^T has the factors L = U^T of conj(a): a triangle that is transposed holds just that
    n = a.shape[-1]
    how = Blocks.predict(a.context.capabilities, n, batch_of(a), a.dtype)

    def enqueue(a: DeviceNDArray, info: DeviceNDArray, stream: Stream) -> None:
        matrix = a if lower else swapped(a)
        if how.wide and n > how.rows:
            _factor_panels(matrix, info, stream, how)
        else:
            _factor(matrix, info, stream, how, 0)

    repeated(enqueue, "potrf", (a, info), {"stream": stream}, (lower, how))


def _factor(a: DeviceNDArray, info: DeviceNDArray, stream: Stream, how: Blocks, before: int) -> None:
    """The lower triangle's factor; ``before``: rows of the whole matrix before this one."""
    n = a.shape[-1]
    if n <= how.rows:
        _factor_block(a, info, stream, how, before)
        return
    half = -(-n // how.rows) // 2 * how.rows
    head, tail = slice(0, half), slice(half, n)
    top, left, rest = a[..., head, head], a[..., tail, head], a[..., tail, tail]
    _factor(top, info, stream, how, before)
    # left = left inv(top^H), which is conj(top) left^T = left^T
    solve_triangular(top, swapped(left), stream, lower=True, conjugate=True)
    subtract_product(rest, left, conjugate_transpose(left, stream), stream, how.update)
    _factor(rest, info, stream, how, before + half)


def _factor_panels(a: DeviceNDArray, info: DeviceNDArray, stream: Stream, how: Blocks) -> None:
    """The factor of one large matrix's lower triangle."""
    n = a.shape[0]
    for begin in range(0, n, how.wide):
        end = min(begin + how.wide, n)
        _factor_panel(a[begin:, begin:end], info, stream, how, begin)
        syrk(a[end:, begin:end], a[end:, end:], stream, lower=True, alpha=-1.0, beta=1.0, hermitian=True)


def _factor_panel(a: DeviceNDArray, info: DeviceNDArray, stream: Stream, how: Blocks, before: int) -> None:
    """The columns of a factor (m, w), m >= w, from those of a matrix that are updated; ``before``: rows before them."""
    m, w = a.shape
    given = kept(a, stream)
    rows = how.rows
    memory = workspaces.of(stream, "inverse", (rows, rows), a.dtype)
    for begin in range(0, w, rows):
        end = min(begin + rows, w)
        columns = given[begin:, begin:end]
        if begin:
            right = conjugate_transpose(a[begin:end, :begin], stream)
            gemm(a[begin:, :begin], right, columns, stream, alpha=-1.0, beta=1.0)
        block = a[begin:end, begin:end]
        _factor_block(block, info, stream, how, before + begin, source=columns[: end - begin], inverse=memory)
        if end < m:
            gemm(columns[rows:], swapped(memory), a[end:, begin:end], stream)


def _factor_block(
    a: DeviceNDArray,
    info: DeviceNDArray,
    stream: Stream,
    how: Blocks,
    before: int,
    *,
    source: DeviceNDArray | None = None,
    inverse: DeviceNDArray | None = None,
) -> None:
    """Enqueue `factor_cholesky`; inverse: memory for the transpose of the inverse's conjugate transpose."""
    count, n = batch_of(a), a.shape[-1]
    kind, types = index_kind(*(x for x in (a, source) if x is not None)), number_types(a.dtype)
    plan = CholeskyPlan(
        rows=how.rows,
        panel=how.panel,
        threads=how.threads,
        groups=how.groups,
        lanes=how.lanes,
        matrices=how.matrices,
        pitch=how.pitch,
        inverts=inverse is not None,
        separate=source is not None,
        cell=vector_type(a.dtype.name, how.lanes) if how.lanes > 1 else types.number,
        number=types.number,
        real=types.real,
        is_complex=types.is_complex,
        along=order_of(a) == "C",
    )
    factor_cholesky[-(-count // how.matrices), how.threads * how.matrices, stream](
        strided(a, kind),
        None if source is None else strided(source, kind),
        None if inverse is None else inverse.ravel(),
        kind(n),
        kind(count),
        np.int32(before),
        info,
        plan,
    )


def potrs(factor: DeviceNDArray, b: DeviceNDArray, stream: Stream, *, lower: bool) -> None:
    """``b = inv(a) @ b`` with the Cholesky factor of a, as `potrf` leaves it; b: (n, m) or (batch, n, m); enqueued."""
    if b.size == 0:
        return

    def enqueue(factor: DeviceNDArray, b: DeviceNDArray, stream: Stream) -> None:
        # one of them is conjugate: conj(U)^T is L
        solve_triangular(factor if lower else swapped(factor), b, stream, lower=True, conjugate=not lower)
        solve_triangular(swapped(factor) if lower else factor, b, stream, lower=False, conjugate=lower)

    repeated(enqueue, "potrs", (factor, b), {"stream": stream}, (lower,))
