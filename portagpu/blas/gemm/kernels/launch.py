"""Launches of tiles of C, with sums along k split among blocks."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.gemm.core.flat_operands import Operand, matrix_of
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.kernel_arguments import Extents, Pieces
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.kernels.split_k import counters_of, fan_of
from portagpu.blas.gemm.kernels.stream_k import Workers, pieces_of_shares, whole_tiles
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher

WORKERS = (0, 1, 2)
"""Blocks of a compute unit that share the tiles of the last turn, see `stream_k`; 0: tiles are not shared."""

LARGEST = 2**27
"""Elements of the pieces of all sums, at most: their indices have 32 bits, and more would be too much memory."""

SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256)
"""Pieces of a sum that the variants' configurations have; with 256 of them a single tile fills a large GPU twice."""

MOST_TERMS = 2**14
"""Terms that a thread of a CPU adds to one running sum, at most: as sums get larger, terms lose digits.

The blocks along k of BLAS libraries are shorter still.
"""

_SMALL_FILE = 208  # registers of a thread: with no more, the smallest subgroups are asked for, where a thread has most
_NOTHING = np.int32(0)  # in place of an array that is not needed


def subgroup_of(caps: Capabilities) -> int | None:
    """The subgroup size that gives a thread the most registers, where a device has several sizes."""
    return min(caps.subgroup_sizes) if caps.thread_registers <= _SMALL_FILE and caps.subgroup_sizes else None


def planned_registers(caps: Capabilities) -> int:
    """Registers of a thread that a kernel may be planned with: of few, compilers need some for themselves."""
    return caps.thread_registers if caps.thread_registers > _SMALL_FILE else caps.thread_registers * 13 // 16


def pieces_of(split: int, tile_k: int, k: int) -> int:
    """How many pieces a sum really has, each of at least one step of ``tile_k``; they differ by one step at most."""
    return min(split, -(-k // tile_k))


def split_of(split: int, step: int, k: int) -> tuple[int, int]:
    """How many parts a sum really has, and the terms of each but the last: a multiple of ``step``."""
    chunk = -(-k // (split * step)) * step
    return -(-k // chunk), chunk


def pieces_of_last(tile: tuple[int, int, int], extents: tuple[int, int, int], batch: int, workers: int) -> int:
    """In how many pieces a tile (m, n, k) may be where ``workers`` share the last tiles; 0 where that is no use."""
    tiles = -(-extents[0] // tile[0]) * -(-extents[1] // tile[1]) * batch
    if workers == 0:
        return 0
    pieces = pieces_of_shares(tiles, workers, -(-extents[2] // tile[2]))
    rest = tiles - whole_tiles(tiles, workers)
    return pieces if rest * pieces * tile[0] * tile[1] <= LARGEST else 0


def is_modest(tile: tuple[int, int], extents: tuple[int, int], batch: int, split: int) -> bool:
    """Whether the pieces of all sums of a product of such extents (m, n) are no more than `LARGEST`."""
    tiles = -(-extents[0] // tile[0]) * -(-extents[1] // tile[1]) * batch
    return split == 1 or tiles * split * tile[0] * tile[1] <= LARGEST


def multiply(
    kernel: Dispatcher,
    product: Product,
    operands: tuple[Operand, Operand, Operand],
    tile: tuple[int, int, int],
    threads: int,
    pieces: int,
    last: tuple[Any, ...],
    *,
    transposed: bool = False,
    sums: str = "",
    workers: int | None = None,
    most: int | None = None,
) -> None:
    """Launch ``kernel`` for all tiles (m, n, k) of a product: the arguments are those of `multiply_pipelined`.

    pieces: of each sum (`pieces_of`); the last block of a tile to arrive adds them (`split_k`). ``last``: the
    kernel's constants. With ``transposed`` the kernel computes ``c.T = b.T @ a.T``: the operands' places and those of
    the extents are exchanged. ``sums``: dtype of the pieces, by default that of c. ``workers``: of a kernel that can
    share out the last tiles (`stream_k`), how many blocks do, 0 for none; pieces is then the most of a tile.
    ``most``: blocks, of a kernel whose blocks take one tile after the other.
    """
    a, b, c = operands
    (m, k), n = product.a.shape[-2:], product.b.shape[-1]
    number = np.dtype(sums or product.c.dtype).type
    first, second, rows, columns = (b, a, n, m) if transposed else (a, b, m, n)
    tiles = -(-rows // tile[0]) * -(-columns // tile[1]) * product.batch
    whole = whole_tiles(tiles, workers) if workers else 0
    parts: Any = _NOTHING
    arrived: Any = _NOTHING
    if pieces > 1:
        size = (tiles - whole) * pieces * tile[0] * tile[1]
        parts = workspaces.of(product.stream, "parts", (size,), np.dtype(number))
        arrived = workspaces.zeros(product.stream, "arrived", (tiles - whole) * counters_of(pieces))
    blocks = whole + workers if workers else tiles * pieces
    shared_out = () if workers is None else (Workers(np.int32(whole), np.int32(workers)),)
    kernel[blocks if most is None else min(most, blocks), threads, product.stream](
        *map(matrix_of, (first, second, c)),
        Extents(np.int32(rows), np.int32(columns), np.int32(k)),
        np.int32(product.batch),
        Pieces(parts, arrived, np.int32(pieces), np.int32(fan_of(pieces))),
        *shared_out,
        product.factors(number),
        *last,
    )
