"""The one verifier of the IR: invariants as data, checked before code is generated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portagpu.dtypes import BOOL
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    Compare,
    Constant,
    Expr,
    For,
    If,
    Index,
    Instruction,
    Lane,
    Load,
    Logical,
    MakeVector,
    Node,
    Not,
    Offset,
    Operation,
    Select,
    Stmt,
    Store,
    VectorLoad,
    VectorStore,
    While,
)
from portagpu.ir.operations import is_known
from portagpu.ir.program import Program
from portagpu.ir.recursion import deeply_nested
from portagpu.ir.text import expression_text, statements_text
from portagpu.ir.types import BYTE, Pointer, Scalar, Struct, Vector
from portagpu.ir.walk import all_expressions, all_statements, expressions


class VerificationError(AssertionError):
    """The compiler made IR that breaks an invariant: a bug of ours, not of the user's kernel."""


def _c(kind: Any) -> Any:
    """Types of one representation, weak or not."""
    if isinstance(kind, Scalar):
        return kind.dtype
    if isinstance(kind, Pointer):
        return (kind.element.dtype, kind.space)
    return kind


def _is_bool(expr: Expr) -> bool:
    return isinstance(expr.type, Scalar) and expr.type.dtype is BOOL


def _is_mask(mask: Any, kind: Any) -> bool:
    if not (isinstance(mask, Vector) and isinstance(kind, Vector)):
        return False
    return mask.dtype.is_integer and mask.dtype.size == kind.dtype.size and mask.lanes == kind.lanes


def _is_index(expr: Expr) -> bool:
    return isinstance(expr.type, Scalar) and expr.type.dtype.is_integer


def _points_to(base: Expr, kind: Any, packed: bool = False) -> bool:
    return isinstance(base.type, Pointer) and _c(base.type.element) == _c(BYTE if packed else kind)


_SHIFTS = (BinaryOp.SHL, BinaryOp.SHR)
_INTEGER_ONLY = (BinaryOp.REM, BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR, *_SHIFTS)

INVARIANTS: dict[type[Node], tuple[tuple[str, Callable[[Any], bool]], ...]] = {
    Constant: (("a literal is a scalar", lambda n: isinstance(n.type, Scalar)),),
    Binary: (
        ("operands have the result's type", lambda n: _c(n.left.type) == _c(n.type) and _c(n.right.type) == _c(n.type)),
        ("bit operations work on integers", lambda n: n.op not in _INTEGER_ONLY or not n.type.dtype.is_inexact),
    ),
    Compare: (
        (
            "operands have one type, and vectors a mask",
            lambda n: _c(n.left.type) == _c(n.right.type) and (_is_bool(n) or _is_mask(n.type, n.left.type)),
        ),
    ),
    Logical: (("operands are bools", lambda n: _is_bool(n.left) and _is_bool(n.right)),),
    Not: (("the operand is a bool", lambda n: _is_bool(n.operand)),),
    Select: (
        (
            "the condition is a bool, or a mask",
            lambda n: _is_bool(n.condition) or _is_mask(n.condition.type, n.type),
        ),
        ("both values have the result's type", lambda n: _c(n.yes.type) == _c(n.type) == _c(n.no.type)),
    ),
    Index: (
        (
            "index and extent are of one integer type",
            lambda n: _is_index(n.operand) and _c(n.operand.type) == _c(n.extent.type),
        ),
    ),
    Load: (
        ("the base points to the element", lambda n: _points_to(n.base, n.type, n.packed)),
        ("the index is an integer", lambda n: _is_index(n.index)),
    ),
    VectorLoad: (("the base points to the lanes", lambda n: _points_to(n.base, Scalar(n.type.dtype))),),
    Offset: (("the base is a pointer", lambda n: isinstance(n.base.type, Pointer) and _is_index(n.index)),),
    MakeVector: (
        (
            "lanes add up",
            lambda n: sum(i.type.lanes if isinstance(i.type, Vector) else 1 for i in n.items) == n.type.lanes,
        ),
    ),
    Lane: (("the lane exists", lambda n: isinstance(n.operand.type, Vector) and 0 <= n.lane < n.operand.type.lanes),),
    Assign: (
        (
            "the value has the variable's type",
            lambda n: _c(n.target.type) == _c(n.value.type) or isinstance(n.target.type, Struct),
        ),
    ),
    Store: (
        (
            "the value has the element's type",
            lambda n: _points_to(n.base, n.value.type, n.packed) and _is_index(n.index),
        ),
    ),
    VectorStore: (
        (
            "the value is a vector of the element",
            lambda n: isinstance(n.value.type, Vector) and _points_to(n.base, Scalar(n.value.type.dtype)),
        ),
    ),
    If: (("the condition is a bool", lambda n: _is_bool(n.condition)),),
    While: (("the condition is a bool", lambda n: _is_bool(n.condition)),),
    Operation: (("it is in the table, with as many operands", is_known),),
    Instruction: (("it is in the table, with as many operands", is_known),),
    For: (
        (
            "counter, bounds and step have one integer type",
            lambda n: (
                _is_index(n.counter) and _c(n.counter.type) == _c(n.start.type) == _c(n.stop.type) == _c(n.step.type)
            ),
        ),
    ),
}


@deeply_nested
def verify(program: Program) -> None:
    """Raise `VerificationError` for the first broken invariant."""
    for function in (*program.functions, program.kernel):
        for statement in all_statements(function.body):
            _check(statement)
            for top in expressions(statement):
                for expr in all_expressions(top):
                    _check(expr)


def _check(node: Stmt | Expr) -> None:
    for text, holds in INVARIANTS.get(type(node), ()):
        if not holds(node):
            shown = expression_text(node) if isinstance(node, Expr) else statements_text((node,))
            raise VerificationError(f"{type(node).__name__}: {text}\n{node.span.excerpt()}\n{shown}")
