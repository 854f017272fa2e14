"""The complex conjugate of matrices, in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.creation import device_array_like
from portagpu.runtime.execution.stream import Stream

_BLOCK = 64


@cuda.jit
def conjugate_elements(source, target):
    """``target = conj(source)`` for matrices of one shape: a thread for each element, neighbours along the columns.

    Blocks of one row after the other: grids have few of them in other directions than the first.
    """
    across = (source.shape[1] + cuda.blockDim.x - 1) // cuda.blockDim.x
    row = cuda.blockIdx.x // across
    column = cuda.blockIdx.x % across * cuda.blockDim.x + cuda.threadIdx.x
    if column < source.shape[1]:
        target[row, column] = source[row, column].conjugate()


def conjugated(matrix: DeviceNDArray, stream: Stream) -> DeviceNDArray:
    """A new array with the complex conjugate of a matrix; enqueued."""
    made = device_array_like(matrix, stream)
    if matrix.size:
        source, target = (matrix, made) if matrix.is_c_contiguous() else (matrix.T, made.T)
        rows, columns = source.shape
        block = min(_BLOCK, matrix.context.capabilities.max_work_group_size)
        conjugate_elements[-(-columns // block) * rows, block, stream](source, target)
    return made
