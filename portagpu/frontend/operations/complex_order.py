"""NumPy's lexicographic order of complex numbers; Python's ``<`` of them stays an error."""

from __future__ import annotations

import cmath
import math
from typing import Any

from portagpu.frontend.core.convert import common_type, convert
from portagpu.frontend.core.registry import Call, call_library
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Value
from portagpu.frontend.source.callables import LibraryFunction


@LibraryFunction
def less(a: Any, b: Any) -> Any:
    """`numpy.less`."""
    if a.real == b.real:
        return a.imag < b.imag
    return a.real < b.real and not math.isnan(a.imag) and not math.isnan(b.imag)


@LibraryFunction
def less_equal(a: Any, b: Any) -> Any:
    """`numpy.less_equal`."""
    if a.real == b.real:
        return a.imag <= b.imag
    return a.real < b.real and not math.isnan(a.imag) and not math.isnan(b.imag)


@LibraryFunction
def maximum(a: Any, b: Any) -> Any:
    """`numpy.maximum`: where one is nan, that one."""
    return a if cmath.isnan(a) or less_equal(b, a) else b


@LibraryFunction
def minimum(a: Any, b: Any) -> Any:
    """`numpy.minimum`: where one is nan, that one."""
    return a if cmath.isnan(a) or less_equal(a, b) else b


@LibraryFunction
def fmax(a: Any, b: Any) -> Any:
    """`numpy.fmax`: where one is nan, the other."""
    return a if cmath.isnan(b) or less_equal(b, a) else b


@LibraryFunction
def fmin(a: Any, b: Any) -> Any:
    """`numpy.fmin`: where one is nan, the other."""
    return a if cmath.isnan(b) or less_equal(a, b) else b


_FUNCTIONS = {f.__name__: f for f in (less, less_equal, maximum, minimum, fmax, fmin)}
_SWAPPED = {"greater": "less", "greater_equal": "less_equal"}


def ordered(ctx: FunctionState, name: str, site: Call, left: Value, right: Value) -> Value:
    """``np.less`` and the like, ``np.maximum`` and the like, of two numbers of which one is complex."""
    kind = common_type(ctx, left, right)
    a, b = convert(ctx, left, kind), convert(ctx, right, kind)
    if name in _SWAPPED:
        return call_library(ctx, _FUNCTIONS[_SWAPPED[name]], site, b, a)
    return call_library(ctx, _FUNCTIONS[name], site, a, b)
