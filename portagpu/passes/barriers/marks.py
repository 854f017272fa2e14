"""Marks of values that compilers may not take for the same in all threads, and memory of one thread."""

from __future__ import annotations

from portagpu.ir.nodes import Constant, Expr, Operation
from portagpu.ir.types import INT, Pointer, Space


def varying(value: Expr, number: int) -> Operation:
    """A value in a form that no compiler takes for the same in all threads; ``number``: another one for each mark."""
    mark = Constant(number, INT, span=value.span)
    return Operation("varying", (value, mark), value.type, span=value.span)


def is_own(base: Expr) -> bool:
    """Whether a pointer is to an array of one thread."""
    return isinstance(base.type, Pointer) and base.type.space is Space.THREAD
