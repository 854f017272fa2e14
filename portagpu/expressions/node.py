"""Nodes of expressions: a function of elements, applied to arrays, numbers and other nodes."""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import Context

_MOST = 24  # functions and operands of one kernel: more need registers that threads do not have


class Node:
    """A function of elements, applied to operands that broadcast to ``shape``: nodes, device arrays, NumPy scalars.

    ``inputs`` are the dtypes to which the operands are converted before. ``array`` refers to the array that shows the
    node to the program; ``result`` is what holds its elements once they are computed.
    """

    __slots__ = (
        "__weakref__",
        "array",
        "context",
        "dtype",
        "inputs",
        "name",
        "operands",
        "result",
        "shape",
        "was_reduced",
        "weight",
    )

    def __init__(
        self,
        context: Context,
        name: str,
        operands: tuple[Any, ...],
        inputs: tuple[np.dtype[Any], ...],
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
    ) -> None:
        self.context, self.name, self.operands, self.inputs = context, name, operands, inputs
        self.dtype, self.shape = dtype, shape
        self.array: ref[DeviceNDArray] | None = None
        self.was_reduced = False  # by a kernel that did not store it
        self.result: DeviceNDArray | None = None
        weight = 1
        for operand in operands:
            weight += operand.weight if type(operand) is Node else 1
        self.weight: int = weight  # of the tree below; parts that are shared count as often as they occur

    @property
    def is_large(self) -> bool:
        """Whether nothing should be added any more."""
        return self.weight >= _MOST
