"""Symbolic evaluation of expressions in the first threads of a block.

A value is a NumPy array with a number for each thread, or `UNIFORM` (unknown, the same in all threads), or `DIVERGENT`
(unknown). The threads are the first ones of the first row of block 0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from portagpu.ir.nodes import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Constant,
    Expr,
    Index,
    Invert,
    Load,
    Logical,
    LogicalOp,
    Negate,
    Not,
    Offset,
    Operation,
    Select,
    Var,
)
from portagpu.ir.types import Pointer, Scalar, Space, Type
from portagpu.ir.walk import children

UNIFORM: Literal["uniform"] = "uniform"
DIVERGENT: Literal["divergent"] = "divergent"
Value = Any  # an array, UNIFORM or DIVERGENT
Place = tuple[tuple[str, Space], Value]

THREADS = 64
_FAR = -(2**40)

_BINARY: dict[BinaryOp, Callable[[Any, Any], Any]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
    BinaryOp.AND: operator.and_,
    BinaryOp.OR: operator.or_,
    BinaryOp.XOR: operator.xor,
    BinaryOp.DIV: operator.floordiv,  # of integers only where none is negative
    BinaryOp.REM: operator.mod,
    BinaryOp.SHL: operator.lshift,
    BinaryOp.SHR: operator.rshift,
}
_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "shl": operator.lshift,
    "shr": operator.rshift,
    "min": np.minimum,
    "max": np.maximum,
}
_DIVISIONS = (operator.floordiv, operator.mod)
_SHIFTS = (operator.lshift, operator.rshift)
_COMPARE: dict[CompareOp, Callable[[Any, Any], Any]] = {
    CompareOp.LT: operator.lt,
    CompareOp.LE: operator.le,
    CompareOp.GT: operator.gt,
    CompareOp.GE: operator.ge,
    CompareOp.EQ: operator.eq,
    CompareOp.NE: operator.ne,
}
_ORDERS = frozenset({CompareOp.LT, CompareOp.LE, CompareOp.GT, CompareOp.GE})


def is_known(value: Value) -> bool:
    """Whether a value is a number for each thread."""
    return isinstance(value, np.ndarray)


def is_uniform(value: Value) -> bool:
    """Whether a value is certainly the same in all threads."""
    return bool((value == value[0]).all()) if is_known(value) else value is UNIFORM


def same(a: Value, b: Value) -> bool:
    """Whether two values are certainly equal."""
    return a is b if not (is_known(a) and is_known(b)) else bool((a == b).all())


def joined(a: Value, b: Value, *, uniform: bool) -> Value:
    """What is known of one of two values, picked by an unknown condition."""
    if is_known(a) and is_known(b) and same(a, b):
        return a
    return UNIFORM if uniform and is_uniform(a) and is_uniform(b) else DIVERGENT


class Sketch:
    """Values of variables, and of expressions with them."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, Type], Value] = {}
        self.places: dict[tuple[str, Type], Place] = {}  # of pointers into arrays
        self.assigned: set[tuple[str, Type]] = set()

    def value(self, expr: Expr) -> Value:
        """What is known of an expression."""
        match expr:
            case Constant(value=number):
                return _spread(number)
            case Var():
                slot = (expr.name, expr.type)
                return self.values.get(slot, DIVERGENT if slot in self.assigned else UNIFORM)
            case Binary(op=op, left=left, right=right):
                return self._binary(_BINARY[op], self.value(left), self.value(right), expr.type)
            case Operation(name=name, args=(left, right)) if name in _OPERATIONS:
                return self._binary(_OPERATIONS[name], self.value(left), self.value(right), expr.type)
            case Operation(name=name, args=args):
                return self._operation(name, args, expr)
            case Compare(op=op, left=left, right=right):
                return _compare(op, self.value(left), self.value(right))
            case Logical(op=op, left=left, right=right):
                return _logical(op, self.value(left), self.value(right))
            case Not(operand=operand):
                inner = self.value(operand)
                return ~inner.astype(bool) if is_known(inner) else inner
            case Negate(operand=operand):
                inner = self.value(operand)
                return -inner if is_known(inner) else inner
            case Invert(operand=operand):
                inner = self.value(operand)
                return ~inner if is_known(inner) else inner
            case Cast(operand=operand):
                return _cast(self.value(operand), expr.type)
            case Index(operand=operand):
                inner = self.value(operand)
                # counted from the end, which is unknown: far away, where no other thread is
                return np.where(inner < 0, _FAR * (1 + np.arange(THREADS)), inner) if is_known(inner) else inner
            case Select(condition=condition, yes=yes, no=no):
                which = self.value(condition)
                a, b = self.value(yes), self.value(no)
                if is_known(which) and is_known(a) and is_known(b):
                    return np.where(which, a, b)
                return joined(a, b, uniform=is_uniform(which))
            case Load(index=index):
                return UNIFORM if is_uniform(self.value(index)) else DIVERGENT
            case _:
                return UNIFORM if all(is_uniform(self.value(c)) for c in children(expr)) else DIVERGENT

    def _operation(self, name: str, args: tuple[Expr, ...], expr: Operation) -> Value:
        if name in ("threadIdx", "grid"):  # of block 0
            axis = args[0].value if isinstance(args[0], Constant) else -1
            return np.arange(THREADS) if axis == 0 else _spread(0)
        if name == "laneid":
            return np.arange(THREADS) % 32
        if name == "blockIdx":
            return _spread(0)
        if expr.effect:
            return DIVERGENT
        return UNIFORM if all(is_uniform(self.value(a)) for a in args) else DIVERGENT

    def _binary(self, function: Callable[[Any, Any], Any], a: Value, b: Value, kind: Type) -> Value:
        whole = isinstance(kind, Scalar) and (kind.dtype.is_integer or kind.dtype.name == "bool")
        if function is operator.mul and any(is_known(v) and not v.any() for v in (a, b)) and whole:
            return _spread(0)
        if not (is_known(a) and is_known(b) and whole):
            return UNIFORM if is_uniform(a) and is_uniform(b) else DIVERGENT
        if function in _DIVISIONS and ((a < 0).any() or (b <= 0).any()):
            return DIVERGENT
        if function in _SHIFTS and ((b < 0).any() or (b > 31).any()):
            return DIVERGENT
        return function(a, b)

    def place(self, base: Expr) -> Place | None:
        """The array that a pointer points into, and where."""
        if isinstance(base, Offset):
            inner = self.place(base.base)
            if inner is None:
                return None
            return inner[0], self._binary(operator.add, inner[1], self.value(base.index), base.index.type)
        if isinstance(base, Var) and isinstance(base.type, Pointer):
            slot = (base.name, base.type)
            if slot in self.assigned:
                return self.places.get(slot)
            return (base.name, base.type.space), _spread(0)
        return None


