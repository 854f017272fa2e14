"""Operands as the kernels with asynchronous copies take them: memory from the first element on, and distances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from portagpu.blas.operands import with_strides
from portagpu.blas.variant import order_of
from portagpu.runtime.array import DeviceNDArray


@dataclass(frozen=True, slots=True)
class Operand:
    """A matrix, or a batch of them, whose rows or columns are dense.

    ``memory``: one-dimensional, from the first element to the last. ``order``: "C" if rows are dense, "F" if columns
    are. ``pitch``: elements from one dense row (column) to the next; ``batch``: from one matrix to the next.
    """

    memory: DeviceNDArray
    order: str
    pitch: int
    batch: int
    wide: int

    @property
    def distances(self) -> tuple[np.integer, np.integer]:
        """``pitch`` and ``batch`` in the narrowest unsigned type that holds every index of the memory."""
        kind = np.uint64 if self.memory.is_large else np.uint32
        return kind(self.pitch), kind(self.batch)

    def viewed(self, dtype: np.dtype[Any]) -> Operand:
        """The same memory as elements of another type of the same size."""
        return replace(self, memory=flat(self.memory, self.memory.size, dtype))


def operand(matrix: DeviceNDArray) -> Operand:
    """The operand that a matrix (or a batch of matrices: three axes) is; its order must be "C" or "F".

    ``wide`` of the result says how many elements can be copied at once, 16 bytes at most, so that copies are aligned
    and never cross the end of a row.
    """
    item = matrix.itemsize
    order = order_of(matrix)
    assert order
    rows, columns = matrix.shape[-2:]
    dense, others, axis = (columns, rows, -2) if order == "C" else (rows, columns, -1)
    pitch = matrix.strides[axis] // item if others > 1 else dense
    batch = matrix.strides[0] // item if matrix.ndim == 3 and matrix.shape[0] > 1 else 0
    steps = [matrix.offset // item, dense, batch] + ([pitch] if others > 1 else [])
    wide = 16 // item
    while wide > 1 and any(step % wide for step in steps):
        wide //= 2
    matrices = matrix.shape[0] if matrix.ndim == 3 else 1
    extent = (matrices - 1) * batch + (others - 1) * pitch + dense
    return Operand(flat(matrix, extent), order, pitch, batch, wide)


def flat(array: DeviceNDArray, extent: int, dtype: np.dtype[Any] | None = None) -> DeviceNDArray:
    """The ``extent`` elements of memory from an array's first one on, whatever lies between its rows.

    dtype: read the memory as elements of this type, as `DeviceNDArray.view` does for a fraction of its time.
    """
    kind = dtype or array.dtype
    return with_strides(array, (extent,), (kind.itemsize,), kind)
