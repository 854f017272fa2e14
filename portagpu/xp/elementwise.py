"""Elementwise functions of the array API standard, and NumPy's other ufuncs."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.errors import DTypeError
from portagpu.expressions.apply import apply, apply_all, apply_into, as_operands
from portagpu.expressions.powers import power
from portagpu.expressions.writing import part, promoted
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.layout import checked_dtype
from portagpu.xp.conversion import array_of, context_of_any

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


def clip(x: Any, /, min: Any = None, max: Any = None) -> DeviceNDArray:
    """The elements, those below ``min`` or above ``max`` replaced by these; NaN where one of the three is NaN.

    The bounds are arrays or numbers that broadcast; a Python integer that the dtype cannot hold bounds nothing, or all.
    Raises `DTypeError` for complex numbers.
    """
    return bounded(x, min, max)


def bounded(
    x: Any, low: Any, high: Any, *, strict: bool = False, dtype: Any = None, casting: Any = "same_kind"
) -> DeviceNDArray:
    """See `clip`. ``strict``: as `numpy.clip`, which refuses Python integers, with `NumberRangeError`.

    It refuses those that the results' dtype cannot hold, but for those that bound no number of the array's dtype.
    Complex numbers it has in the order of their real parts, then of the imaginary ones. ``dtype``: in which bounds are
    compared, and results are.
    """
    array = array_of(x, context_of_any(low, high))
    if array.dtype.kind == "c" and not strict:
        raise DTypeError("complex numbers have no order", hint="clip x.real and x.imag")
    if strict and array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        low = None if type(low) is int and low <= limits.min else low
        high = None if type(high) is int and high >= limits.max else high
    if dtype is not None or casting != "same_kind":
        return _bounded_as(array, low, high, dtype, casting)
    found = array
    if low is not None and high is not None:  # two steps would promote twice
        found = array.astype(promoted(as_operands((array, low, high))[1], (array, low, high)), copy=False)
    if low is not None:
        found = apply(np.maximum, found, low if strict else _bound(low, found.dtype))
    if high is not None:
        found = apply(np.minimum, found, high if strict else _bound(high, found.dtype))
    return array.copy("K") if low is None and high is None else found


def _bounded_as(array: DeviceNDArray, low: Any, high: Any, dtype: Any, casting: Any) -> DeviceNDArray:
    """Between bounds in a dtype, to which ``casting`` allows all to be converted."""
    if dtype is not None:
        kind = checked_dtype(dtype)
    else:
        given = tuple(value for value in (array, low, high) if value is not None)
        kind = promoted(as_operands(given)[1], given)
    if low is None and high is None:
        return apply_all(np.positive, array, dtype=kind, casting=casting)[0]
    found = array
    for ufunc, bound in ((np.maximum, low), (np.minimum, high)):
        if bound is not None:
            (found,) = apply_all(ufunc, found, bound, dtype=kind, casting=casting)
    return found


def _bound(value: Any, dtype: np.dtype[Any]) -> Any:
    """A bound; a Python integer beyond what a dtype holds as the last number that it holds."""
    if type(value) is not int or dtype.kind not in "iu":
        return value
    limits = np.iinfo(dtype)
    return builtins.min(builtins.max(value, int(limits.min)), int(limits.max))


def round(x: Any, /) -> DeviceNDArray:
    """The nearest whole numbers, halves to the even one; of complex numbers, both parts."""
    array = array_of(x)
    return array.copy("K") if array.dtype.kind in "iu" else apply(np.rint, array)


def real(x: Any, /) -> DeviceNDArray:
    """The real parts; of an array that is there, a view."""
    return _part(array_of(x), ".real")


def imag(x: Any, /) -> DeviceNDArray:
    """The imaginary parts; of an array that is there, a view, and zeros of a real one."""
    return _part(array_of(x), ".imag")


def _part(x: DeviceNDArray, name: str) -> DeviceNDArray:
    if x.deferred is None or x.dtype.kind != "c":
        found: DeviceNDArray = x.real if name == ".real" else x.imag
        return found
    return part(x, name, np.empty(0, x.dtype).real.dtype)


def pow(x1: Any, x2: Any, /, *, out: DeviceNDArray | None = None) -> DeviceNDArray:
    """`numpy.power` of device arrays and numbers, which broadcast."""
    return power(x1, x2, out=out)


__all__ = [*_made, "clip", "imag", "pow", "real", "round"]
