"""Matrices of any strides as kernels of solvers take them: flat memory, and steps that may be negative."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu.blas.gemm.core.operands import placed
from portagpu.runtime.arrays.array import DeviceNDArray


class Strided(NamedTuple):
    """A matrix, or a batch: element [i, row, column] is ``memory[first + i * batch + row * down + column * right]``.

    All numbers are unsigned and of one width, in which sums and products wrap: a negative step is a large one, which
    leads back. So kernels subscript with unsigned numbers, which cost least.
    """

    memory: Any
    first: Any
    down: Any
    right: Any
    batch: Any


def index_kind(*arrays: DeviceNDArray) -> Any:
    """The unsigned type that holds every subscript of all arrays."""
    return np.uint64 if any(a.is_large for a in arrays) else np.uint32


def strided(matrix: DeviceNDArray, kind: Any, *, backwards: tuple[int, ...] = ()) -> Strided:
    """A matrix (rows, columns), or a batch of them, with numbers of type ``kind``.

    backwards: axes (-2: rows, -1: columns) that are counted from their end: a lower triangle of an upper one has both.
    """
    item = matrix.itemsize
    steps = [s // item if n > 1 else 0 for n, s in zip(matrix.shape, matrix.strides, strict=True)]
    ends = [(n - 1) * s for n, s in zip(matrix.shape, steps, strict=True)]
    lowest, highest = sum(min(0, end) for end in ends), sum(max(0, end) for end in ends)
    first = -lowest
    for axis in backwards:
        first += ends[axis]
        steps[axis] = -steps[axis]
    mask = (1 << 8 * np.dtype(kind).itemsize) - 1
    down, right, batch = (kind(s & mask) for s in (*steps[-2:], steps[0] if matrix.ndim == 3 else 0))
    return Strided(placed(matrix, highest - lowest + 1, lowest * item), kind(first), down, right, batch)


def batch_of(matrix: DeviceNDArray) -> int:
    """How many matrices there are."""
    return matrix.shape[0] if matrix.ndim == 3 else 1
