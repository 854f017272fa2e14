"""Products of which one triangle is computed: halves of halves as batches of products, the diagonal's blocks apart."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.blas.gemm.batching import multiply
from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.gemm.triangles import multiply_triangle
from portagpu.blas.level3.triangle_kernels import SUMS
from portagpu.blas.level3.triangles import scratch, update
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_LEAST = 128  # rows of a block on the diagonal, of which half is computed in vain
_MOST = 16  # such blocks
_ALIGNED = 16  # rows of blocks are multiples


@dataclass(frozen=True, slots=True, kw_only=True)
class Halving:
    """How a triangle is cut: ``blocks`` (a power of two) on the diagonal of ``rows`` rows each; the rest is a strip."""

    rows: int
    blocks: int

    @classmethod
    def predict(cls, n: int) -> Halving:
        """For n rows: few launches for small triangles, a sixteenth more operations than needed for large ones."""
        blocks = 1
        while blocks < _MOST and n >= 2 * blocks * _LEAST:
            blocks *= 2
        if blocks == 1:
            return cls(rows=n, blocks=1)
        return cls(rows=n // blocks // _ALIGNED * _ALIGNED, blocks=blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """``alpha * left @ right``: left (n, k), right (k, n), or batches of them with the same leading axes."""

    left: DeviceNDArray
    right: DeviceNDArray
    alpha: complex

    def part(self, first: int, last: int, begin: int, end: int) -> Terms:
        """Rows from ``first`` to ``last``, columns from ``begin`` to ``end`` of the product."""
        return Terms(left=self.left[..., first:last, :], right=self.right[..., :, begin:end], alpha=self.alpha)

    @property
    def transposed(self) -> Terms:
        """The transpose of the product."""
        return Terms(left=swapped(self.right), right=swapped(self.left), alpha=self.alpha)


def triangular_product(
    terms: tuple[Terms, ...],
    c: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool,
    beta: complex = 0.0,
    added: int = SUMS,
    real_diagonal: bool = False,
) -> None:
    """``c = sum of the terms + beta * c`` in the triangle that ``lower`` names; enqueued.

    c: (n, n), or with leading axes, any strides; it must not overlap operands, which have terms (k > 0). Nothing else
    of c is written, and with ``beta`` 0 nothing read. added: `triangle_kernels.WITH_TRANSPOSED` (``WITH_ADJOINT``)
    where on the diagonal's blocks the second term is the (conjugate) transpose of the first one.
    """
    if c.size == 0:
        return
    if not lower:
        flipped = tuple(term.transposed for term in terms)
        c = swapped(c)
        triangular_product(flipped, c, stream, lower=True, beta=beta, added=added, real_diagonal=real_diagonal)
        return
    if _by_triangles(terms, c, stream, beta):
        return
    n = c.shape[-1]
    how = Halving.predict(n)
    _diagonal(terms, c, stream, how, beta, added, real_diagonal)
    size = how.rows
    while size < how.rows * how.blocks:
        count = how.rows * how.blocks // (2 * size)
        target = blocks_of(c, (size, 0), (size, size), 2 * size, count)
        factor = beta
        for term in terms:
            left = blocks_of(term.left, (size, 0), (size, term.left.shape[-1]), (2 * size, 0), count)
            right = blocks_of(term.right, (0, 0), (term.right.shape[-2], size), (0, 2 * size), count)
            multiply(left, right, target, stream, alpha=term.alpha, beta=factor, precision="")
            factor = 1.0
        size *= 2
    done = how.rows * how.blocks
    if done == n:
        return
    factor = beta
    for term in terms:
        part = term.part(done, n, 0, done)
        multiply(part.left, part.right, c[..., done:, :done], stream, alpha=part.alpha, beta=factor, precision="")
        factor = 1.0
    rest = tuple(term.part(done, n, done, n) for term in terms)
    corner = c[..., done:, done:]
    triangular_product(rest, corner, stream, lower=True, beta=beta, added=added, real_diagonal=real_diagonal)


def _by_triangles(terms: tuple[Terms, ...], c: DeviceNDArray, stream: Stream, beta: complex) -> bool:
    """Enqueue a lower triangle's terms one after the other, if a variant computes triangles."""
    factor = beta
    for term in terms if c.ndim == 2 else ():
        if not multiply_triangle(term.left, term.right, c, stream, lower=True, alpha=term.alpha, beta=factor):
            break  # of the first one, or never: terms have the same shapes
        factor = 1.0
    else:
        return c.ndim == 2
    return False


def _diagonal(
    terms: tuple[Terms, ...],
    c: DeviceNDArray,
    stream: Stream,
    how: Halving,
    beta: complex,
    added: int,
    real_diagonal: bool,
) -> None:
    """The blocks on the diagonal: whole ones in scratch memory, of which the triangles are taken."""
    rows, blocks = how.rows, how.blocks
    target = blocks_of(c, (0, 0), (rows, rows), rows, blocks)
    sums = scratch(stream, "sums", target.shape, c.dtype)
    if order_of(c[(0,) * (c.ndim - 2)]) == "F":
        sums = swapped(sums)
    factor = 0.0
    for term in terms if added == SUMS else terms[:1]:
        left = blocks_of(term.left, (0, 0), (rows, term.left.shape[-1]), (rows, 0), blocks)
        right = blocks_of(term.right, (0, 0), (term.right.shape[-2], rows), (0, rows), blocks)
        multiply(left, right, sums, stream, alpha=term.alpha, beta=factor, precision="")
        factor = 1.0
    update(target, stream, lower=True, sums=sums, added=added, beta=beta, real_diagonal=real_diagonal)


def blocks_of(
    matrix: DeviceNDArray, first: tuple[int, int], extents: tuple[int, int], step: int | tuple[int, int], count: int
) -> DeviceNDArray:
    """Blocks of a matrix, or of each of a batch, ``step`` rows and columns apart: a new axis before the last two."""
    down, right = matrix.strides[-2:]
    rows, columns = (step, step) if isinstance(step, int) else step
    place = first[0] * down + first[1] * right
    outer, strides = matrix.shape[:-2], matrix.strides[:-2]
    if count == 1:
        return with_strides(matrix, (*outer, *extents), (*strides, down, right), first=place)
    apart = rows * down + columns * right
    return with_strides(matrix, (*outer, count, *extents), (*strides, apart, down, right), first=place)
