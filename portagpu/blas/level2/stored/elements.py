"""Elements of banded and packed matrices, in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.level2.stored.storage import LOWER, UPPER


@cuda.jit(device=True)
def subscript(place):
    """A place in memory as a subscript, which cannot be negative."""
    return np.uint64(place) if isinstance(place, np.int64) else np.uint32(place)


@cuda.jit(device=True)
def place_of(a, i, j, part):
    """Where element (i, j) of op(A) is in ``a.memory``; a: a `Stored`; part: a `Part`."""
    row, column = (j, i) if part.mirrored else (i, j)
    if part.storage == UPPER:
        return a.first + (row + column * (column + 1) // 2) * a.down
    if part.storage == LOWER:
        return a.first + (row + column * (2 * a.order - column - 1) // 2) * a.down
    return a.first + row * a.down + column * a.right


@cuda.jit(device=True)
def element(a, i, j, part):
    """Element (i, j) of op(A)."""
    value = a.memory[subscript(place_of(a, i, j, part))]
    return value.conjugate() if part.conjugated else value


@cuda.jit(device=True)
def vector_element(x, i):
    """Element i of a `Vector`."""
    return x.memory[subscript(x.first + i * x.step)]
