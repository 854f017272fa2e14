"""Pass: no wrap-around of subscripts that the conditions on their path keep from being negative.

`a[y - 1]` behind `if y > 0` needs no second look at its sign. A walk over the body carries what is known of variables
and thread indices: from conditions, in the branches and operands that they decide about, from assignments on the way,
and from the other branch having left. It reads index arithmetic as docs/dialect.md promises it: nothing overflows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from portagpu.ir.analysis.intervals import Interval, of_type
from portagpu.ir.analysis.ranges import Known, Ranges, Term, term_of
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    Break,
    Cast,
    Compare,
    CompareOp,
    Constant,
    Continue,
    Expr,
    For,
    If,
    Index,
    Logical,
    LogicalOp,
    Not,
    Return,
    Select,
    Stmt,
    While,
)
from portagpu.ir.program import Function
from portagpu.ir.types import Scalar
from portagpu.ir.walk import all_expressions, all_statements, assigned, expressions, rebuilt

_OPPOSITE = {
    CompareOp.LT: CompareOp.GE,
    CompareOp.LE: CompareOp.GT,
    CompareOp.GT: CompareOp.LE,
    CompareOp.GE: CompareOp.LT,
    CompareOp.EQ: CompareOp.NE,
    CompareOp.NE: CompareOp.EQ,
}
_MIRRORED = {
    CompareOp.LT: CompareOp.GT,
    CompareOp.LE: CompareOp.GE,
    CompareOp.GT: CompareOp.LT,
    CompareOp.GE: CompareOp.LE,
    CompareOp.EQ: CompareOp.EQ,
    CompareOp.NE: CompareOp.NE,
}


def unwrapped(function: Function) -> Function:
    """The function with bare subscripts where they cannot be negative."""
    if next(_indices(function.body), None) is None:
        return function
    return replace(function, body=_Walk(Ranges(function)).block(function.body, {}))


def _indices(body: tuple[Stmt, ...]) -> Iterator[Index]:
    for statement in all_statements(body):
        for top in expressions(statement):
            yield from (e for e in all_expressions(top) if isinstance(e, Index))


class _Walk:
    """Statements in their order, each with what is known before it."""

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges

    def block(self, body: tuple[Stmt, ...], known: Known) -> tuple[Stmt, ...]:
        """The block's statements, changed."""
        made: list[Stmt] = []
        for statement in body:
            made.append(self._statement(statement, known))
            known = self._after(statement, known)
        return tuple(made)

    def _statement(self, statement: Stmt, known: Known) -> Stmt:
        match statement:
            case If():
                return replace(
                    statement,
                    condition=self._expression(statement.condition, known),
                    then=self.block(statement.then, self._learned(statement.condition, True, known)),
                    orelse=self.block(statement.orelse, self._learned(statement.condition, False, known)),
                )
            case While():
                again = _without(known, statement.body)
                return replace(
                    statement,
                    condition=self._expression(statement.condition, again),
                    body=self.block(statement.body, self._learned(statement.condition, True, again)),
                )
            case For():
                made: For = rebuilt(statement, lambda e: e if e is statement.counter else self._expression(e, known))
                return replace(made, body=self.block(statement.body, self._in_loop(statement, known)))
            case _:
                return rebuilt(statement, lambda e: self._expression(e, known))  # type: ignore[no-any-return]

    def _in_loop(self, loop: For, known: Known) -> Known:
        counter = (loop.counter.name, loop.counter.type)
        inside = dict(_without(known, (loop,)))
        if counter not in assigned(loop.body):
            inside[counter] = self._ranges.of_counter(loop, known)
        return inside

    def _after(self, statement: Stmt, known: Known) -> Known:
        """What is known behind a statement."""
        after = _without(known, (statement,))
        match statement:
            case Assign() if term_of(statement.target) is not None:
                slot = (statement.target.name, statement.target.type)
                return {**after, slot: self._ranges.of(statement.value, known)}
            case If() if _leaves(statement.then) or _leaves(statement.orelse):
                learned = self._learned(statement.condition, not _leaves(statement.then), after)
                return _without(learned, (statement,))
            case _:
                return after

    # expressions

    def _expression(self, expr: Expr, known: Known) -> Expr:
        match expr:
            case Index():
                inner = self._expression(expr.operand, known)
                if self._ranges.of(expr.operand, known).is_nonnegative:
                    return inner
                return expr if inner is expr.operand else replace(expr, operand=inner)
            case Logical():
                behind = self._learned(expr.left, expr.op is LogicalOp.AND, known)
                left, right = self._expression(expr.left, known), self._expression(expr.right, behind)
                return expr if left is expr.left and right is expr.right else replace(expr, left=left, right=right)
            case Select():
                condition = self._expression(expr.condition, known)
                yes = self._expression(expr.yes, self._learned(expr.condition, True, known))
                no = self._expression(expr.no, self._learned(expr.condition, False, known))
                is_same = condition is expr.condition and yes is expr.yes and no is expr.no
                return expr if is_same else replace(expr, condition=condition, yes=yes, no=no)
            case _:
                return rebuilt(expr, lambda e: self._expression(e, known))  # type: ignore[no-any-return]

    # conditions

    def _learned(self, condition: Expr, holds: bool, known: Known) -> Known:
        """What is known where a condition holds, or does not."""
        match condition:
            case Not():
                return self._learned(condition.operand, not holds, known)
            case Logical() if holds == (condition.op is LogicalOp.AND):
                for part in (condition.left, condition.right):
                    known = self._learned(part, holds, known)
                return known
            case Compare():
                op = condition.op if holds else _OPPOSITE[condition.op]
                known = self._compared(condition.left, op, condition.right, known)
                return self._compared(condition.right, _MIRRORED[op], condition.left, known)
            case _:
                return known

    def _compared(self, left: Expr, op: CompareOp, right: Expr, known: Known) -> Known:
        """With what ``left op right`` says of the term in ``left``."""
        found = self._term_and_distance(left)
        if found is None:
            return known
        term, inner, distance = found
        other = self._ranges.of(right, known)
        other = Interval(other.low - distance, other.high - distance)
        own = self._ranges.of(inner, known)
        match op:
            case CompareOp.LT:
                limit = Interval(high=other.high - 1)
            case CompareOp.LE:
                limit = Interval(high=other.high)
            case CompareOp.GT:
                limit = Interval(low=other.low + 1)
            case CompareOp.GE:
                limit = Interval(low=other.low)
            case CompareOp.EQ:
                limit = other
            case CompareOp.NE:
                limit = _other_than(own, other)
        return {**known, term: own.meet(limit)}

    def _term_and_distance(self, expr: Expr) -> tuple[Term, Expr, int] | None:
        """The term in ``term + distance``, as itself and as an expression; None for all that is not made so."""
        match expr:
            case Binary(op=BinaryOp.ADD, right=Constant(value=int(distance))) if self._ranges.is_promised(expr):
                inner = self._term_and_distance(expr.left)
            case Binary(op=BinaryOp.SUB, right=Constant(value=int(value))) if self._ranges.is_promised(expr):
                inner, distance = self._term_and_distance(expr.left), -value
            case Cast(operand=operand) if _is_widening(operand.type, expr.type):
                inner, distance = self._term_and_distance(operand), 0
            case _:
                term = term_of(expr)
                return None if term is None else (term, expr, 0)
        return None if inner is None else (inner[0], inner[1], inner[2] + distance)


def _other_than(own: Interval, other: Interval) -> Interval:
    if other.low != other.high:
        return own
    return Interval(own.low + (own.low == other.low), own.high - (own.high == other.high))


def _is_widening(source: object, target: object) -> bool:
    is_integers = all(isinstance(kind, Scalar) and kind.dtype.is_integer for kind in (source, target))
    return is_integers and of_type(source).within(of_type(target))


def _leaves(body: tuple[Stmt, ...]) -> bool:
    return bool(body) and isinstance(body[-1], Return | Break | Continue)


def _without(known: Known, statements: tuple[Stmt, ...]) -> Known:
    """What is still known where the statements may have run."""
    if not known:
        return known
    gone: set[Term] = {slot for slot in assigned(statements) if slot in known}
    return {term: interval for term, interval in known.items() if term not in gone} if gone else known
