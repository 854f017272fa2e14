"""Square tiles of matrices, read and written along their neighbours in memory; for kernels, in the dialect.

A block has a tile of `TILE` x `TILE` elements: on GPUs threads share it, on CPUs a block is one thread, which keeps
it in its own memory. What is turned on the way goes through the tile, so that reads and writes both stay coalesced.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.level3.strided_memory import batch_of
from portagpu.device.capabilities import Capabilities
from portagpu.runtime.arrays.array import DeviceNDArray

TILE = 32
_LINES = 8  # rows of a tile that the threads of a block take at once


class Threads(NamedTuple):
    """How a block's threads lie over a tile: ``across`` side by side, in ``lines`` rows."""

    across: int
    lines: int

    @property
    def total(self) -> int:
        """Of a block."""
        return self.across * self.lines


def threads_for(caps: Capabilities) -> Threads:
    """One thread where threads of a block are no faster side by side, on CPUs; else as many as the device takes."""
    if not caps.local_memory_dedicated:
        return Threads(1, 1)
    lines = max(1, min(_LINES, caps.max_work_group_size // TILE))
    return Threads(min(TILE, caps.max_work_group_size), lines)


def along(matrix: DeviceNDArray) -> bool:
    """Whether neighbours in a row are neighbours in memory."""
    return order_of(matrix) == "C"


def tiles_of(n: int) -> int:
    """Tiles that cover so many rows."""
    return -(-n // TILE)


def tiles_of_matrices(matrix: DeviceNDArray) -> int:
    """Tiles of a matrix, or of all of a batch: blocks of a launch in which each has its `tile_of_matrix`."""
    return tiles_of(matrix.shape[-2]) * tiles_of(matrix.shape[-1]) * batch_of(matrix)


@cuda.jit(device=True)
def place(matrix, start, row, column, is_along: cuda.constexpr):
    """Subscript of an element in the memory of a `Strided`; start: of its matrix."""
    if is_along:
        return start + row * matrix.down + column
    return start + row * matrix.down + column * matrix.right


@cuda.jit(device=True)
def thread_of(kind: cuda.constexpr, threads: cuda.constexpr):
    """This thread's column and row among those of a tile."""
    if threads.across * threads.lines == 1:
        return kind(0), kind(0)
    number = kind(cuda.threadIdx.x)
    return number % kind(threads.across), number // kind(threads.across)


@cuda.jit(device=True)
def inside(n, first):
    """Rows of the tile that begins at ``first``, of n in all."""
    kind = type(n)
    return min(kind(TILE), n - min(n, first))


@cuda.jit(device=True)
def tile_of_matrix(n, m, count):
    """This block's tile of matrices of n rows and m columns: the matrix, the tile's first row and column, and how many
    it has. The grid is one-dimensional: of each matrix, a block for each tile.
    """
    kind = type(n)
    across = (m + kind(TILE - 1)) // kind(TILE)
    blocks = (n + kind(TILE - 1)) // kind(TILE) * across
    block = kind(cuda.blockIdx.x)
    matrix = min(block // blocks, count - kind(1))
    own = block - matrix * blocks
    row0, column0 = own // across * kind(TILE), own % across * kind(TILE)
    return matrix, row0, column0, inside(n, row0), inside(m, column0)


@cuda.jit(device=True)
def read_tile(tile, matrix, start, corner, extents, thread, is_along: cuda.constexpr, threads: cuda.constexpr):
    """``tile[r, c] = matrix[corner[0] + r, corner[1] + c]``, as many as ``extents`` says."""
    kind = type(start)
    x, y = thread
    if is_along:
        for r in range(y, extents[0], kind(threads.lines)):
            for c in range(x, extents[1], kind(threads.across)):
                tile[r, c] = matrix.memory[place(matrix, start, corner[0] + r, corner[1] + c, True)]
    else:
        for c in range(y, extents[1], kind(threads.lines)):
            for r in range(x, extents[0], kind(threads.across)):
                tile[r, c] = matrix.memory[place(matrix, start, corner[0] + r, corner[1] + c, False)]


@cuda.jit(device=True)
def tile_of_triangle(number, tiles):
    """Row and column of a tile on or below the diagonal, by its number; tiles: along an edge.

    The triangle is folded into a rectangle (rectangular full packed format), so that the numbers from 0 to
    `tiles_of_triangle` are all of its tiles, and of an odd ``tiles`` some beyond its last row.
    """
    kind = type(tiles)
    half = (tiles + kind(1)) // kind(2)
    row, column = number // half, number % half
    if row > column:
        return row - kind(1), column
    return half + column, half + row


def tiles_of_triangle(n: int) -> int:
    """Numbers that `tile_of_triangle` takes, for a triangle of n rows."""
    half = (tiles_of(n) + 1) // 2
    return half * (2 * half + 1)


def factor_form(factor: complex) -> int:
    """How kernels multiply by a factor: 0 not, for its product is not wanted; 1 by a real one, 2 by a complex one."""
    return 0 if factor == 0 else 2 if np.imag(factor) != 0 else 1


@cuda.jit(device=True)
def scaled(value, factor, form: cuda.constexpr, is_complex: cuda.constexpr):
    """``factor * value``; form: of `factor_form`. A real factor leaves the parts of a number apart, as BLAS does."""
    if is_complex and form == 1:
        return complex(value.real * factor.real, value.imag * factor.real)
    return factor * value


def number_of(value: complex, dtype: np.dtype[Any]) -> Any:
    """A factor in a dtype."""
    return dtype.type(value if dtype.kind == "c" else np.real(value))
