"""Nodes of expressions: a function of elements, applied to arrays, numbers and other nodes."""

from __future__ import annotations

import copy
import math
from types import CodeType
from typing import Any
from weakref import ref

import numpy as np

from portagpu.errors import PortaGPUError
from portagpu.expressions.applied import Applied
from portagpu.expressions.operations import Operation
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream
from portagpu.source import span_of

MOST_WEIGHT = 24  # functions and operands of one kernel: more need registers that threads do not have


class Node:
    """A function of elements, applied to operands that broadcast to ``shape``: nodes, device arrays, NumPy scalars.

    ``array`` refers to the array that shows the node to the program; ``result`` is what holds its elements once they
    are computed. ``was_reduced``: by a kernel that did not store it. ``stream``: that of the array, which was current
    where it was written. ``shifts``: the elements of the operand, an array, moved along a ring: for each axis the place
    of the element that comes first. ``applied``: where the operands are arrays and numbers, perhaps how the
    function was applied to others like them. ``strides``: of the result in order K, None for C order.
    ``failure``: the error that the node and all that read it raise from now on. ``place``: the code that wrote the
    expression, and the instruction in it.
    """

    __slots__ = (
        "__weakref__",
        "applied",
        "array",
        "context",
        "failure",
        "operands",
        "operation",
        "place",
        "result",
        "shape",
        "shifts",
        "stream",
        "strides",
        "was_reduced",
        "weight",
    )

    def __init__(
        self,
        context: Context,
        operation: Operation,
        operands: tuple[Any, ...],
        shape: tuple[int, ...],
        shifts: tuple[int, ...] | None = None,
        applied: Applied | None = None,
        strides: tuple[int, ...] | None = None,
    ) -> None:
        self.context, self.operation, self.operands, self.shape = context, operation, operands, shape
        self.array: ref[DeviceNDArray] | None = None
        self.result: DeviceNDArray | None = None
        self.failure: Exception | None = None
        self.place: tuple[CodeType, int] | None = None
        self.shifts = shifts
        self.stream: Stream | None = None
        self.was_reduced = False
        self.applied = applied
        self.strides = strides if applied is None else applied.strides
        weight: int = 1 + len(operands)
        if applied is None:
            if shifts is not None:
                weight = 2
            else:
                for operand in operands:
                    if type(operand) is Node:
                        weight += operand.weight - 1
        self.weight: int = weight  # of the tree below; parts that are shared count as often as they occur

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the elements."""
        return self.operation.dtype

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def fail(self, error: Exception) -> None:
        """Keep the first error of the node, without the frames and arrays that its traceback holds.

        The error names the line that wrote the expression, from now on.
        """
        if self.failure is None and self.result is None:
            if self.place is not None and isinstance(error, PortaGPUError) and error.span is None:
                error.span = span_of(*self.place)
            self.failure = _without_traceback(error)

    def check(self) -> None:
        """Raise the node's error, if it has failed: operands may have been written since."""
        if self.failure is not None:
            raise _without_traceback(self.failure)

    @property
    def is_wanted(self) -> bool:
        """Whether the program still has the array."""
        return self.array is not None and self.array() is not None


def _without_traceback(error: Exception) -> Exception:
    """A copy of an error: each thread that raises it adds its own frames."""
    try:
        copied = copy.copy(error)
        if str(copied) == str(error):
            return copied
    except Exception:
        pass
    return error.with_traceback(None)
