"""What functions of arrays are given, as device arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context
from portagpu.ufuncs.operands import operand


def array_of(value: Any, context: Context | None = None) -> DeviceNDArray:
    """A device array; other libraries' on a device are shared, numbers and what is on the host is copied there.

    Raises `ArgumentTypeError` for what is no array.
    """
    if isinstance(value, DeviceNDArray):
        return value
    found = operand(value)
    return found if isinstance(found, DeviceNDArray) else to_device(np.asarray(found), context=context)


def context_of_any(*values: Any) -> Context | None:
    """The context of the first device array among values; None where there is none."""
    return next((x.context for x in values if isinstance(x, DeviceNDArray)), None)


def arrays_of(*values: Any) -> list[DeviceNDArray]:
    """Device arrays, where the first device array among the values is. Raises as `array_of`."""
    context = context_of_any(*values)
    return [array_of(x, context) for x in values]


def into(found: DeviceNDArray, out: Any) -> Any:
    """NumPy's ``out=`` of functions that make a new array."""
    if out is None:
        return found
    out[...] = found
    return out


def along(axis: int, key: Any) -> tuple[Any, ...]:
    """The subscripts that are ``key`` on one axis and take all of those before and behind."""
    return (*(slice(None),) * axis, key, Ellipsis)
