"""Integers that wrap around as NumPy's do, where C leaves overflow undefined or computes in wider ones.

C defines overflow for unsigned integers only: sums, differences, products and negations are computed in these. Integers
of 8 and 16 bits become int in C: their results are wrapped.
"""

from __future__ import annotations

from typing import TypeGuard

from portagpu.backends.c_family.analysis import Facts
from portagpu.backends.c_family.c_types import OPERATORS, c_type
from portagpu.backends.c_family.precedence import BINARY_LEVEL, POSTFIX, UNARY
from portagpu.backends.c_family.registry import Lowered, Printing
from portagpu.dtypes import INT8, INT16, INT32, INT64
from portagpu.ir.analysis.indices import is_index
from portagpu.ir.analysis.intervals import Interval, of_type
from portagpu.ir.nodes import Binary, BinaryOp, Cast, Constant, Expr, For, Index, Negate
from portagpu.ir.types import Scalar
from portagpu.ir.walk import all_expressions

_MODULAR = frozenset({BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL})


def is_small(kind: object) -> TypeGuard[Scalar]:
    """Whether a type is one of integers that are narrower than C's int."""
    return isinstance(kind, Scalar) and kind.dtype.is_integer and kind.dtype.size < 4


def is_small_signed(kind: object) -> bool:
    """Whether a type is one of signed integers that are narrower than C's int."""
    return isinstance(kind, Scalar) and kind.dtype in (INT8, INT16)


def is_part_of_sum(expr: Expr) -> bool:
    """Whether an operand's own sums and products are parts of the sum that it stands in."""
    if isinstance(expr, Cast):
        return isinstance(expr.operand.type, Scalar) and expr.operand.type.dtype.is_integer
    return isinstance(expr, Index | Negate) or (isinstance(expr, Binary) and expr.op in _MODULAR)


def wraps(printer: Printing, expr: Binary | Negate) -> bool:
    """Whether a sum, difference, product or negation of int32 or int64 must wrap around: subscripts need not."""
    kind = expr.type
    if isinstance(expr, Binary) and expr.op not in _MODULAR:
        return False
    if printer.in_subscript or not isinstance(kind, Scalar) or kind.dtype not in (INT32, INT64):
        return False
    if isinstance(expr, Negate) and _shifts(expr.operand):
        return True  # -(i << 63): of 0, a compiler may conclude, if the smallest integer cannot be negated
    return not is_index(expr, printer.facts.indices)


def may_pass_end(facts: Facts, loop: For) -> bool:
    """Whether a counter's sum with the step may leave its type where a loop ends; those of indices do not."""
    kind = loop.counter.type
    if is_index(loop.counter, facts.indices) or (isinstance(loop.step, Constant) and abs(loop.step.value) == 1):
        return False
    stop, step = facts.exact.of(loop.stop), facts.exact.of(loop.step)
    reached = Interval(stop.low + 1 + min(step.low, 0), stop.high - 1 + max(step.high, 0))
    return not reached.within(of_type(kind))


def wrapped_binary(printer: Printing, expr: Binary) -> Lowered:
    """A sum, difference or product that wraps around."""
    return printer.language.bits_as(c_type(expr.type), _modular_binary(printer, expr)[0]), POSTFIX


def wrapped_negation(printer: Printing, expr: Negate) -> Lowered:
    """A negation that wraps around."""
    difference = f"0 - {_modular(printer, expr.operand, UNARY)}"
    return printer.language.bits_as(c_type(expr.type), difference), POSTFIX


def wrapped_small(printer: Printing, text: str, own: int, kind: object) -> Lowered:
    """A result of C's, with its precedence: of small integers, which C computes as int, wrapped as NumPy does."""
    if is_small(kind):
        if c_type(kind).startswith("u"):
            return f"({c_type(kind)})({text})", UNARY
        # not a plain cast: a GPU compiler drops it from (long)(short)(-x), where int arithmetic has no overflow
        return printer.language.bits_as(c_type(kind), f"(u{c_type(kind)})({text})"), POSTFIX
    return text, own


def _modular(printer: Printing, expr: Expr, level: int) -> str:
    """An integer as the unsigned type of its size: C defines overflow for those only."""
    assert isinstance(expr.type, Scalar)
    kind = f"u{c_type(expr.type)}"
    match expr:
        case Constant() if expr.value >= 0:
            return printer.text(expr, level)
        case Binary() if wraps(printer, expr):
            text, own = _modular_binary(printer, expr)
            return f"({text})" if own < level else text
        case Negate() if wraps(printer, expr):
            text = f"0 - {_modular(printer, expr.operand, UNARY)}"
            return f"({text})" if level > BINARY_LEVEL[BinaryOp.SUB] else text
        case _:
            return f"({kind}){printer.text(expr, UNARY)}"


def _modular_binary(printer: Printing, expr: Binary) -> Lowered:
    own = BINARY_LEVEL[expr.op]
    left, right = _modular(printer, expr.left, own), _modular(printer, expr.right, own + 1)
    if isinstance(expr.left, Constant) and isinstance(expr.right, Constant):
        left = f"(u{c_type(expr.type)}){left}"
    return f"{left} {OPERATORS[expr.op]} {right}", own


def _shifts(expr: Expr) -> bool:
    return any(isinstance(e, Binary) and e.op is BinaryOp.SHL for e in all_expressions(expr))
