"""NumPy's functions of elements that are no ufuncs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu.errors import ShapeError
from portagpu.expressions.apply import apply, apply_into
from portagpu.expressions.writing import chosen
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.xp import creation, manipulation
from portagpu.xp.conversion import array_of


def _nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> DeviceNDArray:
    array = array_of(x)
    if array.dtype.kind not in "fc":
        return array.copy("K") if copy else array
    if array.dtype.kind == "c":
        found = array.copy("K") if copy else array
        for part in (found.real, found.imag):
            _nan_to_num(part, False, nan, posinf, neginf)
        return found
    limits = np.finfo(array.dtype)
    high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
    kind = array.dtype.type
    found = chosen(apply(np.isnan, array), kind(nan), array)
    found = chosen(apply(np.equal, array, kind(math.inf)), kind(high), found)
    found = chosen(apply(np.equal, array, kind(-math.inf)), kind(low), found)
    if copy:
        return found
    array[...] = found
    return array


def _angle(z: DeviceNDArray, deg: bool = False) -> DeviceNDArray:
    if z.dtype.kind == "c":
        found = apply(np.arctan2, z.imag, z.real)
    else:
        found = apply(np.arctan2, 0, z)  # 0 of the sign that NumPy's has
    return apply(np.multiply, found, 180 / math.pi) if deg else found


def _sinc(x: DeviceNDArray) -> DeviceNDArray:
    """``sin(pi x) / (pi x)``, and 1 at 0."""
    kind = x.dtype if x.dtype.kind in "fc" else np.result_type(x.dtype, creation.default_float(x.context))
    y = apply(np.multiply, math.pi, x.astype(kind, copy=False))
    y = chosen(apply(np.equal, y, 0), np.finfo(kind).eps, y)  # whose quotient is 1
    return apply(np.divide, apply(np.sin, y), y)


def _fix(x: DeviceNDArray, out: Any = None) -> DeviceNDArray:
    return apply(np.trunc, x) if out is None else apply_into(out, np.trunc, x)


def _rot90(m: DeviceNDArray, k: int = 1, axes: tuple[int, int] = (0, 1)) -> DeviceNDArray:
    first, second = axes
    if m.ndim < 2 or first % m.ndim == second % m.ndim:
        raise ShapeError(f"rot90 turns two axes, not {axes} of {m.ndim}")
    turns = k % 4
    if turns == 0:
        return m._view(Ellipsis)
    if turns == 2:
        return manipulation.flip(m, axis=axes)
    if turns == 1:
        flipped: DeviceNDArray = manipulation.flip(m, axis=second).swapaxes(first, second)
        return flipped
    return manipulation.flip(m.swapaxes(first, second), axis=second)


register("nan_to_num", _nan_to_num, frozenset({"copy", "nan", "posinf", "neginf"}))
register("angle", _angle, frozenset({"deg"}))
register("sinc", _sinc, frozenset())
register("fix", _fix, frozenset({"out"}))
register("rot90", _rot90, frozenset({"k", "axes"}))
