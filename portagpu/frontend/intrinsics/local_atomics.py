"""Atomics on local arrays, as plain operations: only one thread has the array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu.frontend.source.callables import LibraryFunction


def _nan(x: Any) -> bool:
    return False if x.dtype.kind != "f" else math.isnan(x)


def _as_bits(x: Any, y: Any) -> bool:
    if x.dtype.kind != "f":
        return bool(x == y)
    return bool((x == y and np.signbit(x) == np.signbit(y)) or (math.isnan(x) and math.isnan(y)))


_is_nan: Any = LibraryFunction(_nan)
_same: Any = LibraryFunction(_as_bits)


@LibraryFunction
def add(array: Any, index: Any, value: Any) -> Any:
    """``array[index] += value``."""
    old = array[index]
    array[index] = old + value
    return old


@LibraryFunction
def sub(array: Any, index: Any, value: Any) -> Any:
    """``array[index] -= value``."""
    old = array[index]
    array[index] = old - value
    return old


@LibraryFunction
def maximum(array: Any, index: Any, value: Any) -> Any:
    """The larger one; NaN changes nothing, nor is changed."""
    old = array[index]
    if value > old:
        array[index] = value
    return old


@LibraryFunction
def minimum(array: Any, index: Any, value: Any) -> Any:
    """The smaller one; NaN changes nothing, nor is changed."""
    old = array[index]
    if value < old:
        array[index] = value
    return old


@LibraryFunction
def nanmax(array: Any, index: Any, value: Any) -> Any:
    """The larger one; NaN counts as missing."""
    old = array[index]
    if value > old or _is_nan(old):
        array[index] = value
    return old


@LibraryFunction
def nanmin(array: Any, index: Any, value: Any) -> Any:
    """The smaller one; NaN counts as missing."""
    old = array[index]
    if value < old or _is_nan(old):
        array[index] = value
    return old


@LibraryFunction
def and_(array: Any, index: Any, value: Any) -> Any:
    """``array[index] &= value``."""
    old = array[index]
    array[index] = old & value
    return old


@LibraryFunction
def or_(array: Any, index: Any, value: Any) -> Any:
    """``array[index] |= value``."""
    old = array[index]
    array[index] = old | value
    return old


@LibraryFunction
def xor(array: Any, index: Any, value: Any) -> Any:
    """``array[index] ^= value``."""
    old = array[index]
    array[index] = old ^ value
    return old


@LibraryFunction
def inc(array: Any, index: Any, value: Any) -> Any:
    """One more; from ``value`` on 0."""
    old = array[index]
    array[index] = 0 if old >= value else old + 1
    return old


@LibraryFunction
def dec(array: Any, index: Any, value: Any) -> Any:
    """One less; 0, and what is above ``value``, becomes ``value``."""
    old = array[index]
    array[index] = value if old == 0 or old > value else old - 1
    return old


@LibraryFunction
def exch(array: Any, index: Any, value: Any) -> Any:
    """``array[index] = value``."""
    old = array[index]
    array[index] = value
    return old


@LibraryFunction
def cas(array: Any, index: Any, expected: Any, value: Any) -> Any:
    """``array[index] = value`` where it was ``expected``."""
    old = array[index]
    if _same(old, expected):
        array[index] = value
    return old


FUNCTIONS: dict[str, LibraryFunction] = {
    "add": add,
    "sub": sub,
    "max": maximum,
    "min": minimum,
    "nanmax": nanmax,
    "nanmin": nanmin,
    "and_": and_,
    "or_": or_,
    "xor": xor,
    "inc": inc,
    "dec": dec,
    "exch": exch,
    "cas": cas,
}
