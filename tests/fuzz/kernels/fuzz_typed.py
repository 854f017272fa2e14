"""Texts of expressions with their types and bounds: conversions, promotion, and sums that stay exact.

Integers wrap around. Every float is bounded and a multiple of a power of two (`magnitude` and `fraction` of `Typed`),
so that sums and products are exact, also where a compiler contracts them to a fused multiply-add.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

NAMES = {
    "i4": "np.int32",
    "i1": "np.int8",
    "i2": "np.int16",
    "i8": "np.int64",
    "u1": "np.uint8",
    "u2": "np.uint16",
    "u4": "np.uint32",
    "u8": "np.uint64",
    "f4": "np.float32",
    "f8": "np.float64",
    "f2": "np.float16",
}
INTEGERS = ("i4", "i1", "i2", "i8", "u1", "u2", "u4", "u8")
FLOATS = ("f4", "f8", "f2")
STRONG = (*INTEGERS, *FLOATS)
STORED = (*STRONG, "b", "pi", "pf")  # "pi" and "pf": Python's int and float
_PRECISION = {"f2": 11, "f4": 24, "f8": 53, "pf": 53}


def limit(kind: str) -> tuple[int, int]:
    """Magnitude and fraction of a float in a variable or an array."""
    return (6, 4) if kind == "f2" else (8, 4)


@dataclass(frozen=True)
class Typed:
    """An expression's text, type, and for floats and Python's integers its bounds.

    ``|value| <= 2**magnitude``, a multiple of ``2**-fraction``; ``literal``: an integer that adopts the other's type;
    ``maybe_constant``: a Python integer that the compiler may or may not know.
    """

    text: str
    kind: str
    magnitude: int = 64
    fraction: int = 0
    literal: bool = False
    maybe_constant: bool = False

    @property
    def integer(self) -> bool:
        return self.kind in INTEGERS

    @property
    def floating(self) -> bool:
        return self.kind in _PRECISION


@dataclass(frozen=True)
class ArrayName:
    """An array that a program can read: element type, shape in C order, and the text of its length."""

    text: str
    kind: str
    shape: tuple[int, ...]
    shared: bool = False


def is_zero(e: Typed) -> bool:
    """Whether this is the number 0, converted or not: the compiler knows it, and refuses to divide by it."""
    return re.sub(r"[\w.]*\(|\)", "", e.text) == "0"


def bits(kind: str) -> int:
    return 8 * int(kind[1])


def bounds(kind: str) -> tuple[int, int]:
    info = np.iinfo(np.dtype(kind))
    return int(info.min), int(info.max)


def exact(e: Typed) -> bool:
    """Whether a float's type holds all its values."""
    if e.kind == "pi":
        return e.magnitude <= 40
    return not e.floating or (e.magnitude + e.fraction <= _PRECISION[e.kind] and e.magnitude < 100)


def reduced(e: Typed) -> Typed:
    """The expression in bounds: of floats below 64 and whole, of Python's integers below 1000."""
    if e.kind == "pi":
        return Typed(f"({e.text} % 997)", "pi", 10, maybe_constant=e.maybe_constant)
    if e.kind == "pf":
        return Typed(f"float(math.floor({e.text}) % 64)", "pf", 6)
    if e.kind in FLOATS:
        return Typed(f"(np.floor({e.text}) % 64)", e.kind, 6)
    return e


def small(e: Typed) -> Typed:
    """An integer of at most six bits, or a float in bounds."""
    if e.kind == "pi" or e.floating:
        return e if e.magnitude + e.fraction <= 12 else reduced(e)
    if e.kind == "b" or bits(e.kind) <= 16:
        return e
    return Typed(f"({e.text} & 63)", e.kind, 6)


def cast(e: Typed, kind: str) -> Typed:
    """Conversion of a value to a type, where C defines it."""
    if kind == e.kind and not e.literal:
        return e
    if kind == "b":
        return Typed(f"bool({e.text})", "b", 1)
    if kind == "pi":
        if e.floating and e.magnitude > 20:
            e = reduced(e)
        elif e.integer and bits(e.kind) >= 32:
            e = Typed(f"({e.text} & 1023)", e.kind, 10)
            e = replace(e, text=f"np.int32({e.text})", kind="i4") if e.kind[0] == "u" else e
        return Typed(f"int({e.text})", "pi", min(e.magnitude, 20), maybe_constant=True)
    if kind in _PRECISION:
        held = e
        if e.integer:
            held = replace(e, magnitude=e.magnitude if e.magnitude < 64 else bits(e.kind))
        if held.kind == "b":
            held = replace(held, magnitude=1)
        if held.magnitude + held.fraction > _PRECISION[kind]:
            held = small(held) if held.integer else reduced(held)
        name = NAMES.get(kind, "float")
        return Typed(f"{name}({held.text})", kind, held.magnitude, held.fraction)
    if e.floating:
        if e.magnitude > 30:
            e = reduced(e)
        if kind[0] == "u" or bits(kind) <= e.magnitude + 1:
            return Typed(f"{NAMES[kind]}(np.int64({e.text}))", kind)
    return Typed(f"{NAMES[kind]}({e.text})", kind)


