"""Products of which one triangle is computed, or an operand is one, where a variant can leave out what is beyond it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.interface import Config, Product, order_of
from portagpu.blas.gemm.core.workspace import with_own_scratch
from portagpu.blas.gemm.selection.choice import choose
from portagpu.blas.gemm.selection.registry import variant_of
from portagpu.blas.gemm.variants.block.variant import BlockConfig, BlockVariant
from portagpu.blas.gemm.variants.mma.float64_variant import DoubleConfig, DoubleVariant
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_V = TypeVar("_V")
_C = TypeVar("_C", bound=Config)
_LEAST_BLOCK, _LEAST_BLOCKS = 128, 8  # rows of a block on the diagonal, and blocks, where a launch for the rest pays


def multiply_triangle(
    a: DeviceNDArray,
    b: DeviceNDArray,
    c: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool,
    alpha: complex = 1.0,
    beta: complex = 0.0,
) -> bool:
    """Enqueue ``c = alpha * a @ b + beta * c`` in the triangle that ``lower`` names; False where no variant can do so.

    a: (n, k), b: (k, n), c: (n, n), or batches; see `portagpu.blas.gemm.engine.gemm`. ``alpha`` is not 0, k neither.
    Nothing else of c is read or written, and with ``beta`` 0 nothing is read. Work is left out on CPUs with the block
    variant, whose work-groups skip tiles.
    """
    if a.dtype.kind == "c" or c.size == 0:
        return False
    if order_of(c) == "F":
        a, b, c, lower = swapped(b), swapped(a), swapped(c), not lower
    product = Product(a=a, b=b, c=c, stream=stream, alpha=alpha, beta=beta)
    found = _chosen(product, BlockVariant, BlockConfig)
    if found is None:
        return False
    with_own_scratch(partial(found[0].run_triangle, lower=lower), found[1], product)
    return True


def multiply_by_triangle(
    a: DeviceNDArray,
    b: DeviceNDArray,
    c: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool,
    unit: bool,
    alpha: complex = 1.0,
) -> bool:
    """Enqueue ``c = alpha * a @ b`` for a triangle a, if results lie in columns; False where no variant can do so.

    a: (n, n), of which what is beyond the triangle does not count, nor the diagonal if ``unit``, which is ones then; b,
    c: (n, m). See `portagpu.blas.gemm.engine.gemm`; as of `multiply_triangle`, the block variant leaves out work.
    """
    if a.dtype.kind == "c" or c.size == 0 or not a.ndim == b.ndim == c.ndim == 2 or order_of(c) != "F":
        return False
    product = Product(a=swapped(b), b=swapped(a), c=swapped(c), stream=stream, alpha=alpha)
    found = _chosen(product, BlockVariant, BlockConfig)
    if found is None:
        return False
    with_own_scratch(partial(found[0].run_times_triangle, lower=not lower, unit=unit), found[1], product)
    return True


@dataclass(frozen=True, slots=True)
class BlockTriangle:
    """How products with a triangle, whose diagonal's blocks of ``rows`` are multiplied apart, are finished in a launch.

    The rest without the first row of blocks and the last column, or the other way round, is block triangular. Blocks
    are multiples of the tiles of ``config``.
    """

    rows: int
    config: DoubleConfig

    @classmethod
    def predict(cls, a: DeviceNDArray, b: DeviceNDArray, out: DeviceNDArray, stream: Stream) -> BlockTriangle | None:
        """For a triangle a (n, n), b, out (n, m), results in columns. None where no variant can, or small matrices.

        The variant of float64 on CUDA GPUs can.
        """
        if a.dtype != np.float64 or not a.ndim == b.ndim == out.ndim == 2 or order_of(out) != "F":
            return None
        found = _chosen(_of_columns(a, b, out, stream), DoubleVariant, DoubleConfig)
        if found is None:
            return None
        rows = found[0].rows_of_blocks(found[1], least=_LEAST_BLOCK)
        return cls(rows, found[1]) if a.shape[0] >= _LEAST_BLOCKS * rows else None

    def add_rest(
        self,
        a: DeviceNDArray,
        b: DeviceNDArray,
        out: DeviceNDArray,
        stream: Stream,
        *,
        lower: bool,
        alpha: complex,
    ) -> None:
        """Enqueue ``out = out + alpha * a @ b`` for all of a but its blocks on the diagonal, for whole blocks only."""
        end = a.shape[0] // self.rows * self.rows
        first, last = slice(0, end - self.rows), slice(self.rows, end)
        down, right = (last, first) if lower else (first, last)
        product = replace(_of_columns(a[down, right], b[right], out[down], stream), alpha=alpha)
        variant = variant_of(self.config)
        assert isinstance(variant, DoubleVariant)
        # it is the transpose that is multiplied
        run = partial(variant.run_block_triangle, rows=self.rows, upper=lower)
        with_own_scratch(run, self.config, product)


def _of_columns(a: DeviceNDArray, b: DeviceNDArray, out: DeviceNDArray, stream: Stream) -> Product:
    """The transpose of ``out = out + a @ b``."""
    return Product(a=swapped(b), b=swapped(a), c=swapped(out), stream=stream, beta=1.0)


def multiply_by_symmetric(
    a: DeviceNDArray,
    b: DeviceNDArray,
    c: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool,
    left: bool,
    alpha: complex = 1.0,
    beta: complex = 0.0,
) -> bool:
    """Enqueue ``c = alpha * a @ b + beta * c`` (``b @ a`` unless left) for a symmetric a, of which a triangle is read.

    False where no variant can do so: the block variant does where a is what it packs. See `multiply_by_triangle`.
    """
    if (
        a.dtype.kind == "c"
        or c.size == 0
        or not a.ndim == b.ndim == c.ndim == 2
        or order_of(c) != ("F" if left else "C")
    ):
        return False
    if left:
        a, b, c, lower = swapped(a), swapped(b), swapped(c), not lower
    product = Product(a=b, b=a, c=c, stream=stream, alpha=alpha, beta=beta)
    found = _chosen(product, BlockVariant, BlockConfig)
    if found is None:
        return False
    with_own_scratch(partial(found[0].run_times_symmetric, lower=lower), found[1], product)
    return True


def _chosen(product: Product, kind: type[_V], config_type: type[_C]) -> tuple[_V, _C] | None:
    """A variant and its parameters, if it is the one for a product."""
    config = choose(product.problem, product.c.context)
    if not isinstance(config, config_type):
        return None
    variant = variant_of(config)
    assert isinstance(variant, kind)
    return variant, config
