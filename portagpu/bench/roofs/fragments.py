"""Matrix units fed from registers, or from tiles in shared memory that stay: nothing but their instructions.

Each warp (warp group) multiplies the same fragments again and again, into many sums of its own, so that every sum is
the number of turns times one small product, which NumPy knows. Elements are random, for what a matrix unit is given
decides what power it takes. The units cut off what a sum has no room for; after a thousand turns that is an eighth of
what one turn adds.

"Matrix fragments" and "Register fragments and shared memory matrix layouts" in the PTX ISA.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda

Array = np.ndarray[Any, Any]

SIDE = 4
"""Fragments of A, and of B, in a warp: 16 sums."""
WORDS = 32
"""Words of 32 bits in a row of a tile: 128 bytes, which the units read swizzled."""
ROWS, COLUMNS = 64, 256
"""Of a warp group's product."""
TEAMS = 2
"""Warp groups of a block."""
_SWIZZLE = 1 << 62
_GROUPS = (1024 >> 4) << 32  # groups of eight rows are 1024 bytes apart


class Fragment(NamedTuple):
    """An instruction of a warp: ``m`` x 8 sums, ``k`` deep; so many registers of A, B and the sums in each thread."""

    shape: str
    kind: str
    m: int
    k: int
    of_a: int
    of_b: int
    of_c: int


@cuda.jit
def multiply_fragments(out, a, b, turns, form: cuda.constexpr):
    """`SIDE` x `SIDE` products of fragments in each warp, so many times."""
    lane = np.int32(cuda.threadIdx.x) % 32
    rows = cuda.local.array((SIDE, form.of_a), a.dtype)
    columns = cuda.local.array((SIDE, form.of_b), b.dtype)
    sums = cuda.local.array((SIDE, SIDE, form.of_c), out.dtype)
    for i in cuda.unroll(range(SIDE)):
        for part in cuda.unroll(range(form.of_a)):
            rows[i, part] = a[(i * 32 + lane) * form.of_a + part]
        for part in cuda.unroll(range(form.of_b)):
            columns[i, part] = b[(i * 32 + lane) * form.of_b + part]
        for j in cuda.unroll(range(SIDE)):
            for part in cuda.unroll(range(form.of_c)):
                sums[i, j, part] = 0
    for _turn in range(turns):
        for i in cuda.unroll(range(SIDE)):
            for j in cuda.unroll(range(SIDE)):
                cuda.mma_sync(form.shape, form.kind, sums[i, j], rows[i], columns[j])
    first = np.int32(cuda.grid(1)) * (SIDE * SIDE * form.of_c)
    for i in cuda.unroll(range(SIDE)):
        for j in cuda.unroll(range(SIDE)):
            for part in cuda.unroll(range(form.of_c)):
                out[first + ((i * SIDE + j) * form.of_c + part)] = sums[i, j, part]


@cuda.jit(block_dim=(128 * TEAMS, 1, 1))
def multiply_tiles(out, a, b, turns, kind: cuda.constexpr):
    """Each warp group multiplies a tile of 64 rows by one of 256 columns, both 128 bytes deep, so many times."""
    tile_a = cuda.shared.array((ROWS, WORDS), np.uint32, alignment=1024)
    tile_b = cuda.shared.array((COLUMNS, WORDS), np.uint32, alignment=1024)
    sums = cuda.local.array(COLUMNS // 2, out.dtype)
    thread = np.int32(cuda.threadIdx.x)
    # parts of 16 bytes are permuted by the row's number
    for place in range(thread, np.int32((ROWS + COLUMNS) * WORDS), np.int32(128 * TEAMS)):
        row, word = place // WORDS, place % WORDS
        permuted = (word // 4 ^ row % 8) * 4 + word % 4
        if row < ROWS:
            tile_a[row, permuted] = a[row, word]
        else:
            tile_b[row - ROWS, permuted] = b[row - ROWS, word]
    cuda.fence_proxy_async()
    cuda.syncthreads()
    for part in cuda.unroll(range(COLUMNS // 2)):
        sums[part] = 0
    start_a = cuda.shared_address(tile_a, (0, 0))
    start_b = cuda.shared_address(tile_b, (0, 0))
    fixed = np.uint64(_SWIZZLE | _GROUPS | (1 << 16))
    address_a = fixed | np.uint64((start_a & 0x3FFFF) >> 4)
    address_b = fixed | np.uint64((start_b & 0x3FFFF) >> 4)
    for _turn in range(turns):
        cuda.wgmma_fence()
        for part in cuda.unroll(range(4)):
            cuda.wgmma(COLUMNS, kind, sums, address_a + np.uint64(2 * part), address_b + np.uint64(2 * part))
        cuda.wgmma_commit_group()
        cuda.wgmma_wait_group(0)
    first = np.int32(cuda.grid(1)) * (COLUMNS // 2)
    for part in cuda.unroll(range(COLUMNS // 2)):
        out[first + part] = sums[part]


# what threads hold ---------------------------------------------------------------------------------------------------


def held_of_a(matrix: Array, each: int) -> Array:
    """Elements of A (m, k) by lane and register: ``each`` of them in a register, shape (32, registers, each)."""
    m, k = matrix.shape
    tall = m // 8
    lane, part, element = np.ogrid[:32, : tall * k // (4 * each), :each]
    found: Array = matrix[lane // 4 + 8 * (part % tall), lane % 4 * each + element + 4 * each * (part // tall)]
    return found


def held_of_b(matrix: Array, each: int) -> Array:
    """Elements of B (k, 8), likewise."""
    lane, part, element = np.ogrid[:32, : matrix.shape[0] // (4 * each), :each]
    found: Array = matrix[lane % 4 * each + element + 4 * each * part, lane // 4]
    return found


def held_of_c(matrix: Array) -> Array:
    """Sums (m, 8) by lane and register."""
    lane, part = np.ogrid[:32, : matrix.shape[0] // 4]
    found: Array = matrix[lane // 4 + 8 * (part // 2), lane % 4 * 2 + part % 2]
    return found


def held_of_tile(matrix: Array) -> Array:
    """Sums of a warp group (64, n) by thread and register."""
    thread, part = np.ogrid[:128, : matrix.shape[1] // 2]
    row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (part // 2 % 2)
    found: Array = matrix[row, 8 * (part // 4) + thread % 4 * 2 + part % 2]
    return found


__all__ = ["COLUMNS", "ROWS", "SIDE", "TEAMS", "WORDS", "Fragment", "held_of_a", "held_of_b", "held_of_c"]
__all__ += ["held_of_tile", "multiply_fragments", "multiply_tiles"]
