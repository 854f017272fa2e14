"""Which tiles, panels and terms have elements of a triangle: of c, of which a part is computed, or of b.

Functions of kernels; ``part`` is `LOWER` or `UPPER`.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda

WHOLE, LOWER, UPPER = range(3)
"""What of c is computed, and written: all of it, or one triangle with its diagonal; and what of b there is."""


@cuda.jit(device=True)
def terms_of_panel(column, first_k, depth, tile: cuda.constexpr, part: cuda.constexpr):
    """The rows of a block of a triangle b, from and to, that have elements in the ``tile`` columns from ``column``."""
    begin = type(depth)(0)
    end = depth
    if part == LOWER:
        begin = min(depth, max(begin, column - first_k))
    elif part == UPPER:
        end = max(begin, min(depth, column + tile - first_k))
    return begin, end


@cuda.jit(device=True)
def panels_of_triangle(begin, end, before, first_row, end_row, tile_n: cuda.constexpr, part: cuda.constexpr):
    """Those of panels ``begin`` to ``end``, with ``before`` others on their left, that meet a triangle in some rows."""
    kind = type(begin)
    if part == LOWER:
        meeting = kind((end_row + (tile_n - 1)) // tile_n)
        return begin, min(end, meeting - min(meeting, before))
    left = kind(first_row // tile_n)
    return max(begin, left - min(left, before)), end


@cuda.jit(device=True)
def is_beyond(row, column, rows: cuda.constexpr, columns: cuda.constexpr, part: cuda.constexpr):
    """Whether no element of a tile is in the triangle."""
    return column >= row + rows if part == LOWER else row >= column + columns


@cuda.jit(device=True)
def is_inside(row, column, rows: cuda.constexpr, columns: cuda.constexpr, part: cuda.constexpr):
    """Whether all elements of a tile are in the triangle."""
    return column + (columns - 1) <= row if part == LOWER else row + (rows - 1) <= column
