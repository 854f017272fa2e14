"""Loops: `for`, `while`, `break` and `continue`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from portagpu.dtypes import integer_range
from portagpu.errors import UnsupportedSyntaxError
from portagpu.frontend.core.conditions import branch_condition, negate
from portagpu.frontend.core.convert import common_type, constant, convert
from portagpu.frontend.core.fixpoint import edge, run_loop
from portagpu.frontend.core.name_index import assigned_names, has_break, is_read_elsewhere, mentions
from portagpu.frontend.core.operators import is_narrow
from portagpu.frontend.core.requests import PickItems
from portagpu.frontend.core.slots import merge
from portagpu.frontend.core.state import FunctionState, LoopFrame
from portagpu.frontend.core.values import (
    ArrayValue,
    Const,
    EnumerateValue,
    PlacesValue,
    RangeValue,
    TupleValue,
    UnrollValue,
    Value,
    ZipValue,
    aggregate,
    is_expr,
    leaves,
    rebuild,
    structure,
)
from portagpu.frontend.syntax.assignment import assign_target
from portagpu.frontend.syntax.expressions import lower
from portagpu.frontend.syntax.iteration import item_at, length_of, unrolled_items
from portagpu.ir.names import own
from portagpu.ir.nodes import (
    Assign,
    Break,
    CallFunction,
    Constant,
    Continue,
    Expr,
    For,
    If,
    Load,
    Return,
    Stmt,
    Var,
    VectorLoad,
    While,
)
from portagpu.ir.types import BOOLEAN, PYINT, PYINT_NARROW, Scalar
from portagpu.ir.walk import children, is_movable

Lower = Callable[[FunctionState, list[ast.stmt]], None]
_UNROLL_LIMIT = 4096


def lower_break(ctx: FunctionState) -> None:
    """``break``."""
    frame = ctx.loops[-1]
    if frame.unrolled:
        _stop_unrolled(ctx, frame, "break")
        frame.stopped = True
        return
    edge(ctx, frame)
    if frame.broke is not None:
        ctx.emit(Assign(frame.broke, Constant(True, BOOLEAN, span=ctx.span), span=ctx.span))
    frame.has_break = True
    ctx.emit(Break(span=ctx.span))
    ctx.reachable = False


def lower_continue(ctx: FunctionState) -> None:
    """``continue``."""
    frame = ctx.loops[-1]
    if frame.unrolled:
        _stop_unrolled(ctx, frame, "continue")
        return
    edge(ctx, frame)
    ctx.emit(Continue(span=ctx.span))
    ctx.reachable = False


def _stop_unrolled(ctx: FunctionState, frame: LoopFrame, word: str) -> None:
    if frame.block is not ctx.block:
        if frame.otherwise is not None:
            raise frame.otherwise
        ctx.fail(
            f"`{word}` in an unrolled loop depends on a run-time condition",
            kind=UnsupportedSyntaxError,
            hint="put the rest of the iteration under `if`, or use a plain range loop",
        )
    ctx.reachable = False


def _finish(ctx: FunctionState, node: ast.For | ast.While, loop: Stmt, lower_body: Lower) -> None:
    frame = ctx.last_frame
    ctx.emit(loop)
    if node.orelse:
        if frame.broke is None:
            lower_body(ctx, node.orelse)
            return
        before = dict(ctx.env)
        with ctx.nested() as block:
            lower_body(ctx, node.orelse)
        other: list[Stmt] = []
        merge(ctx, [(block, ctx.env, ctx.reachable), (other, before, True)])
        condition = negate(ctx, frame.broke)
        reachable, ctx.reachable = ctx.reachable, True
        ctx.emit(If(condition, tuple(block), tuple(other), span=ctx.span))
        ctx.reachable = reachable


# for ------------------------------------------------------------------------------------------------------------------


def lower_for(ctx: FunctionState, node: ast.For, lower_body: Lower) -> None:
    """``for target in iterable``."""
    iterable = lower(ctx, node.iter)
    with ctx.at(node.iter):
        unrolled = unrolled_items(ctx, iterable)
        if unrolled is not None:  # the items have the values of before the loop, whatever it sets
            unrolled = tuple(_kept(ctx, item) for item in unrolled)
        if unrolled is not None and (isinstance(iterable, UnrollValue) or _unrolls(ctx, node, unrolled, lower_body)):
            _unroll(ctx, node, unrolled, lower_body)
            return
        if unrolled is not None:
            _sequence_loop(ctx, node, TupleValue(unrolled), Const(len(unrolled)), lower_body)
            return
        if isinstance(iterable, Const) and isinstance(iterable.value, range):
            iterable = RangeValue(*(Const(v) for v in (iterable.value.start, iterable.value.stop, iterable.value.step)))
        if isinstance(iterable, RangeValue):
            _range_loop(ctx, node, iterable, lower_body)
            return
        iterable = _evaluated(ctx, iterable)
        _sequence_loop(ctx, node, iterable, length_of(ctx, iterable), lower_body)


def _unrolls(ctx: FunctionState, node: ast.For, items: tuple[Value, ...], lower_body: Lower) -> bool:
    """Whether a loop over a tuple is written out; where a run-time condition leaves it, items are picked by number."""
    if len(items) < 2 or not has_break(node.body, ast.Break | ast.Continue):
        return True
    loops, span = len(ctx.loops), ctx.span
    otherwise = PickItems()
    try:
        ctx.trial(lambda: _unroll(ctx, node, items, lower_body, otherwise))
    except PickItems as request:
        if request is not otherwise:
            raise
        del ctx.loops[loops:]
        ctx.span = span
        return len({structure(aggregate(item)) for item in items}) > 1  # what is written out tells what is wrong
    return True


def _kept(ctx: FunctionState, item: Value) -> Value:
    """The item in variables that the loop does not set."""
    whole = aggregate(item)
    return rebuild(whole, iter([_fixed(ctx, part) if is_expr(part) else part for part in leaves(whole)]))


def _evaluated(ctx: FunctionState, iterable: Value) -> Value:
    """The iterable with the bounds, extents and addresses of before the loop, whatever its target and its body set."""
    match iterable:
        case RangeValue(start, stop, step):
            return RangeValue(_evaluated(ctx, start), _evaluated(ctx, stop), _evaluated(ctx, step))
        case EnumerateValue(items, start):
            return EnumerateValue(_evaluated(ctx, items), _evaluated(ctx, start))
        case ZipValue(iterables):
            return ZipValue(tuple(_evaluated(ctx, items) for items in iterables))
        case PlacesValue():
            shape = tuple(_evaluated(ctx, extent) for extent in iterable.shape)
            array = _kept(ctx, iterable.array) if iterable.array is not None else None
            assert array is None or isinstance(array, ArrayValue)
            return replace(iterable, shape=shape, array=array)
    return _kept(ctx, iterable)


def _unroll(
    ctx: FunctionState,
    node: ast.For,
    items: tuple[Value, ...],
    lower_body: Lower,
    otherwise: PickItems | None = None,
) -> None:
    """Write a loop out. ``otherwise``: raised where a run-time condition leaves an iteration, in place of an error."""
    if len(items) > _UNROLL_LIMIT:
        ctx.fail(f"unrolling {len(items)} iterations", hint=f"at most {_UNROLL_LIMIT}; use a plain range loop")
    for item in items:
        frame = LoopFrame(types={}, final=True, unrolled=True, otherwise=otherwise, block=ctx.block)
        ctx.loops.append(frame)
        assign_target(ctx, node.target, item)
        lower_body(ctx, node.body)
        ctx.loops.pop()
        if frame.stopped:
            ctx.reachable = True
            return
        if not ctx.reachable:
            if _left_function(ctx):
                return
            ctx.reachable = True  # a continue
    lower_body(ctx, node.orelse)


def _left_function(ctx: FunctionState) -> bool:
    return bool(ctx.block) and isinstance(ctx.block[-1], Return | Break | Continue)


def _range_loop(ctx: FunctionState, node: ast.For, iterable: RangeValue, lower_body: Lower) -> None:
    kind = _counter_type(ctx, iterable)
    start = convert(ctx, iterable.start, kind)
    stop, step = (_fixed(ctx, convert(ctx, v, kind)) for v in (iterable.stop, iterable.step))
    sign = step.value if isinstance(step, Constant) else None
    name = _own_counter(ctx, node)
    counter = Var(name or ctx.fresh("i"), kind, span=ctx.span)

    def make_body() -> None:
        if name is not None:
            ctx.env[name] = counter
        else:
            assign_target(ctx, node.target, counter)
        lower_body(ctx, node.body)

    before = ctx.env.get(name) if name is not None else None
    body = run_loop(ctx, node, make_body, skip=(name,) if name is not None else ())
    if name is not None:
        ctx.env.pop(name, None)
        if before is not None:
            ctx.env[name] = before
    loop = For(counter, start, stop, step, None if sign is None else sign < 0, tuple(body), span=ctx.span)
    _finish(ctx, node, loop, lower_body)


def _own_counter(ctx: FunctionState, node: ast.For) -> str | None:
    """The target's name, if the C loop may count in it: nothing else writes it, and nothing reads it afterwards."""
    if not isinstance(node.target, ast.Name):
        return None
    name = node.target.id
    if name in assigned_names(node.body) or is_read_elsewhere(ctx, node, name) or mentions(node.orelse, name):
        return None
    return name


