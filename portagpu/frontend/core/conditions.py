"""Lowering of conditions: and, or, not, the conditional expression."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, overload

from portagpu.frontend.core.convert import (
    as_element,
    common_type,
    convert,
    describe_both,
    leaf_type,
    number_type,
    truth,
    unify_types,
)
from portagpu.frontend.core.optional import adapt, widen
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import (
    ArrayValue,
    Condition,
    Const,
    OptionalValue,
    TupleValue,
    Value,
    aggregate,
    is_expr,
    leaves,
    rebuild,
    structure,
)
from portagpu.ir.names import is_own
from portagpu.ir.nodes import Assign, Constant, Expr, If, Logical, LogicalOp, Not, Select, Stmt, Var
from portagpu.ir.types import BOOLEAN, Layout, Pointer, Scalar, Vector


@overload
def negate(ctx: FunctionState, condition: Const) -> Const: ...
@overload
def negate(ctx: FunctionState, condition: Expr) -> Expr: ...
def negate(ctx: FunctionState, condition: Condition) -> Condition:
    """Logical negation of a condition."""
    if isinstance(condition, Const):
        return Const(not condition.value)
    if isinstance(condition, Constant):
        return Constant(not condition.value, BOOLEAN, span=ctx.span)
    return Not(condition, span=ctx.span)


def logical(ctx: FunctionState, op: LogicalOp, left: Condition, right: Condition) -> Condition:
    """And/or of two conditions without effects."""
    if isinstance(left, Const | Constant):
        return _decided(left) if bool(left.value) == (op is LogicalOp.OR) else right
    if isinstance(right, Const | Constant):
        return _decided(right) if bool(right.value) == (op is LogicalOp.OR) else left
    return Logical(op, left, right, span=ctx.span)


def _decided(condition: Const | Constant) -> Condition:
    return Const(bool(condition.value)) if isinstance(condition, Const) else condition


def branch_condition(ctx: FunctionState, value: Value) -> Condition:
    """The condition of a branch: a Const where the dtype decides, so that the other branch is not compiled."""
    test = truth(ctx, value)
    return Const(bool(test.value)) if isinstance(test, Constant) else test


def select(ctx: FunctionState, condition: Condition, yes: Value, no: Value, what: str = "the two branches") -> Value:
    """``yes if condition else no`` for values without effects."""
    if isinstance(condition, Const):
        return yes if condition.value else no
    if isinstance(yes, Const) and isinstance(no, Const) and yes.value is no.value:
        return yes
    yes, no = widen(ctx, [yes, no])
    if isinstance(yes, OptionalValue) and isinstance(no, OptionalValue):
        held = ctx.temp(condition)
        return OptionalValue(
            truth(ctx, select(ctx, held, yes.present, no.present)), select(ctx, held, yes.item, no.item)
        )
    if isinstance(yes, TupleValue) and isinstance(no, TupleValue) and len(yes.items) == len(no.items):
        held = ctx.temp(condition)
        items = tuple(select(ctx, held, a, b) for a, b in zip(yes.items, no.items, strict=True))
        return TupleValue(items, yes.fields if yes.fields == no.fields else ())
    if isinstance(yes, ArrayValue) and isinstance(no, ArrayValue) and structure(yes) == structure(no):
        return _select_array(ctx, ctx.temp(condition), yes, no)
    a_type, b_type = number_type(ctx, yes), number_type(ctx, no)
    if a_type is None or b_type is None:
        one, other = describe_both(ctx, yes, no)
        ctx.fail(
            f"{what} have no common type: {one} and {other}",
            hint="use an if statement around the code that differs",
        )
    constants = isinstance(yes, Const) or isinstance(no, Const)
    kind = common_type(ctx, yes, no) if constants else unify_types(ctx, leaf_type(ctx, yes), leaf_type(ctx, no))
    if kind is None:
        ctx.fail(f"{what} have no common type: {a_type} and {b_type}")
    return Select(condition, convert(ctx, yes, kind), convert(ctx, no, kind), kind, span=ctx.span)


def _select_array(ctx: FunctionState, condition: Expr, yes: ArrayValue, no: ArrayValue) -> ArrayValue:
    """One of two arrays of a kind: the pointer, extents and strides of one or the other."""
    parts: list[Value] = []
    for a, b in zip(leaves(yes), leaves(no), strict=True):
        assert is_expr(a) and is_expr(b)
        same = a is b or (isinstance(a, Constant) and isinstance(b, Constant) and a.value == b.value)
        kind = a.type
        if isinstance(kind, Pointer):
            kind = Pointer(kind.element, kind.space, yes.readonly or no.readonly)
        elif not same and a.type != b.type:
            a, b = (convert(ctx, x, ctx.program.index_type) for x in (a, b))
            kind = a.type
        parts.append(a if same else ctx.temp(Select(condition, a, b, kind, span=ctx.span)))
    made = rebuild(yes, iter(parts))
    assert isinstance(made, ArrayValue)
    return made if yes.layout is no.layout else replace(made, layout=Layout.ANY)


def hold(ctx: FunctionState, value: Value) -> Value:
    """The value, in a variable unless repeating it is free."""
    if is_expr(value) and not isinstance(value, Constant | Var):
        return ctx.temp(value)
    return value


def kept(ctx: FunctionState, value: Value) -> Value:
    """The value as it is now: what is computed or may change goes to variables of its own."""
    parts = [_copy(ctx, leaf) if is_expr(leaf) else leaf for leaf in leaves(value)]
    return rebuild(value, iter(parts))


def _copy(ctx: FunctionState, leaf: Expr) -> Expr:
    is_fixed = isinstance(leaf, Constant) or (isinstance(leaf, Var) and (leaf.name in ctx.stable or is_own(leaf.name)))
    return leaf if is_fixed else ctx.temp(leaf)


def short_circuit(
    ctx: FunctionState, op: LogicalOp, left: Condition, right: Condition, block: list[Stmt], other: list[Stmt]
) -> Condition:
    """``left op right`` where the right side needs the statements of ``block``, and ``other`` are run without it."""
    if isinstance(left, Const | Constant):
        if bool(left.value) == (op is LogicalOp.OR):
            return _decided(left)
        for statement in block:
            ctx.emit(statement)
        return right
    if not block and not other:
        return logical(ctx, op, left, right)
    held = ctx.temp(left)
    with ctx.nested() as inner:
        for statement in block:
            ctx.emit(statement)
        value = truth(ctx, right)
        literal = Constant(bool(value.value), BOOLEAN, span=ctx.span) if isinstance(value, Const) else value
        ctx.emit(Assign(held, literal, span=ctx.span))
    condition = held if op is LogicalOp.AND else negate(ctx, held)
    ctx.emit(If(condition, tuple(inner), tuple(other), span=ctx.span))
    return held


def choose(ctx: FunctionState, test: Condition, yes: tuple[Value, list[Stmt]], no: tuple[Value, list[Stmt]]) -> Value:
    """Ternary: a select where nothing has to be evaluated conditionally, else an if statement."""
    if not yes[1] and not no[1]:
        return select(ctx, test, yes[0], no[0])
    with ctx.nested():  # for its types
        template = aggregate(select(ctx, test, yes[0], no[0]))
    slots = [_slot(ctx, leaf) for leaf in leaves(template)]
    blocks = []
    for value, block in (yes, no):
        with ctx.nested() as inner:
            for statement in block:
                ctx.emit(statement)
            for slot, leaf in zip(slots, leaves(adapt(ctx, aggregate(value), template)), strict=True):
                if isinstance(slot, Var):
                    is_address = is_expr(leaf) and isinstance(slot.type, Pointer)
                    part: Any = leaf if is_address else convert(ctx, leaf, as_element(slot.type))
                    ctx.emit(Assign(slot, part, span=ctx.span))
        blocks.append(tuple(inner))
    condition = Constant(bool(test.value), BOOLEAN, span=ctx.span) if isinstance(test, Const) else test
    ctx.emit(If(condition, blocks[0], blocks[1], span=ctx.span))
    return rebuild(template, iter(slots))


def _slot(ctx: FunctionState, leaf: Value) -> Value:
    """A variable for a part of a value; the part itself where it is a constant object."""
    kind = leaf_type(ctx, leaf)
    if not isinstance(kind, Scalar | Vector | Pointer):
        return leaf
    return Var(ctx.fresh("t"), kind, span=ctx.span)
