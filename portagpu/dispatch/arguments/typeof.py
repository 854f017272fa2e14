"""`cuda.typeof`: the type that a value has as a kernel argument."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.errors import ArgumentTypeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.creation import as_device_array, is_device_like
from portagpu.runtime.arrays.layout import layout_of
from portagpu.types import Array, Number, Tuple, Type, none, typeof_dtype


def typeof(val: Any) -> Type:
    """The type of ``val``, a number, array or tuple, such as ``array(float32, 1d, C)``.

    Raises `ArgumentTypeError` for what kernels cannot take.
    """
    if is_device_like(val):
        val = as_device_array(val)
    if isinstance(val, np.ndarray | DeviceNDArray):
        readonly = val.readonly if isinstance(val, DeviceNDArray) else not val.flags.writeable
        layout = layout_of(val.shape, val.strides, val.dtype.itemsize)
        return Array(typeof_dtype(val.dtype), val.ndim, layout, readonly)
    if isinstance(val, np.generic):
        return typeof_dtype(val.dtype)
    if isinstance(val, enum.Enum):
        return typeof(val.value)
    if isinstance(val, tuple):
        return Tuple(tuple(typeof(v) for v in val), getattr(val, "_fields", ()))
    if val is None:
        return none
    if isinstance(val, int) and not isinstance(val, bool) and not -(2**63) <= val < 2**64:
        raise ArgumentTypeError(f"{val} does not fit into 64 bits")
    if isinstance(val, int) and val >= 2**63:
        return Number(dtypes.UINT64)
    row = dtypes.parse(type(val)) if isinstance(val, bool | int | float | complex) else None
    if row is None:
        raise ArgumentTypeError(
            f"kernels take no {type(val).__name__}", hint="pass numbers, arrays, or tuples of these"
        )
    return Number(row)
