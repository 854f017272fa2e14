"""`numpy.round` of device arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import DTypeError
from portagpu.expressions.apply import apply
from portagpu.expressions.writing import chosen
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.xp import creation, manipulation
from portagpu.xp.conversion import into


def _round(a: DeviceNDArray, decimals: int = 0, out: Any = None) -> Any:
    """Of floats as NumPy computes it, scaled; of integers the exact result."""
    decimals = manipulation.whole_number(decimals, "decimals")
    if a.dtype.kind in "iub" and decimals >= 0:
        return into(a.copy("K") if a.dtype.kind != "b" else a.astype(np.float16), out)
    if a.dtype.kind == "b":
        raise DTypeError("bools are not rounded to tens", hint="x.astype(np.int8)")
    if a.dtype.kind in "iu":
        return into(_to_multiples(a, 10**-decimals), out)
    if not decimals:
        return into(apply(np.rint, a), out)
    if a.dtype.kind != "c":
        return into(_scaled(a, decimals), out)
    found = a.copy("K")
    for part in (found.real, found.imag):  # apart: a quotient of complex numbers mixes an infinite part with the other
        part[...] = _scaled(part, decimals)
    return into(found, out)


def _scaled(a: DeviceNDArray, decimals: int) -> DeviceNDArray:
    """Floats that are scaled, rounded to whole numbers, and scaled back."""
    with np.errstate(over="ignore"):
        factor = a.dtype.type(_power_of_ten(abs(decimals)))
    scale, back = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
    return apply(back, apply(np.rint, apply(scale, a, factor)), factor).astype(a.dtype, copy=False)


def _power_of_ten(exponent: int) -> float:
    """NumPy's, whose products are rounded one by one from 1e23 on; infinity beyond float64."""
    power = 10.0 ** min(exponent, 22)
    for _ in range(min(exponent, 309) - 22):
        power *= 10.0
    return power


def _to_multiples(a: DeviceNDArray, step: int) -> Any:
    """The multiples of a step that are nearest to integers, of two the even one; beyond the dtype they wrap around."""
    limits, zero = np.iinfo(a.dtype), a.dtype.type(0)
    half = step // 2
    if half >= limits.max:  # 0 is the even of the two multiples beside the least integer
        return creation.zeros_like(a)
    if step > limits.max:
        one = np.array(step % 2**limits.bits, f"u{a.dtype.itemsize}").view(a.dtype)[()]
        found = chosen(apply(np.greater, a, half), one, zero)
        return found if limits.min == 0 else chosen(apply(np.less, a, -half), -one, found)
    number = a.dtype.type(step)
    quotient: Any = apply(np.floor_divide, a, number)
    below: Any = apply(np.multiply, quotient, number)
    rest: Any = apply(np.subtract, a, below)
    to_next = apply(np.subtract, number, rest)
    is_odd = apply(np.not_equal, apply(np.remainder, quotient, a.dtype.type(2)), zero)
    ties_up = apply(np.logical_and, apply(np.equal, rest, to_next), is_odd)
    rises = apply(np.logical_or, apply(np.greater, rest, to_next), ties_up)
    return apply(np.add, below, chosen(rises, number, zero))


for _name in ("round", "around"):
    register(_name, _round, frozenset({"decimals", "out"}))
