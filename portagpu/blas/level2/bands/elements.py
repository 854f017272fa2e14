"""Elements of bands and vectors, in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda


@cuda.jit(device=True)
def subscript(place):
    """A place in memory as a subscript, which cannot be negative."""
    return np.uint64(place) if isinstance(place, np.int64) else np.uint32(place)


@cuda.jit(device=True)
def place_of(a, i, j, part):
    """Where element (i, j) of op(A) is; a: a `Band`; part: a `Part`."""
    if part.mirrored:
        return a.first + j * a.down + i * a.right
    return a.first + i * a.down + j * a.right


@cuda.jit(device=True)
def element(a, i, j, part):
    """Element (i, j) of op(A)."""
    value = a.memory[subscript(place_of(a, i, j, part))]
    return value.conjugate() if part.conjugated else value


@cuda.jit(device=True)
def vector_element(x, i):
    """Element i of a `Vector`."""
    return x.memory[subscript(x.first + i * x.step)]
