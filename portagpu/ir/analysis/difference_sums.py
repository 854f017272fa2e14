"""Loops that subtract integers from a sum, ``s -= x[k]``, or add negated ones to it."""

from __future__ import annotations

from collections.abc import Iterator

from portagpu.ir.nodes import Assign, Binary, BinaryOp, Constant, Expr, For, Load, Negate, Stmt, Store, Var, While
from portagpu.ir.program import Program
from portagpu.ir.types import Scalar
from portagpu.ir.walk import all_statements, children


def sums_differences(program: Program) -> bool:
    """Whether a loop of the program has such a sum, in a variable or in memory; steps of counters are none."""
    bodies = (function.body for function in (program.kernel, *program.functions))
    loops = (s for body in bodies for s in all_statements(body) if isinstance(s, For | While))
    return any(_subtracts(list(all_statements(loop.body))) for loop in loops)


def _subtracts(statements: list[Stmt]) -> bool:
    negated: set[str] = set()  # variables whose value is a difference
    size = -1
    while size != len(negated):
        size = len(negated)
        for statement in statements:
            if isinstance(statement, Assign | Store) and _has_difference(statement.value, negated):
                if isinstance(statement, Assign):
                    negated.add(statement.target.name)
                if _adds_to_itself(statement):
                    return True
    return False


def _terms(value: Expr) -> Iterator[Expr]:
    """The parts of a value, without the subscripts in it."""
    yield value
    if not isinstance(value, Load):
        for part in children(value):
            yield from _terms(part)


def _has_difference(value: Expr, negated: set[str]) -> bool:
    for part in _terms(value):
        kind = getattr(part, "type", None)
        if not isinstance(kind, Scalar) or not kind.dtype.is_integer:
            continue
        if isinstance(part, Negate) or (isinstance(part, Var) and part.name in negated):
            return True
        if isinstance(part, Binary):
            if part.op is BinaryOp.SUB and not isinstance(part.right, Constant):
                return True
            if part.op is BinaryOp.MUL and any(isinstance(f, Constant) and f.value < 0 for f in children(part)):
                return True
    return False


def _adds_to_itself(statement: Assign | Store) -> bool:
    """Whether a sum's or difference's term is what the statement assigns to."""
    for part in _terms(statement.value):
        if isinstance(part, Binary) and part.op in (BinaryOp.ADD, BinaryOp.SUB):
            for term in _terms(part):
                if isinstance(statement, Assign) and isinstance(term, Var) and term.name == statement.target.name:
                    return True
                if isinstance(statement, Store) and isinstance(term, Load) and _base(term) == _base(statement):
                    return True
    return False


def _base(access: Load | Store) -> str | None:
    return access.base.name if isinstance(access.base, Var) else None
