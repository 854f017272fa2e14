"""Functions of elements that were applied before to operands like these: arrays that are alike, and numbers.

NumPy's rules for shapes and dtypes are left out then. What programs apply that go step by step, to arrays that are all
there, is also computed as it was before: the launch is kept beside.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu.dispatch.ready import ReadyLaunch
from portagpu.expressions.operations import Operation
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.facts import Facts
from portagpu.runtime.execution.context import Context

_MOST = 4096  # functions of operands that a context remembers
PYTHON = (bool, int, float, complex)
"""Types of numbers that adapt to the dtypes of arrays (NEP 50)."""


class Launch(NamedTuple):
    """A launch that computes a function's elements.

    ``order``: those of the operands that the kernel takes after the array that it writes, as it takes them. ``more``:
    numbers that it takes behind them. ``views``: facts of the views that it takes in place of arrays, None for one that
    it takes itself. A new array gets the layout ``token``.
    """

    ready: ReadyLaunch
    order: slice
    more: tuple[Any, ...]
    views: tuple[Facts | None, ...] | None
    token: Any


class Applied:
    """A function of elements with operands that are alike, and perhaps with an array alike that it is written to.

    ``dtypes``: that it computes in, where some of the operands are numbers. ``facts``: of the arrays that it gives,
    once there was one. ``launches``: by `alike`. ``strides``: of the result, None for C order.
    """

    __slots__ = ("context", "dtypes", "facts", "launches", "operation", "shape", "strides")

    def __init__(
        self,
        context: Context,
        operation: Operation,
        shape: tuple[int, ...],
        has_numbers: bool,
        strides: tuple[int, ...] | None = None,
    ) -> None:
        self.context, self.operation, self.shape = context, operation, shape
        self.dtypes = operation.inputs if has_numbers else None
        self.strides = strides
        self.facts: Facts | None = None
        self.launches: dict[int, Launch] = {}


def alike(operands: tuple[Any, ...], into: DeviceNDArray | None) -> int:
    """Which of one or two operands, and of the array that is written, are the same."""
    first = operands[0]
    if len(operands) == 1:
        return 2 if first is into else 0
    second = operands[1]
    return (1 if first is second else 0) + (2 if first is into else 0) + (4 if second is into else 0)


def typed(values: tuple[Any, ...], dtypes: tuple[np.dtype[Any], ...]) -> tuple[Any, ...]:
    """Operands with Python's numbers as numbers of dtypes. Raises `OverflowError`."""
    for x in values:
        if type(x) in PYTHON:
            break
    else:
        return values
    return tuple(as_operand(kind.type(x)) if type(x) in PYTHON else x for x, kind in zip(values, dtypes, strict=True))


def as_operand(number: Any) -> Any:
    """A NumPy scalar as kernels take it: truth as a byte."""
    return np.uint8(number) if type(number) is np.bool_ else number


def key_of(ufunc: np.ufunc, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """What tells a function of operands from others."""
    key: list[Any] = [ufunc]
    for x in values:
        key.append(x.facts_token if type(x) is DeviceNDArray else type(x))
    return tuple(key)


def known(key: tuple[Any, ...], values: tuple[Any, ...]) -> Applied | None:
    """A function that was applied to values alike; None where there was none."""
    for x in values:
        if type(x) is DeviceNDArray:
            found: Applied | None = x.context.applied.get(key)
            return found
    return None


def remember(
    key: tuple[Any, ...],
    values: tuple[Any, ...],
    operation: Operation,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
) -> Applied | None:
    """Keep a function's operation, shape and strides for values with the same ``key``, if that tells all."""
    arrays = [x for x in values if type(x) is DeviceNDArray]
    if not arrays or None in key:
        return None
    if not all(type(x) in PYTHON or _is_plain(x) for x in values if type(x) is not DeviceNDArray):
        return None
    return keep(key, Applied(arrays[0].context, operation, shape, len(arrays) < len(values), strides))


def keep(key: tuple[Any, ...], applied: Applied) -> Applied:
    """Remember a function with its operands."""
    kept = applied.context.applied
    if len(kept) >= _MOST:
        kept.clear()
    kept[key] = applied
    return applied


def _is_plain(x: Any) -> bool:
    """Whether a value is a number whose type tells its dtype, and which kernels take as it is."""
    return isinstance(x, np.number) and x.dtype.kind in "iufc"
