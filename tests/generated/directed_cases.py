"""Cases of arithmetic that is rounded in one direction, from exact fractions, and of functions of bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from cases import Case, Reference, always
from operands import Array

from portagpu import cuda

_KINDS = (("float64", "", "d"), ("float32", "f", "f"))


def _float(exact: Fraction, dtype: str, mode: str) -> float:
    """The largest number that is not above an exact one (``rd``), and so on; infinities beyond the largest."""
    if mode == "rz":
        mode = "rd" if exact > 0 else "ru"
    if mode == "ru":
        return -_float(-exact, dtype, "rd")
    info = np.finfo(dtype)
    if exact > Fraction(float(info.max)):
        return float(info.max)
    if exact < -Fraction(float(info.max)):
        return -math.inf
    if exact == 0:
        return 0.0
    power = abs(exact.numerator).bit_length() - exact.denominator.bit_length()
    power += abs(exact) >= Fraction(2) ** (power + 1)
    power -= abs(exact) < Fraction(2) ** power
    unit = Fraction(2) ** max(power - info.nmant, int(info.minexp) - info.nmant)
    return (
        math.floor(exact / unit) * float(unit)
        if unit > Fraction(float(info.tiny))
        else float(math.floor(exact / unit) * unit)
    )


def _directed(function: Callable[..., Any], plain: Callable[..., Any], mode: str) -> Reference:
    """By the exact function of fractions, and by NumPy's where an operand or the result is no fraction."""

    def one(*numbers: Any) -> float:
        dtype = numbers[0].dtype.name
        near = float(plain(*numbers))
        if not all(map(math.isfinite, numbers)) or math.isnan(near):
            return near
        try:
            exact = function(*(Fraction(float(v)) for v in numbers))
        except ZeroDivisionError:
            return near
        if exact == 0:
            return near
        return math.copysign(_float(exact, dtype, mode), 1 if exact > 0 else -1)

    def reference(*arrays: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.array([one(*v) for v in zip(*arrays, strict=True)], arrays[0].dtype)

    return reference


def _root(mode: str) -> Reference:
    def one(x: Any) -> float:
        near = np.sqrt(x)
        if not (x > 0 and np.isfinite(x)):
            return float(near)
        exact = Fraction(float(x))
        while Fraction(float(near)) ** 2 > exact:
            near = np.nextafter(near, x.dtype.type(-np.inf))
        while Fraction(float(np.nextafter(near, x.dtype.type(np.inf)))) ** 2 <= exact:
            near = np.nextafter(near, x.dtype.type(np.inf))
        if mode == "ru" and Fraction(float(near)) ** 2 < exact:
            near = np.nextafter(near, x.dtype.type(np.inf))
        return float(near)

    def reference(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.array([one(v) for v in x], x.dtype)

    return reference


def _zero_sum(mode: str, reference: Reference, sums: Callable[..., Any]) -> Reference:
    """Sums that are exactly 0 are negative where they are rounded down, but for the sum of positive zeros."""

    def adjusted(*arrays: Array) -> Array:
        found = reference(*arrays)
        if mode != "rd":
            return found
        left, right = sums(*arrays)
        zero = (found == 0) & (left == -right) & (np.signbit(left) | np.signbit(right))
        return np.where(zero, -np.abs(found), found)

    return adjusted


def _case(name: str, reference: Reference, operands: tuple[str, ...], result: str, **how: Any) -> Case:
    return Case(
        function=getattr(cuda.libdevice, name),
        covers=(f"libdevice.{name}",),
        reference=reference,
        operands=(operands,),
        result=always(result),
        **how,
    )


def _products(x: Array, y: Array, z: Array) -> tuple[Array, Array]:
    exact = [
        Fraction(a) * Fraction(b) if math.isfinite(a) and math.isfinite(b) else None
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]
    same = [e is not None and math.isfinite(c) and e == -Fraction(c) for e, c in zip(exact, z.tolist(), strict=True)]
    with np.errstate(all="ignore"):
        signs = np.copysign(1, x) * np.copysign(1, y)
    left = np.where(same, np.copysign(np.abs(z), signs), np.nan)
    return left, z


def directed_cases() -> list[Case]:
    """All of them."""
    found = []
    for kind, end, letter in _KINDS:
        for mode in ("rd", "ru", "rz"):
            plain: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
                "add": (lambda x, y: x + y, np.add),
                "sub": (lambda x, y: x - y, np.subtract),
                "mul": (lambda x, y: x * y, np.multiply),
                "div": (lambda x, y: x / y, np.divide),
            }
            for name, (exact, near) in plain.items():
                reference = _directed(exact, near, mode)
                if name == "add":
                    reference = _zero_sum(mode, reference, lambda x, y: (x, y))
                if name == "sub":
                    reference = _zero_sum(mode, reference, lambda x, y: (x, -y))
                found.append(_case(f"{letter}{name}_{mode}", reference, (kind, kind), kind))
            found.append(_case(f"{letter}rcp_{mode}", _directed(lambda x: 1 / x, np.reciprocal, mode), (kind,), kind))
            found.append(_case(f"{letter}sqrt_{mode}", _root(mode), (kind,), kind))
            fused = _directed(lambda x, y, z: x * y + z, lambda x, y, z: x * y + z, mode)
            found.append(
                _case(f"fma{end}_{mode}", _zero_sum(mode, fused, _products), (kind,) * 3, kind, fair=_no_overflow)
            )
    return found


def _no_overflow(x: Array, y: Array, z: Array) -> Array:
    """NumPy's product overflows where the fused one need not, and infinity minus infinity is no guide."""
    with np.errstate(all="ignore"):
        return np.isfinite(z) | ~np.isinf(x * y) | np.isinf(x) | np.isinf(y)


def bit_cases() -> list[Case]:
    """Of halves and of float64 numbers' parts."""

    def half_bits(f: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.where(np.isnan(f), np.int16(0x7FFF), f.astype(np.float16).view(np.int16)).astype(np.int16)

    def joined(x: Array, y: Array) -> Array:
        return ((x.astype(np.int64) << 32) | y.view(np.uint32).astype(np.int64)).view(np.float64)

    return [
        _case("double2hiint", lambda d: (d.view(np.int64) >> 32).astype(np.int32), ("float64",), "int32"),
        _case("double2loint", lambda d: d.view(np.int64).astype(np.int32), ("float64",), "int32"),
        _case("hiloint2double", joined, ("int32", "int32"), "float64"),
        _case("half2float", lambda h: h.view(np.float16).astype(np.float32), ("int16",), "float32"),
        _case("float2half_rn", half_bits, ("float32",), "int16"),
    ]