def stored(e: Typed, kind: str) -> Typed:
    """The value for a variable or element of a type: floats and Python's integers in the bounds of all variables."""
    e = cast(e, kind)
    if e.kind == "pi" and e.magnitude > 10:
        return reduced(e)
    if e.floating and (e.magnitude > limit(e.kind)[0] or e.fraction > limit(e.kind)[1]):
        return reduced(e)
    return e


def variable(name: str, kind: str) -> Typed:
    if kind in _PRECISION:
        return Typed(name, kind, *limit(kind))
    if kind == "pi":
        return Typed(name, "pi", 10, maybe_constant=True)
    return Typed(name, kind, 1 if kind == "b" else bits(kind))


def met(a: Typed, b: Typed) -> tuple[Typed, Typed, str]:
    """Two operands that an operator may join, and the type in which they meet."""
    if a.kind == b.kind and not (a.literal or b.literal):
        return a, b, a.kind if a.kind != "b" else "pi"
    for x, y, flipped in ((a, b, False), (b, a, True)):
        if x.kind == "b" and not x.literal:
            kind = "pi" if y.kind in ("b", "pi") else y.kind
            y = replace(y, maybe_constant=False) if y.kind == "pi" else y
            return (y, x, kind) if flipped else (x, y, kind)
        if x.kind == "pi" and y.integer:
            if x.literal:
                low, high = bounds(y.kind)
                x = x if low <= int(x.text.strip("()")) <= high else replace(x, text="1", magnitude=1)
                kind = y.kind
            elif x.maybe_constant and y.kind != "i8":
                y, kind = cast(y, "i8"), "i8"
            else:
                kind = "u8" if y.kind == "u8" else "i8"
            return (y, x, kind) if flipped else (x, y, kind)
        if x.kind == "pf" and y.integer:
            y = small(y)
            return (y, x, "pf") if flipped else (x, y, "pf")
        if x.kind in ("pi", "pf") and y.floating:
            if not exact(replace(x, kind=y.kind)):
                x = reduced(x)
            return (y, x, y.kind) if flipped else (x, y, y.kind)
    if {a.kind, b.kind} == {"pi", "pf"} or a.kind in ("pi", "pf"):
        return a, b, "pf" if "pf" in (a.kind, b.kind) else "pi"
    if (
        {a.kind, b.kind} == {"i8", "u8"}
        or (a.kind == "u8" and b.kind[0] == "i")
        or (b.kind == "u8" and a.kind[0] == "i")
    ):
        a, b = cast(a, "i8"), cast(b, "i8")
        return a, b, "i8"
    kind = np.promote_types(a.kind, b.kind).str[1:]
    if kind[0] == "f":
        a, b = (small(x) if x.integer else x for x in (a, b))
        kind = np.promote_types(a.kind, b.kind).str[1:]
    return a, b, kind


def joined(operator: str, a: Typed, b: Typed, text: str = "({a} {o} {b})") -> Typed | None:
    """``a + b``, ``a - b`` or ``a * b``; None where floats would have to be rounded."""
    a, b, kind = met(a, b)
    ma, mb = (total_magnitude(x) for x in (a, b))
    magnitude = ma + mb if operator == "*" else max(ma, mb) + 1
    fraction = a.fraction + b.fraction if operator == "*" else max(a.fraction, b.fraction)
    constant = kind == "pi" and (a.maybe_constant or b.maybe_constant or (a.literal and b.literal))
    found = Typed(text.format(a=a.text, o=operator, b=b.text), kind, magnitude, fraction, maybe_constant=constant)
    if kind in INTEGERS:
        return replace(found, magnitude=bits(kind))
    return found if exact(found) else None


def total_magnitude(e: Typed) -> int:
    if e.kind == "b":
        return 1
    return min(e.magnitude, bits(e.kind)) if e.integer else e.magnitude
