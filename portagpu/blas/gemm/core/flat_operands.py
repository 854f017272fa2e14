"""Flat operands: memory from a matrix's first element to its last, for asynchronous copies."""

from __future__ import annotations

from portagpu.blas.gemm.core.kernel_arguments import Matrix
from portagpu.blas.gemm.core.operands import Operand, flat, span_of, steps_of
from portagpu.runtime.arrays.array import DeviceNDArray

__all__ = ["Operand", "flat", "matrix_of", "operand"]


def operand(matrix: DeviceNDArray) -> Operand:
    """The operand that a matrix (or a batch of matrices: three axes) is; its order must be "C" or "F"."""
    transposed, pitch, batch = steps_of(matrix)
    dense = matrix.shape[-2 if transposed else -1]
    wide = 16 // matrix.itemsize
    while wide > 1 and any(step % wide for step in (matrix.offset // matrix.itemsize, dense, batch, pitch)):
        wide //= 2
    return Operand(flat(matrix, span_of(matrix)), pitch, batch, transposed, wide)


def matrix_of(x: Operand) -> Matrix:
    """An operand of flat memory as these kernels take it, its steps in the narrowest type that holds every index."""
    return Matrix(x.memory, *x.distances)
