"""Intervals of integers: what a type can hold, and arithmetic on them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from portagpu.dtypes import BOOL, Kind
from portagpu.ir.nodes import BinaryOp
from portagpu.ir.types import Scalar, Type

Bound = int | float  # floats are the two infinities only


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from ``low`` to ``high``, both included."""

    low: Bound = -math.inf
    high: Bound = math.inf

    @property
    def is_nonnegative(self) -> bool:
        """Whether none is below zero."""
        return self.low >= 0

    @property
    def is_positive(self) -> bool:
        """Whether all are above zero."""
        return self.low > 0

    @property
    def is_negative(self) -> bool:
        """Whether all are below zero."""
        return self.high < 0

    def join(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def within(self, other: Interval) -> bool:
        """Whether the other one holds all of it."""
        return other.low <= self.low and self.high <= other.high

    def meet(self, other: Interval) -> Interval:
        """What both hold; ``self`` where that is nothing, which only happens in code that no thread reaches."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Interval(low, high) if low <= high else self


ANYTHING = Interval()
FLAG = Interval(0, 1)
INDEX = Interval(0, math.inf)


@cache
def of_type(kind: object) -> Interval:
    """What a number of a type can be."""
    if not isinstance(kind, Scalar) or kind.dtype.is_float or kind.dtype.is_complex:
        return ANYTHING
    if kind.dtype is BOOL:
        return FLAG
    bits = 8 * kind.dtype.size
    if kind.dtype.kind is Kind.UINT:
        return Interval(0, 2**bits - 1)
    return Interval(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def is_integer(kind: Type) -> bool:
    """Whether it is an integer or a bool."""
    return isinstance(kind, Scalar) and (kind.dtype.is_integer or kind.dtype is BOOL)


def by_type(kind: Type) -> Interval:
    """What is known of a number by its type alone; 32 bits and more are taken for all integers."""
    found = of_type(kind)
    is_wide = isinstance(kind, Scalar) and kind.dtype.kind is Kind.INT and kind.dtype.size >= 4
    return ANYTHING if is_wide else found


def widened(before: Interval, after: Interval, kind: Type) -> Interval:
    """The interval with the bounds that moved as far out as the type lets them."""
    limits = by_type(kind)
    low, high = before.low, before.high
    if after.low < low:
        low = next((bound for bound in (1, 0, -1) if bound <= after.low), limits.low)
    if after.high > high:
        high = next((bound for bound in (-1, 0) if bound >= after.high), limits.high)
    return Interval(low, high)


# arithmetic ----------------------------------------------------------------------------------------------------------


def _times(a: Bound, b: Bound) -> Bound:
    return 0 if a == 0 or b == 0 else a * b  # zero times infinity is zero: bounds are reached or passed, never both


def _corners(rule: Callable[[Bound, Bound], Bound], a: Interval, b: Interval) -> Interval:
    """Of an operation that grows or falls with each operand."""
    found = [rule(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(found), max(found))


def _product(a: Interval, b: Interval) -> Interval:
    return _corners(_times, a, b)


def _floor_quotient(a: Interval, b: Interval) -> Interval:
    if not b.is_positive:
        return Interval(0, a.high) if a.is_nonnegative and b.is_nonnegative else ANYTHING
    return _corners(_floored, a, b)


def _floored(x: Bound, y: Bound) -> Bound:
    if math.isinf(x):
        return x
    if math.isinf(y):
        return -1 if x < 0 else 0
    return x // y


def _quotient(a: Interval, b: Interval) -> Interval:
    """C's, which rounds towards zero."""
    return _floor_quotient(a, b) if a.is_nonnegative and b.is_nonnegative else ANYTHING


def _modulo(a: Interval, b: Interval) -> Interval:
    """Python's, which has the divisor's sign."""
    if b.is_nonnegative:  # of a division by zero zero remains
        rest = max(0, b.high - 1)
        return Interval(0, min(a.high, rest) if a.is_nonnegative else rest)
    return Interval(b.low + 1, 0) if b.is_negative else ANYTHING


def _remainder(a: Interval, b: Interval) -> Interval:
    """C's, which has the dividend's sign."""
    if not a.is_nonnegative:
        return ANYTHING
    return Interval(0, min(a.high, b.high - 1) if b.is_positive else a.high)


def _shifted_left(a: Interval, b: Interval) -> Interval:
    if not b.is_nonnegative or b.high > 63:
        return Interval(0, math.inf) if a.is_nonnegative and b.is_nonnegative else ANYTHING
    return _product(a, Interval(2 ** int(b.low), 2 ** int(b.high)))


def _shifted_right(a: Interval, b: Interval) -> Interval:
    if not b.is_nonnegative:
        return ANYTHING
    powers = Interval(2 ** int(min(b.low, 64)), 2 ** int(min(b.high, 64)))
    return _corners(_floored, a, powers)


def _conjunction(a: Interval, b: Interval) -> Interval:
    tops = [i.high for i in (a, b) if i.is_nonnegative]
    return Interval(0, min(tops)) if tops else ANYTHING


def _disjunction(a: Interval, b: Interval) -> Interval:
    if not (a.is_nonnegative and b.is_nonnegative):
        return ANYTHING
    top = max(a.high, b.high)
    return Interval(0, top if math.isinf(top) else 2 ** int(top).bit_length() - 1)


def absolute(a: Interval) -> Interval:
    """Of absolute values."""
    low = 0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    return Interval(low, max(abs(a.low), abs(a.high)))


def _power(a: Interval, b: Interval) -> Interval:
    return INDEX if a.is_nonnegative and b.is_nonnegative else ANYTHING


OPERATORS: dict[BinaryOp, Callable[[Interval, Interval], Interval]] = {
    BinaryOp.ADD: lambda a, b: Interval(a.low + b.low, a.high + b.high),
    BinaryOp.SUB: lambda a, b: Interval(a.low - b.high, a.high - b.low),
    BinaryOp.MUL: _product,
    BinaryOp.DIV: _quotient,
    BinaryOp.REM: _remainder,
    BinaryOp.AND: _conjunction,
    BinaryOp.OR: _disjunction,
    BinaryOp.XOR: _disjunction,
    BinaryOp.SHL: _shifted_left,
    BinaryOp.SHR: _shifted_right,
}
FUNCTIONS: dict[str, Callable[[Interval, Interval], Interval]] = {
    "min": lambda a, b: Interval(min(a.low, b.low), min(a.high, b.high)),
    "max": lambda a, b: Interval(max(a.low, b.low), max(a.high, b.high)),
    "floordiv": _floor_quotient,
    "mod": _modulo,
    "shl": _shifted_left,
    "shr": _shifted_right,
    "ipow": _power,
}
