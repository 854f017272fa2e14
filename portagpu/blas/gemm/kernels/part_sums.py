"""Launch of the kernel that adds parts of sums which other kernels left in memory."""

from __future__ import annotations

from portagpu.blas.gemm.core.accumulation import Conversion, number_type
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.operands import Operand, index_type, matrix_of
from portagpu.blas.gemm.kernels.epilogue import sum_parts
from portagpu.runtime.arrays.array import DeviceNDArray

_THREADS = 128  # of a block


def add_parts(
    parts: DeviceNDArray,
    c: Operand,
    shape: tuple[int, int, int],
    found: Conversion,
    product: Product,
) -> None:
    """A product's c from parts of its sums: (batch, split, m, n); shape: (batch, m, n). Scaling, too, is its own."""
    batch, m, n = shape
    number = index_type(parts, c.array)
    threads = min(_THREADS, c.array.context.capabilities.max_work_group_size)
    sum_parts[-(-batch * m * n // threads), threads, product.stream](
        parts,
        matrix_of(c, number),
        number(m),
        number(n),
        number(parts.shape[1]),
        product.factors(number_type(found.scaled)),
        found.any_epilogue,
    )
