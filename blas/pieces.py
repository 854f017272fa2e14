"""Launches of kernels that compute tiles of C, and sums along k in pieces that several blocks compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.blas.dense_operands import Operand
from portagpu.blas.variant import Product
from portagpu.blas.workspace import workspaces
from portagpu.cuda.dispatcher import Dispatcher


@cuda.jit
def sum_pieces(pieces, c, pitch, batch, n, size, total, count, alpha, beta):
    """``c = alpha * (sum of pieces) + beta * c``, always added in the same order.

    pieces: ``count`` times ``total`` elements: matrices of ``size`` elements in rows of n. c: memory of the matrices,
    in rows ``pitch`` and matrices ``batch`` elements apart. Any one-dimensional grid.
    """
    first = np.uint32(cuda.grid(1))
    step = np.uint32(cuda.gridsize(1))
    for i in range(first, total, step):
        value = pieces[i]
        for piece in range(np.uint32(1), count):
            value += pieces[i + piece * total]
        within = i % size
        at = i // size * batch + within // n * pitch + within % n
        value *= alpha
        if beta != 0:
            value += beta * c[at]
        c[at] = value


def multiply(
    kernel: Dispatcher,
    product: Product,
    operands: tuple[Operand, Operand, Operand],
    tile: tuple[int, int, int],
    threads: int,
    split: int,
    last: tuple[Any, ...],
    *,
    transposed: bool = False,
    sums: str = "",
) -> None:
    """Launch ``kernel`` for all tiles (m, n, k) of a product: the arguments are those of `multiply_pipelined`.

    split: pieces of each sum at most; with more than one, `sum_pieces` adds them in a second launch. ``last``: the
    kernel's constants. With ``transposed`` the kernel computes ``c.T = b.T @ a.T``: the operands' places and those of
    the extents are exchanged. ``sums``: dtype of the pieces, by default that of c.
    """
    a, b, c = operands
    (m, k), n = product.a.shape[-2:], product.b.shape[-1]
    steps = -(-k // tile[2])
    chunk = -(-steps // min(split, steps)) * tile[2]
    pieces = -(-k // chunk)
    number = np.dtype(sums or product.c.dtype).type
    alpha, beta = number(product.alpha.real), number(product.beta.real)
    factors, target, (pitch, batch) = (alpha, beta), c.memory, c.distances
    if pieces > 1:
        target = workspaces.of(product.stream, "pieces", (pieces * product.c.size,), np.dtype(number))
        kind = np.uint64 if target.is_large else np.uint32
        factors, pitch, batch = (number(1), number(0)), kind(n), kind(m * n)
    first, second, rows, columns = (b, a, n, m) if transposed else (a, b, m, n)
    blocks = -(-rows // tile[0]) * -(-columns // tile[1]) * product.batch * pieces
    kernel[blocks, threads, product.stream](
        *(first.memory, second.memory, target, np.int32(rows), np.int32(columns), np.int32(k)),
        *(np.int32(product.batch), np.int32(chunk), first.distances[0], second.distances[0], pitch),
        *(first.distances[1], second.distances[1], batch, *factors, *last),
    )
    if pieces > 1:
        size = product.c.size
        index = np.uint64 if target.is_large else np.uint32
        sum_pieces[min(-(-size // 256), 8192), 256, product.stream](
            *(target, c.memory, *c.distances, index(n), index(m * n), index(size), index(pieces), alpha, beta)
        )
