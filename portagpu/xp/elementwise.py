"""Elementwise functions of the array API standard, and NumPy's other ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.expressions.apply import apply, apply_into
from portagpu.runtime.arrays.array import DeviceNDArray

_NAMES = {  # of the standard, and NumPy's
    **{
        name: name
        for name in (
            "add bitwise_and bitwise_or bitwise_xor ceil conj copysign cos cosh divide equal exp expm1 floor"
            " floor_divide greater greater_equal hypot isfinite isinf isnan less less_equal log log1p log2 log10"
            " logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter"
            " not_equal positive reciprocal remainder sign signbit sin sinh sqrt square subtract tan tanh trunc"
        ).split()
    },
    "abs": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "pow": "power",
}


def _function(name: str, ufunc: np.ufunc) -> Callable[..., Any]:
    if ufunc.nin == 1:

        def function(x: Any, /, *, out: DeviceNDArray | None = None) -> DeviceNDArray:
            return apply(ufunc, x) if out is None else apply_into(out, ufunc, x)

    else:

        def function(x1: Any, x2: Any, /, *, out: DeviceNDArray | None = None) -> DeviceNDArray:  # type: ignore[misc]
            return apply(ufunc, x1, x2) if out is None else apply_into(out, ufunc, x1, x2)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`numpy.{ufunc.__name__}` of device arrays and numbers, which broadcast."
    return function


_made = {name: _function(name, getattr(np, numpy_name)) for name, numpy_name in _NAMES.items()}
globals().update(_made)
__all__ = [*_made]
