"""Comparisons of 64-bit integers that 32 bits decide: a GPU computes with halves of longer ones.

Python integers have 64 bits where a sum or product of narrow ones might leave 32. Where bounds show that it does not
(`y < rows - 1`: an extent is not negative), the whole comparison is one of 32 bits. Its sums and products are weak
integers, so that they are plain C; an int32 in it that may wrap around is printed as anywhere else.
"""

from __future__ import annotations

from portagpu.dtypes import BOOL, INT32, INT64, Kind
from portagpu.ir.analysis.intervals import of_type
from portagpu.ir.analysis.ranges import Ranges
from portagpu.ir.nodes import Binary, BinaryOp, Cast, Compare, Constant, Expr
from portagpu.ir.types import INT, PYINT_NARROW, Scalar

_KEPT = frozenset({BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL})
_LIMITS = of_type(INT)


def narrowed(expr: Compare, exact: Ranges) -> tuple[Expr, Expr] | None:
    """The operands of a comparison of int64 as int32 expressions that do not overflow; None where they might.

    ``exact`` knows the bounds of integers whatever overflows.
    """
    if not all(isinstance(e.type, Scalar) and e.type.dtype is INT64 for e in (expr.left, expr.right)):
        return None
    left = _narrow(expr.left, exact)
    right = None if left is None else _narrow(expr.right, exact)
    return None if left is None or right is None else (left, right)


def _narrow(expr: Expr, exact: Ranges) -> Expr | None:
    """The same number as an int32; None where it may not be one."""
    match expr:
        case Constant() if exact.of(expr).within(_LIMITS):
            return Constant(expr.value, INT, span=expr.span)
        case Cast():
            source = expr.operand.type
            if not isinstance(source, Scalar) or not (source.dtype.is_integer or source.dtype is BOOL):
                return None
            if source.dtype is INT32:
                return expr.operand
            is_small = source.dtype.size < 4 and source.dtype.kind is not Kind.FLOAT
            return Cast(expr.operand, INT, span=expr.span) if is_small else None
        case Binary(op=op) if op in _KEPT and exact.of(expr).within(_LIMITS):
            left, right = _narrow(expr.left, exact), _narrow(expr.right, exact)
            return None if left is None or right is None else Binary(op, left, right, PYINT_NARROW, span=expr.span)
        case _:
            return None
