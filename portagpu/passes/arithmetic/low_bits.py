"""Pass: 32-bit arithmetic for 64-bit integers of which only the lower 32 bits are used.

`hits = 0`, `hits += 1` in a loop, `counts[i] = hits` with an array of int32: a Python integer has 64 bits, of which 32
are stored. A sum, difference or product has the same lower bits however long its operands are, so the variable becomes
one of 32 bits, unsigned because C defines how those wrap around. A GPU adds 64-bit integers in halves.

Only what is stored counts, not subscripts: compilers know more of a signed variable that walks over an array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from portagpu.dtypes import BOOL, INT64, UINT32
from portagpu.ir.analysis.indices import Slot
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    Cast,
    Constant,
    Expr,
    For,
    If,
    Invert,
    Load,
    Negate,
    Offset,
    Select,
    Stmt,
    Store,
    Var,
    VectorLoad,
    While,
)
from portagpu.ir.program import Function
from portagpu.ir.types import Scalar
from portagpu.ir.walk import all_expressions, all_statements, expressions, rebuilt

_UINT = Scalar(UINT32)
_MODULAR = frozenset(
    {BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR}
)  # whose lower bits depend on lower bits only


def shortened(function: Function) -> Function:
    """The function with variables of 32 bits in place of those of 64 whose upper halves nobody reads."""
    slots = _unread_above(function)
    return replace(function, body=_Shortening(slots).block(function.body)) if slots else function


def _unread_above(function: Function) -> frozenset[Slot]:
    """int64 variables whose upper halves are never read: all are taken for it, then those with a reader removed."""
    taken = {(p.name, p.type) for p in function.parameters}
    counters: set[Slot] = set()
    slots: set[Slot] = set()
    for statement in all_statements(function.body):
        if isinstance(statement, For):
            counters.add((statement.counter.name, statement.counter.type))
        elif isinstance(statement, Assign):
            taken.add((statement.target.name, statement.target.type))
            if isinstance(statement.target.type, Scalar) and statement.target.type.dtype is INT64:
                slots.add((statement.target.name, statement.target.type))
    slots -= counters | {(p.name, p.type) for p in function.parameters}
    slots = {slot for slot in slots if (slot[0], _UINT) not in taken | counters}
    while slots:
        read = set(_read_above(function, frozenset(slots)))
        if not read:
            break
        slots -= read
    return frozenset(slots)


def _read_above(function: Function, slots: frozenset[Slot]) -> Iterator[Slot]:
    """Those of the variables whose upper halves are read."""
    for statement in all_statements(function.body):
        if isinstance(statement, Assign):
            target = (statement.target.name, statement.target.type)
            yield from _demanded(statement.value, target in slots, slots)
            continue
        for top in expressions(statement):
            is_stored = isinstance(statement, Store) and top is statement.value
            yield from _demanded(top, False, slots, is_stored)


def _demanded(expr: Expr, is_low: bool, slots: frozenset[Slot], is_stored: bool = False) -> Iterator[Slot]:
    """Variables in an expression whose upper halves it needs.

    ``is_low``: only its own lower half is asked for; ``is_stored``: it is part of a value that is stored.
    """
    match expr:
        case Var():
            if not is_low and (expr.name, expr.type) in slots:
                yield expr.name, expr.type
        case Cast() if _cuts(expr) and is_stored:
            yield from _demanded(expr.operand, True, slots, True)
        case Load() | VectorLoad() | Offset():
            yield from _demanded(expr.base, False, slots)
            yield from _demanded(expr.index, False, slots)
        case _ if is_low and (parts := _modular_parts(expr)) is not None:
            for part in parts:
                yield from _demanded(part, True, slots, is_stored)
            if isinstance(expr, Select):
                yield from _demanded(expr.condition, False, slots)
        case _:
            for part in _parts(expr):
                yield from _demanded(part, False, slots, is_stored)


def _parts(expr: Expr) -> tuple[Expr, ...]:
    found: list[Expr] = []

    def note(part: Expr) -> Expr:
        found.append(part)
        return part

    rebuilt(expr, note)
    return tuple(found)


def _cuts(expr: Cast) -> bool:
    """Whether a conversion takes the lower half of an int64, or a part of it."""
    source, target = expr.operand.type, expr.type
    return (
        isinstance(source, Scalar)
        and source.dtype is INT64
        and isinstance(target, Scalar)
        and target.dtype.is_integer
        and target.dtype is not BOOL
        and target.dtype.size <= 4
    )


def _modular_parts(expr: Expr) -> tuple[Expr, ...] | None:
    """Operands whose lower halves make an int64's lower half; None where more of them is needed."""
    if not isinstance(expr.type, Scalar) or expr.type.dtype is not INT64:
        return None
    match expr:
        case Binary() if expr.op in _MODULAR:
            return expr.left, expr.right
        case Negate() | Invert():
            return (expr.operand,)
        case Select():
            return expr.yes, expr.no
        case _:
            return None


class _Shortening:
    """The body with some variables in 32 bits."""

    def __init__(self, slots: frozenset[Slot]) -> None:
        self._slots = slots

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map(self._statement, body))

    def _statement(self, statement: Stmt) -> Stmt:
        match statement:
            case Assign() if (statement.target.name, statement.target.type) in self._slots:
                return replace(statement, target=_short(statement.target), value=self._lower(statement.value))
            case Assign():
                return replace(statement, value=self._expression(statement.value))
        made: Any = rebuilt(statement, self._expression)
        if isinstance(made, If):
            return replace(made, then=self.block(made.then), orelse=self.block(made.orelse))
        return replace(made, body=self.block(made.body)) if isinstance(made, For | While) else made

    def _expression(self, expr: Expr) -> Expr:
        if isinstance(expr, Cast) and _cuts(expr) and self._holds_slot(expr.operand):
            return replace(expr, operand=self._lower(expr.operand))
        return rebuilt(expr, self._expression)  # type: ignore[no-any-return]

    def _holds_slot(self, expr: Expr) -> bool:
        return any(isinstance(e, Var) and (e.name, e.type) in self._slots for e in all_expressions(expr))

    def _lower(self, expr: Expr) -> Expr:
        """The lower half of an int64, as a uint32."""
        match expr:
            case Var() if (expr.name, expr.type) in self._slots:
                return _short(expr)
            case Constant():
                return Constant(int(expr.value) & 0xFFFFFFFF, _UINT, span=expr.span)
            case Binary() if expr.op in _MODULAR:
                return Binary(expr.op, self._lower(expr.left), self._lower(expr.right), _UINT, span=expr.span)
            case Negate():
                return Binary(
                    BinaryOp.SUB, Constant(0, _UINT, span=expr.span), self._lower(expr.operand), _UINT, span=expr.span
                )
            case Invert():
                return Invert(self._lower(expr.operand), _UINT, span=expr.span)
            case Select():
                condition = self._expression(expr.condition)
                return Select(condition, self._lower(expr.yes), self._lower(expr.no), _UINT, span=expr.span)
            case Cast() if _is_small_integer(expr.operand.type):
                return Cast(self._expression(expr.operand), _UINT, span=expr.span)
            case _:
                return Cast(self._expression(expr), _UINT, span=expr.span)


def _short(var: Var) -> Var:
    return replace(var, type=_UINT)


def _is_small_integer(kind: object) -> bool:
    return isinstance(kind, Scalar) and (kind.dtype.is_integer or kind.dtype is BOOL) and kind.dtype.size <= 4