def _counter_type(ctx: FunctionState, iterable: RangeValue) -> Scalar:
    """The common type of the bounds; a Python integer where it is narrow, or where a constant does not fit it."""
    values = (iterable.start, iterable.stop, iterable.step)
    if all(is_narrow(ctx, v) and not (isinstance(v, Const) and abs(v.value) >= 2**30) for v in values):
        return PYINT_NARROW
    kind = common_type(ctx, common_value(ctx, iterable.start, iterable.stop), iterable.step)
    assert isinstance(kind, Scalar)
    if not kind.dtype.is_integer or kind.dtype.size < 4:
        return PYINT
    low, high = integer_range(kind.dtype)
    return kind if all(low <= v.value <= high for v in values if isinstance(v, Const)) else PYINT


def common_value(ctx: FunctionState, a: Value, b: Value) -> Value:
    """A stand-in value of the common type of two."""
    if isinstance(a, Const) and isinstance(b, Const):
        return a
    return Var(own("common"), common_type(ctx, a, b), span=ctx.span)


def _fixed(ctx: FunctionState, expr: Expr) -> Expr:
    """The expression, if nothing in the loop can change it, else a variable that holds it."""
    if isinstance(expr, Var) and expr.name in ctx.stable:
        return expr
    return expr if is_movable(expr) or _only_stable(ctx, expr) else ctx.temp(expr)


