"""Transposed copies of matrices, for matrix units that take one order only; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.core.interface import ALIGNMENT
from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_TILE = 32
_LINES = 8


@cuda.jit(block_dim=(_TILE, _LINES, 1))
def transpose(source, target, rows, columns):
    """``target[i, column, row] = source[i, row, column]``, by way of tiles in shared memory.

    source: (batch, rows, columns), target: (batch, columns, at least rows). A block takes 32 x 32 elements; all blocks
    are in one row, since grids have few in other directions.
    """
    tile = cuda.shared.array((_TILE, _TILE + 1), source.dtype)
    down, across = (rows + (_TILE - 1)) // _TILE, (columns + (_TILE - 1)) // _TILE
    block = np.int32(cuda.blockIdx.x)
    batch = block // across // down
    x, y = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    row0, column0 = block // across % down * _TILE, block % across * _TILE
    for line in cuda.unroll(range(_TILE // _LINES)):
        row = row0 + y + line * _LINES
        if row < rows and column0 + x < columns:
            tile[y + line * _LINES, x] = source[batch, row, column0 + x]
    cuda.syncthreads()
    for line in cuda.unroll(range(_TILE // _LINES)):
        column = column0 + y + line * _LINES
        if column < columns and row0 + x < rows:
            target[batch, column, row0 + x] = tile[x, y + line * _LINES]


def swapped_order(matrix: DeviceNDArray, role: str, stream: Stream) -> DeviceNDArray:
    """A copy of a matrix, or of a batch, whose columns are contiguous: the matrix itself has contiguous rows.

    The copy's columns begin at multiples of 16 bytes. It is the stream's until the next one for the same role.
    """
    rows, columns = matrix.shape[-2:]
    shared = matrix.ndim == 3 and matrix.strides[0] == 0
    batch = 1 if matrix.ndim == 2 or shared else matrix.shape[0]
    item = matrix.itemsize
    lanes = max(1, ALIGNMENT // item)
    pitch = -(-rows // lanes) * lanes
    made = workspaces.of(stream, f"{role} transposed", (batch, columns, pitch), matrix.dtype)
    step = 0 if matrix.ndim == 2 or shared else matrix.strides[0]
    source = with_strides(matrix, (batch, rows, columns), (step, matrix.strides[-2], item))
    grid = -(-columns // _TILE) * -(-rows // _TILE) * batch
    transpose[grid, (_TILE, _LINES), stream](source, made, np.int32(rows), np.int32(columns))
    if matrix.ndim == 2:
        return with_strides(made, (rows, columns), (item, pitch * item))
    apart = 0 if shared else columns * pitch * item
    return with_strides(made, matrix.shape, (apart, item, pitch * item))
