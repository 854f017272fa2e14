"""Tile order: which tile of C, and which part of its sums, a block computes; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda


@cuda.jit(device=True)
def tile_place(number, tiles_m, tiles_n, group: cuda.constexpr):
    """Row and column of a tile: bands of ``group`` rows are walked column by column, so that operands stay cached."""
    band = number // (group * tiles_n)
    height = min(np.int32(group), tiles_m - band * group)
    within = number % (group * tiles_n)
    return band * group + within % height, within // height


@cuda.jit(device=True)
def span_of(piece, pieces, k, tile_k: cuda.constexpr, levels: cuda.constexpr):
    """The first k and the end of a piece of a sum: all pieces have as many whole steps, or one step more."""
    if levels == 0:
        return np.int32(0), k
    steps = (k + (tile_k - 1)) // tile_k
    least = steps // pieces
    more = steps % pieces
    first = piece * least + min(piece, more)
    count = least + 1 if piece < more else least
    return first * tile_k, min(k, (first + count) * tile_k)


@cuda.jit(device=True)
def span_of_blocks(x, k, block: cuda.constexpr, before: cuda.constexpr):
    """The first k and the end of row (column) x of a block triangular matrix, whose blocks have so many rows.

    What is not zero comes ``before`` the end of the diagonal's block, or from its first k on.
    """
    edge = x // block * block
    return (np.int32(0), edge + block) if before else (edge, k)


@cuda.jit(device=True)
def tile_at(number, tiles_m, tiles_n, m, n, tile_m: cuda.constexpr, tile_n: cuda.constexpr, group: cuda.constexpr):
    """A tile's first row and column, and those from which on it is computed: at the edges it is moved inwards."""
    row, column = tile_place(number, tiles_m, tiles_n, group)
    own_row, own_column = row * tile_m, column * tile_n
    return own_row, own_column, max(min(own_row, m - tile_m), 0), max(min(own_column, n - tile_n), 0)


@cuda.jit(device=True)
def element_of(x, k, pitch, along_k: cuda.constexpr):
    """The place of an element of an operand; pitch: elements between its rows, or its columns."""
    if along_k:
        return np.uint32(x) * pitch + np.uint32(k)
    return np.uint32(k) * pitch + np.uint32(x)