def _spread(number: Any) -> Value:
    if isinstance(number, bool | int) and -(2**62) < number < 2**62:
        return np.full(THREADS, number, bool if isinstance(number, bool) else np.int64)
    return UNIFORM


def _cast(value: Value, kind: Type) -> Value:
    if not is_known(value):
        return value
    if isinstance(kind, Scalar) and kind.dtype.is_integer:
        small = value.astype(np.int64)
        return small if kind.dtype.size >= 4 and (abs(small) < 2**31).all() else DIVERGENT
    return UNIFORM if is_uniform(value) else DIVERGENT


def _compare(op: CompareOp, a: Value, b: Value) -> Value:
    if is_known(a) and is_known(b):
        return _COMPARE[op](a, b)
    if is_uniform(a) and is_uniform(b):
        return UNIFORM
    if op in _ORDERS and b is UNIFORM and is_known(a):
        return _spread(op in (CompareOp.LT, CompareOp.LE))
    if op in _ORDERS and a is UNIFORM and is_known(b):
        return _spread(op in (CompareOp.GT, CompareOp.GE))
    return DIVERGENT


def _logical(op: LogicalOp, a: Value, b: Value) -> Value:
    decides = op is LogicalOp.OR
    for first, second in ((a, b), (b, a)):
        if is_known(first) and (first.astype(bool) == decides).all():
            return first
        if is_known(first) and (first.astype(bool) != decides).all():
            return second
    if is_known(a) and is_known(b):
        return (a.astype(bool) | b.astype(bool)) if decides else (a.astype(bool) & b.astype(bool))
    return UNIFORM if is_uniform(a) and is_uniform(b) else DIVERGENT
