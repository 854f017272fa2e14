"""What `portagpu.matmul` reduces on request: an operation and its axes, as NumPy counts them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError, UnknownOptionError, with_article

ROWS, COLUMNS = -2, -1
_AXES = {-1: (COLUMNS,), -2: (ROWS,), (-1,): (COLUMNS,), (-2,): (ROWS,), (-2, -1): (COLUMNS, ROWS)}
_AXES[-1, -2] = _AXES[-2, -1]
_TAKEN = "a tuple of operations and axes, as in reductions=(('sum', -1), ('amax', -2))"
_SHORT = ("float16", "bfloat16")


class Operation(Enum):
    """What elements are reduced by; the values are the names that callers use."""

    SUM = "sum"
    MAX = "max"
    AMAX = "amax"  # of magnitudes


@dataclass(frozen=True, slots=True)
class Reduction:
    """An operation along axes of the result's matrices, in the order in which they go: -1, -2 or both."""

    operation: Operation
    axes: tuple[int, ...]

    def dtype(self, of: np.dtype[Any]) -> np.dtype[Any]:
        """The dtype of what a result's elements of a dtype are reduced to."""
        if self.operation is Operation.SUM:
            if of.name in _SHORT:
                return np.dtype(np.float32)
            return np.add.reduce(np.zeros(1, of), keepdims=True).dtype
        if self.operation is Operation.AMAX and of.kind == "c":
            return np.zeros(1, of).real.dtype
        return of

    def shape(self, of: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of what a result of a shape is reduced to."""
        return tuple(extent for axis, extent in enumerate(of, -len(of)) if axis not in self.axes)


def checked_reductions(reductions: Any) -> tuple[Reduction, ...]:
    """What a caller asks for. Raises `ArgumentTypeError`, `UnknownOptionError`, `ShapeError`."""
    if not isinstance(reductions, tuple | list):
        raise ArgumentTypeError(f"reductions is {with_article(type(reductions).__name__)}", hint=f"pass {_TAKEN}")
    return tuple(_checked(each, f"reductions[{n}]") for n, each in enumerate(reductions))


def _checked(each: Any, name: str) -> Reduction:
    if not isinstance(each, tuple | list) or len(each) != 2:
        raise ArgumentTypeError(f"{name} is {each!r}, which is no operation with its axis", hint=f"pass {_TAKEN}")
    operation, axis = each
    names = [o.value for o in Operation]
    if operation not in names:
        raise UnknownOptionError(f"{name} asks for {operation!r}", hint=f"the operations are {', '.join(names)}")
    key = tuple(axis) if isinstance(axis, list) else axis
    axes = _AXES.get(key) if isinstance(key, int | tuple) and not isinstance(key, bool) else None
    if axes is None:
        raise ShapeError(
            f"{name} has the axis {axis!r}",
            hint="-1 reduces each row, -2 each column, (-2, -1) each matrix; other axes are not reduced",
        )
    return Reduction(Operation(operation), axes)


def check_reducible(reductions: tuple[Reduction, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise `ShapeError` or `DTypeError` for a result that cannot be reduced so."""
    if len(shape) < 2:
        raise ShapeError(
            f"reductions are of matrices, and the result has the shape {shape}",
            hint="give the vector a second axis: x[None] or x[:, None]",
        )
    for each in reductions:
        if each.operation is Operation.MAX and dtype.kind == "c":
            raise DTypeError(f"complex numbers ({dtype}) have no order", hint="'amax' is the largest magnitude")
        if each.operation is not Operation.SUM and any(shape[axis] == 0 for axis in each.axes):
            raise ShapeError(
                f"{each.operation.value} of no elements: the result has the shape {shape}",
                hint="a sum of no elements is 0, others have no value",
            )
