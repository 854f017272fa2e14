"""Reductions over arrays, written in the dialect and compiled as device functions.

An array of several axes is reduced by calling the same function for its sub-arrays, which have an axis less.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from portagpu.dialect.names import constexpr
from portagpu.frontend.source.callables import PythonFunction


@PythonFunction
def array_total(a: Any, combine: Any, start: constexpr, skips_nan: constexpr) -> Any:
    """Sum or product of all elements, or of those that are no nan; of integers in 64 bits, as in NumPy.

    combine: `operator.add` or `operator.mul`; start: what changes nothing there.
    """
    total = combine(a.dtype.type(start), start)
    if a.dtype.kind == "i" or a.dtype.kind == "b":
        total = np.int64(start)
    if a.dtype.kind == "u":
        total = np.uint64(start)
    for item in a:
        if a.ndim > 1:
            total = combine(total, array_total(item, combine, start, skips_nan))
        elif not skips_nan or item == item:
            total = combine(total, item)
    return total


@PythonFunction
def array_extreme(a: Any, precedes: Any) -> Any:
    """Least (precedes: `operator.lt`) or greatest (`operator.gt`) element; nan if one is."""
    best = array_first(a)
    for item in a:
        if a.ndim == 1:
            if precedes(item, best) or item != item:
                best = item
        else:
            inner = array_extreme(item, precedes)
            if precedes(inner, best) or inner != inner:
                best = inner
    return best


@PythonFunction
def array_first(a: Any) -> Any:
    """First element."""
    if a.ndim == 1:
        return a[0]
    return array_first(a[0])


@PythonFunction
def array_arg_extreme(a: Any, precedes: Any) -> Any:
    """Index of the least or greatest element, or of the first nan."""
    best = a[0]
    found = 0
    for i in range(a.size):
        if best != best:
            break
        if precedes(a[i], best) or a[i] != a[i]:
            best = a[i]
            found = i
    return found


@PythonFunction
def array_float_sum(a: Any) -> Any:
    """Sum of all elements, of integers as floats; of halves in single precision, as in NumPy."""
    total = a.dtype.type(0)
    if a.dtype.kind == "f" and a.dtype.itemsize == 2:
        total = np.float32(0)
    if a.dtype.kind == "i" or a.dtype.kind == "u" or a.dtype.kind == "b":
        total = 0.0
    for item in a:
        if a.ndim == 1:
            total += item
        else:
            total += array_float_sum(item)
    return total


@PythonFunction
def array_mean(a: Any) -> Any:
    """Arithmetic mean."""
    if a.dtype.kind == "f" and a.dtype.itemsize == 2:
        return np.float16(array_float_sum(a) / a.size)
    return array_float_sum(a) / a.size


@PythonFunction
def array_squares(a: Any, mean: Any) -> Any:
    """Sum of squared differences from the mean."""
    total = (a.dtype.type(0) + 0) * 1.0
    if a.dtype.kind == "f" and a.dtype.itemsize == 2:
        total = np.float32(0)
    for item in a:
        if a.ndim == 1:
            total += (item - mean) * (item - mean)
        else:
            total += array_squares(item, mean)
    return total


@PythonFunction
def array_var(a: Any) -> Any:
    """Variance (of the population)."""
    if a.dtype.kind == "f" and a.dtype.itemsize == 2:
        return np.float16(array_squares(a, array_float_sum(a) / a.size) / a.size)
    return array_squares(a, array_mean(a)) / a.size


@PythonFunction
def array_std(a: Any) -> Any:
    """Standard deviation (of the population)."""
    return math.sqrt(array_var(a))


@PythonFunction
def array_any(a: Any) -> Any:
    """Whether an element is true."""
    for item in a:
        if a.ndim == 1:
            if item:
                return True
        elif array_any(item):
            return True
    return False


@PythonFunction
def array_all(a: Any) -> Any:
    """Whether all elements are true."""
    for item in a:
        if a.ndim == 1:
            if not item:
                return False
        elif not array_all(item):
            return False
    return True


@PythonFunction
def array_nan_extreme(a: Any, precedes: Any) -> Any:
    """Least or greatest element that is no nan; nan if all are."""
    best = array_first(a)
    for item in a:
        if a.ndim == 1:
            if precedes(item, best) or best != best:
                best = item
        else:
            inner = array_nan_extreme(item, precedes)
            if precedes(inner, best) or best != best:
                best = inner
    return best


@PythonFunction
def array_count_known(a: Any) -> Any:
    """How many elements are no nan."""
    total = np.int64(0)
    for item in a:
        if a.ndim > 1:
            total += array_count_known(item)
        elif item == item:
            total += 1
    return total


@PythonFunction
def array_nanmean(a: Any) -> Any:
    """Mean of the elements that are no nan; nan if all are."""
    if a.dtype.kind == "i" or a.dtype.kind == "b" or a.dtype.kind == "u":
        return array_mean(a)
    return array_total(a, operator.add, 0, True) / a.dtype.type(array_count_known(a))


@PythonFunction
def array_count_nonzero(a: Any) -> Any:
    """How many elements are not zero; nan is not."""
    total = np.int64(0)
    for item in a:
        if a.ndim > 1:
            total += array_count_nonzero(item)
        elif item != 0:
            total += 1
    return total
