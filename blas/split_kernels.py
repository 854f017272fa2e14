"""Adds the parts of a sum that several blocks formed; in the dialect."""

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.variant import Product
from portagpu.runtime.array import DeviceNDArray

_THREADS = 256


@cuda.jit
def add_parts(parts, c, alpha, beta, splits, batched: cuda.constexpr, scaled: cuda.constexpr):
    """``c = alpha * sum(parts) + beta * c``; parts: (batch * splits, m, n), the splits of a product side by side.

    The order of additions is fixed, so that results are the same in each run.
    """
    column, row = cuda.grid(2)
    batch = np.int32(cuda.blockIdx.z)
    if row < parts.shape[1] and column < parts.shape[2]:
        total = parts[batch * splits, row, column]
        for part in range(np.int32(1), splits):
            total += parts[batch * splits + part, row, column]
        if scaled:
            total *= alpha
            if beta != 0:
                total += beta * (c[batch, row, column] if batched else c[row, column])
        if batched:
            c[batch, row, column] = total
        else:
            c[row, column] = total


def reduce_parts(parts: DeviceNDArray, product: Product) -> None:
    """Enqueue the sum of parts (batch * splits, m, n), scaled as the product says, to its c."""
    c = product.c
    batch, (m, n) = product.batch, c.shape[-2:]
    scaled = product.alpha != 1 or product.beta != 0
    number = parts.dtype.type
    width = min(_THREADS, max(32, 1 << (n - 1).bit_length()))
    height = _THREADS // width
    grid = (-(-n // width), -(-m // height), batch)
    add_parts[grid, (width, height), product.stream](
        parts,
        c,
        number(product.alpha),
        number(product.beta),
        np.int32(parts.shape[0] // batch),
        c.ndim == 3,
        scaled,
    )