def _only_stable(ctx: FunctionState, expr: Expr) -> bool:
    if isinstance(expr, Load | VectorLoad | CallFunction):
        return False
    if isinstance(expr, Var):
        return expr.name in ctx.stable
    return all(_only_stable(ctx, c) for c in children(expr))


def _sequence_loop(ctx: FunctionState, node: ast.For, iterable: Value, count: Value, lower_body: Lower) -> None:
    kind = PYINT_NARROW if is_narrow(ctx, count) else PYINT
    stop = _fixed(ctx, convert(ctx, count, kind))
    counter = Var(ctx.fresh("i"), kind, span=ctx.span)

    def make_body() -> None:
        assign_target(ctx, node.target, item_at(ctx, iterable, counter))
        lower_body(ctx, node.body)

    body = run_loop(ctx, node, make_body)
    start, step = constant(ctx, 0, kind), constant(ctx, 1, kind)
    _finish(ctx, node, For(counter, start, stop, step, False, tuple(body), span=ctx.span), lower_body)


# while ----------------------------------------------------------------------------------------------------------------


def lower_while(ctx: FunctionState, node: ast.While, lower_body: Lower) -> None:
    """``while condition``."""
    state: dict[str, Any] = {}

    def make_body() -> None:
        mark = len(ctx.block)
        test = branch_condition(ctx, lower(ctx, node.test, optional=True))
        prelude = len(ctx.block) > mark
        state["condition"] = None
        if isinstance(test, Const):
            if not test.value:
                state["never"] = True
                frame = ctx.loops[-1]
                edge(ctx, frame)
                ctx.emit(Break(span=ctx.span))
                ctx.reachable = False
                return
        elif prelude:
            with ctx.nested() as leave:
                edge(ctx, ctx.loops[-1])
                ctx.emit(Break(span=ctx.span))
            ctx.emit(If(negate(ctx, test), tuple(leave), (), span=ctx.span))
        else:
            state["condition"] = test
        state["infinite"] = isinstance(test, Const)
        lower_body(ctx, node.body)

    body = run_loop(ctx, node, make_body)
    condition = state["condition"]
    if condition is None:
        condition = Constant(True, BOOLEAN, span=ctx.span)
    _finish(ctx, node, While(condition, tuple(body), span=ctx.span), lower_body)
    if state.get("infinite") and not ctx.last_frame.has_break and not state.get("never") and not node.orelse:
        ctx.reachable = False
