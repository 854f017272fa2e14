"""Powers with exponents that are small whole numbers: products, which are exact to a rounding or two, and quick."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ArgumentValueError
from portagpu.expressions.apply import apply, apply_into
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.numpy_dispatch import register

_WHOLE = "biu"
_HALVES = (0.5, 1.5)


def power(x: Any, exponent: Any, *, out: DeviceNDArray | None = None) -> DeviceNDArray:
    """`numpy.power` of device arrays and numbers; powers of floats beyond the fourth are those of the device's ``pow``.

    Drivers may err by 16 units in the last place there (OpenCL C, section 7.4), and take 100 times as long. Raises
    `ArgumentValueError` for integers with an exponent below zero that the host knows.
    """
    if (
        isinstance(exponent, int | np.integer)
        and exponent < 0
        and isinstance(x, DeviceNDArray)
        and x.dtype.kind in _WHOLE
        and np.result_type(x.dtype, exponent).kind in _WHOLE
    ):
        raise ArgumentValueError(
            f"integers to the power {exponent} are not integers", hint="convert the base: x.astype(float) ** -1"
        )
    if type(exponent) is int and isinstance(x, DeviceNDArray):
        kind = x.dtype.kind
        if exponent == 2 and kind in "biufc":
            return _made(out, np.square, x)
        if exponent == 3 and kind in "iuf":
            return _made(out, np.multiply, apply(np.square, x), x)
        if exponent == 4 and kind in "iuf":
            return _made(out, np.square, apply(np.square, x))
        if exponent == 1 and kind in "fc":
            return _made(out, np.positive, x)
        if exponent == -1 and kind in "fc":
            return _made(out, np.reciprocal, x)
    elif type(exponent) is float and exponent.is_integer() and isinstance(x, DeviceNDArray) and x.dtype.kind in "fc":
        return power(x, int(exponent), out=out) if -2 < exponent < 5 else _made(out, np.power, x, exponent)
    return _made(out, np.power, x, exponent)


def _made(out: DeviceNDArray | None, ufunc: np.ufunc, *values: Any) -> DeviceNDArray:
    return apply(ufunc, *values) if out is None else apply_into(out, ufunc, *values)


def _operator(x: Any, exponent: Any, *, out: DeviceNDArray | None = None) -> DeviceNDArray:
    """``x ** exponent``, which for roots is `numpy.sqrt`, as NumPy's operator is: that of a negative number is NaN."""
    if type(exponent) is not float or abs(exponent) not in _HALVES or not isinstance(x, DeviceNDArray):
        return power(x, exponent, out=out)
    if x.dtype.kind != "f" and (x.dtype.kind != "c" or exponent != _HALVES[0]):
        return power(x, exponent, out=out)
    root = apply(np.sqrt, x)
    if abs(exponent) == _HALVES[1]:
        root = apply(np.multiply, root, x)
    return _made(out, np.positive if exponent > 0 else np.reciprocal, root)


register("**", _operator, frozenset({"out"}))
