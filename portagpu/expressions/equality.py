"""``==`` and ``!=`` of device arrays with what is no number: as NumPy's, texts and None equal no element."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.expressions.apply import apply
from portagpu.expressions.writing import filled
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.checks import host_array
from portagpu.runtime.arrays.creation import operand_array
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.ufuncs.operands import broadcast_shapes


def _compared(ufunc: np.ufunc, method: str) -> Any:
    def function(x: DeviceNDArray, other: Any) -> Any:
        if getattr(other, "__array_ufunc__", ()) is None:  # it answers for all arrays
            return NotImplemented
        if operand_array(other) is None:
            host = host_array(other)
            if host.dtype.kind in "US" and x.dtype.kind not in "mM":  # NumPy compares dates with their texts
                return _never_equal(x, host.shape)
            if host.dtype.kind == "O" and not host.ndim:
                answer = getattr(type(other), method)(other, x)
                return _never_equal(x, ()) if answer is NotImplemented else answer
        return apply(ufunc, x, other)

    def _never_equal(x: DeviceNDArray, shape: tuple[int, ...]) -> DeviceNDArray:
        return filled(broadcast_shapes((x.shape, shape)), ufunc is np.not_equal, np.dtype(bool), x.context)

    return function


register("==", _compared(np.equal, "__eq__"))
register("!=", _compared(np.not_equal, "__ne__"))
