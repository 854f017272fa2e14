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
