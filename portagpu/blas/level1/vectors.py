"""Vectors as kernels take them: memory, the place of the first element, and the step to the next one."""

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu.blas.gemm.core.operands import index_type, placed
from portagpu.runtime.arrays.array import DeviceNDArray


class Vector(NamedTuple):
    """Element i is ``memory[first + i * step]``; of vectors that are read backwards, the step is negative.

    ``first`` and ``step`` are of one signed type, which holds every index of the memory.
    """

    memory: Any
    first: Any
    step: Any


def vector_of(x: DeviceNDArray, number: Any = None) -> Vector:
    """An array of one axis, of any stride, as kernels take it; ``number``: the type of its steps."""
    kind = index_type(x) if number is None else number
    (n,), (stride,), item = x.shape, x.strides, x.itemsize
    step = stride // item if n > 1 else 1
    below = (n - 1) * -stride if n > 1 and stride < 0 else 0  # bytes from the lowest element to the first one
    memory = placed(x, abs(step) * (n - 1) + 1 if n else 0, -below)
    return Vector(memory, kind(below // item), kind(step))
