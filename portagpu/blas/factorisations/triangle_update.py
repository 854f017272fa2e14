"""``c -= x @ y`` in one triangle of a square matrix, by products of matrices."""

from __future__ import annotations

from portagpu.blas.factorisations.triangle_kernels import subtract_triangles
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.gemm.triangles import multiply_triangle
from portagpu.blas.level3.strided_memory import Strided, index_kind, strided
from portagpu.blas.level3.tiles import threads_for, tiles_of_matrices
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream


def subtract_product(c: DeviceNDArray, x: DeviceNDArray, y: DeviceNDArray, stream: Stream, size: int) -> None:
    """Enqueue ``c -= x @ y`` in the lower triangle of c, which alone is read and written.

    c: (n, n), x: (n, k), y: (k, n), or batches of them. The triangle is cut into squares, those of one size (``size``,
    twice that, ...) in one batch, and triangles of ``size`` rows on the diagonal, which are subtracted from a whole
    product; or a variant leaves out what is beyond the triangle.
    """
    if c.ndim == 2 and multiply_triangle(x, y, c, stream, lower=True, alpha=-1.0, beta=1.0):
        return
    n = c.shape[-1]
    if c.ndim == 3:
        _subtract_from_batch(c, x, y, stream, size)
        return
    square = size
    while square < n:
        pairs = n // (2 * square)
        if pairs:
            down, right = c.strides
            step = 2 * square
            wide = (pairs, square, square)
            x_down, y_right = x.strides[0], y.strides[1]
            gemm(
                with_strides(x, (pairs, square, x.shape[1]), (step * x_down, *x.strides), first=square * x_down),
                with_strides(y, (pairs, y.shape[0], square), (step * y_right, *y.strides)),
                with_strides(c, wide, (step * (down + right), down, right), first=square * down),
                stream,
                alpha=-1.0,
                beta=1.0,
            )
        first = pairs * 2 * square
        if first + square < n:
            below, left = slice(first + square, min(first + 2 * square, n)), slice(first, first + square)
            gemm(x[below], y[:, left], c[below, left], stream, alpha=-1.0, beta=1.0)
        square *= 2
    _subtract_diagonal(c, x, y, stream, size)


def _subtract_diagonal(c: DeviceNDArray, x: DeviceNDArray, y: DeviceNDArray, stream: Stream, size: int) -> None:
    """The triangles on the diagonal, all but the last of ``size`` rows."""
    n = c.shape[0]
    size = min(size, n)
    count = -(-n // size)
    whole = n // size
    products = _products(c, (count, size, size), stream)
    if whole:
        gemm(
            with_strides(x, (whole, size, x.shape[1]), (size * x.strides[0], *x.strides)),
            with_strides(y, (whole, y.shape[0], size), (size * y.strides[1], *y.strides)),
            products[:whole],
            stream,
        )
    rest = n - whole * size
    if rest:
        gemm(x[whole * size :], y[:, whole * size :], products[whole, :rest, :rest], stream)
    kind = index_kind(c, products)
    whole_triangle = strided(c, kind)
    step = kind((size * (c.strides[0] + c.strides[1]) // c.itemsize) & (2 ** (8 * kind().itemsize) - 1))
    _subtract_triangles(whole_triangle._replace(batch=step), c, products, rest or size, stream)


def _subtract_from_batch(c: DeviceNDArray, x: DeviceNDArray, y: DeviceNDArray, stream: Stream, size: int) -> None:
    n = c.shape[-1]
    if n <= size:
        products = _products(c, c.shape, stream)
        gemm(x, y, products, stream)
        _subtract_triangles(strided(c, index_kind(c, products)), c, products, n, stream)
        return
    half = -(-n // size) // 2 * size
    head, tail = slice(0, half), slice(half, n)
    _subtract_from_batch(c[:, head, head], x[:, head], y[..., head], stream, size)
    gemm(x[:, tail], y[..., head], c[:, tail, head], stream, alpha=-1.0, beta=1.0)
    _subtract_from_batch(c[:, tail, tail], x[:, tail], y[..., tail], stream, size)


def _products(c: DeviceNDArray, shape: tuple[int, ...], stream: Stream) -> DeviceNDArray:
    """Room for products, in the order of c."""
    made = workspaces.of(stream, "triangles", shape, c.dtype)
    return made.transpose((0, 2, 1)) if order_of(c) == "F" else made


def _subtract_triangles(target: Strided, c: DeviceNDArray, products: DeviceNDArray, last: int, stream: Stream) -> None:
    """Enqueue `subtract_triangles`; of the last matrix only so many rows are there."""
    count, n = products.shape[:2]
    kind = type(target.first)
    threads = threads_for(c.context.capabilities)
    subtract_triangles[tiles_of_matrices(products), threads.total, stream](
        target,
        strided(products, kind),
        kind(n),
        kind(last),
        kind(count),
        c.dtype.kind == "c",
        order_of(c) != "F",
        threads,
    )
