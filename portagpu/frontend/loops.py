"""Loops: a fixed point finds the types of variables that are carried around."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from portagpu.errors import UnsupportedSyntaxError
from portagpu.frontend.convert import (
    as_number,
    common_type,
    constant,
    convert,
    describe,
    leaf_type,
    number_type,
    truth,
    unify_types,
)
from portagpu.frontend.expressions import bind, lower, tuple_items
from portagpu.frontend.operators import binary, is_narrow, negate
from portagpu.frontend.state import FunctionState, LoopFrame, assigned_names
from portagpu.frontend.subscripts import get_item
from portagpu.frontend.values import (
    ArrayValue,
    Const,
    EnumerateValue,
    RangeValue,
    TupleValue,
    UnrollValue,
    Value,
    ZipValue,
    leaves,
    rebuild,
    structure,
)
from portagpu.ir.nodes import Assign, Break, Constant, Continue, Expr, For, If, Stmt, Var, While
from portagpu.ir.types import BOOLEAN, PYINT, PYINT_NARROW, Pointer, Scalar, Vector
from portagpu.ir.walk import children, is_movable

Lower = Callable[[FunctionState, list[ast.stmt]], None]
_MAX_PASSES = 16
_UNROLL_LIMIT = 4096


# variables that several paths write ------------------------------------------------------------------------------------


def unified_types(ctx: FunctionState, name: str, values: list[Value]) -> list[Any]:
    """Types of a variable's leaves over several values of one structure."""
    kinds = [leaf_type(ctx, leaf) for leaf in leaves(values[0])]
    for value in values[1:]:
        for n, leaf in enumerate(leaves(value)):
            kinds[n] = _unify(ctx, name, kinds[n], leaf_type(ctx, leaf))
    return kinds


def _unify(ctx: FunctionState, name: str, a: Any, b: Any) -> Any:
    runtime = (Scalar, Vector, Pointer)
    if isinstance(a, runtime) and isinstance(b, runtime):
        if isinstance(a, Pointer) and isinstance(b, Pointer):
            if (a.element, a.space) == (b.element, b.space):
                return Pointer(a.element, a.space, a.readonly or b.readonly)
        else:
            merged = unify_types(ctx, a, b)
            if merged is not None:
                return merged
    elif a is b or a == b:
        return a
    ctx.fail(
        f"`{name}` is {_show(a)} on one path and {_show(b)} on the other",
        hint="give the variable one type on all paths, or two names",
    )


def _show(kind: Any) -> str:
    return str(kind) if isinstance(kind, Scalar | Vector | Pointer) else repr(kind)


def to_slots(
    ctx: FunctionState, name: str, template: Value, kinds: list[Any], sources: list[tuple[list[Stmt], Value]]
) -> Value:
    """Variables for a name's leaves, assigned at the end of each source block from the value it has there."""
    single = len(kinds) == 1 and not isinstance(template, ArrayValue | TupleValue)
    parts: list[Value] = []
    for n, kind in enumerate(kinds):
        if not isinstance(kind, Scalar | Vector | Pointer):
            parts.append(Const(kind))
            continue
        columns = [leaves(v)[n] for _, v in sources]
        if isinstance(columns[0], Var) and all(
            isinstance(c, Var) and c.name == columns[0].name and c.type == columns[0].type for c in columns
        ):
            parts.append(columns[0])
            continue
        slot = Var(name if single else f"{name}.{n}", kind, span=ctx.span)
        for (block, _), leaf in zip(sources, columns, strict=True):
            _store_leaf(ctx, block, slot, leaf)
        parts.append(slot)
    return rebuild(template, iter(parts))


def _store_leaf(ctx: FunctionState, block: list[Stmt], slot: Var, leaf: Value) -> None:
    if isinstance(leaf, Var) and leaf.name == slot.name and leaf.type == slot.type:
        return
    saved, ctx.block = ctx.block, block
    value = leaf if isinstance(slot.type, Pointer) else convert(ctx, leaf, slot.type)  # type: ignore[arg-type]
    block.append(Assign(slot, value, span=ctx.span))  # type: ignore[arg-type]
    ctx.block = saved


# the fixed point ------------------------------------------------------------------------------------------------------


def _read_elsewhere(ctx: FunctionState, node: ast.stmt, name: str) -> bool:
    """Whether a name is read outside the loop ``node`` (other loops that set it as their target do not count)."""
    inside = {id(n) for n in ast.walk(node)}
    for other in ast.walk(ctx.source.tree):
        if isinstance(other, ast.For) and other is not node and id(other) not in inside and not _contains(other, node):
            if isinstance(other.target, ast.Name) and other.target.id == name and not _loads(other.orelse, name):
                inside |= {id(n) for n in ast.walk(other)}
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and id(n) not in inside
        for n in ast.walk(ctx.source.tree)
    ) or any(
        isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name) and n.target.id == name and id(n) not in inside
        for n in ast.walk(ctx.source.tree)
    )


def is_loop_local(ctx: FunctionState, name: str) -> bool:
    """Whether a name occurs only inside loops that set it as their target, so that no iteration sees an old value."""
    known = ctx.loop_local.get(name)
    if known is None:
        total = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(ctx.source.tree))
        covered: set[int] = set()
        for loop in ast.walk(ctx.source.tree):
            if isinstance(loop, ast.For) and any(
                isinstance(t, ast.Name) and t.id == name for t in ast.walk(loop.target)
            ):
                for part in (loop.target, *loop.body):
                    covered |= {id(n) for n in ast.walk(part) if isinstance(n, ast.Name) and n.id == name}
        known = ctx.loop_local[name] = len(covered) == total
    return known


def _contains(outer: ast.AST, inner: ast.AST) -> bool:
    return any(n is inner for n in ast.walk(outer))


def _loads(nodes: list[ast.stmt], name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for s in nodes for n in ast.walk(s))


def run_loop(
    ctx: FunctionState, node: ast.For | ast.While, make_body: Callable[[], None], skip: tuple[str, ...] = ()
) -> list[Stmt]:
    """Lower a loop's body with stable types and return it; the environment afterwards is the one after the loop.

    ``make_body`` lowers one iteration into the open block. Variables carried around the loop are converted to their
    final types before the loop and at each edge.
    """
    bound = [n for n in assigned_names([node]) if not is_loop_local(ctx, n)]
    carried = [n for n in bound if n in ctx.env and n not in skip]
    born = [n for n in bound if n not in ctx.env and n not in skip and _read_elsewhere(ctx, node, n)]
    initial = dict(ctx.env)
    templates: dict[str, Value] = {n: _aggregate(ctx.env[n]) for n in carried}
    kinds: dict[str, list[Any]] = {n: [leaf_type(ctx, p) for p in leaves(templates[n])] for n in carried}
    key = (id(node), tuple((n, tuple(map(_hashable, kinds[n]))) for n in carried))
    if key in ctx.guesses:
        kinds = {n: list(k) for n, k in ctx.guesses[key].items() if n in templates}
    for _ in range(_MAX_PASSES):
        frame = LoopFrame(types={n: (templates[n], kinds[n]) for n in kinds}, final=False)
        ctx.trial(lambda: _iterate(ctx, frame, carried, make_body))  # noqa: B023 - called at once
        changed = False
        for edge in frame.edges:
            for name in (*carried, *born):
                if name not in edge:
                    continue
                value = _aggregate(edge[name])
                if name not in templates:
                    templates[name], kinds[name] = value, [leaf_type(ctx, p) for p in leaves(value)]
                    changed = True
                    continue
                if structure(value) != structure(templates[name]):
                    ctx.fail(
                        f"`{name}` is {describe(ctx, templates[name])} before an iteration and {describe(ctx, value)} after it",
                        hint="give the variable one type on all paths, or two names",
                    )
                merged = [
                    _unify(ctx, name, k, leaf_type(ctx, p)) for k, p in zip(kinds[name], leaves(value), strict=True)
                ]
                changed = changed or merged != kinds[name]
                kinds[name] = merged
        if not changed:
            break
    else:
        ctx.fail("the types of this loop's variables do not settle", hint="give its variables explicit types before it")
    ctx.guesses[key] = {n: list(k) for n, k in kinds.items()}
    for name in carried:
        value = to_slots(ctx, name, templates[name], kinds[name], [(ctx.block, _aggregate(initial[name]))])
        ctx.env[name] = _force_slots(ctx, name, value, kinds[name], ctx.block)
    frame = LoopFrame(types={n: (templates[n], kinds[n]) for n in kinds}, final=True)
    if isinstance(node, ast.For | ast.While) and node.orelse and _breaks(node.body):
        frame.broke = _flag(ctx)
    after = dict(ctx.env)
    with ctx.nested() as body:
        _iterate(ctx, frame, carried, make_body)
    ctx.env = {n: v for n, v in after.items()}
    for name in kinds:
        ctx.env[name] = _slots(ctx, name, templates[name], kinds[name])
    ctx.reachable = True
    ctx.last_frame = frame
    return body


def _aggregate(value: Value) -> Value:
    if isinstance(value, Const) and isinstance(value.value, tuple):
        return TupleValue(tuple(_aggregate(Const(v)) for v in value.value))
    return value


def _hashable(kind: Any) -> Any:
    try:
        hash(kind)
    except TypeError:
        return id(kind)
    return kind


def _slots(ctx: FunctionState, name: str, template: Value, kinds: list[Any]) -> Value:
    single = len(kinds) == 1 and not isinstance(template, ArrayValue | TupleValue)
    parts: list[Value] = []
    for n, kind in enumerate(kinds):
        if isinstance(kind, Scalar | Vector | Pointer):
            parts.append(Var(name if single else f"{name}.{n}", kind, span=ctx.span))
        else:
            parts.append(Const(kind))
    return rebuild(template, iter(parts))


def _force_slots(ctx: FunctionState, name: str, value: Value, kinds: list[Any], block: list[Stmt]) -> Value:
    """Make sure that each leaf lives in the variable that the loop's edges write."""
    slots = _slots(ctx, name, value, kinds)
    for slot, leaf in zip(leaves(slots), leaves(value), strict=True):
        if isinstance(slot, Var):
            _store_leaf(ctx, block, slot, leaf)
    return slots


def _flag(ctx: FunctionState) -> Var:
    flag = ctx.temp(Constant(False, BOOLEAN, span=ctx.span))
    return flag


def _breaks(body: list[ast.stmt]) -> bool:
    for statement in body:
        if isinstance(statement, ast.Break):
            return True
        if isinstance(statement, ast.If) and (_breaks(statement.body) or _breaks(statement.orelse)):
            return True
        if isinstance(statement, ast.For | ast.While) and _breaks(statement.orelse):
            return True
    return False


def _iterate(ctx: FunctionState, frame: LoopFrame, carried: list[str], make_body: Callable[[], None]) -> None:
    for name in carried:
        template, kinds = frame.types[name]
        ctx.env[name] = _slots(ctx, name, template, kinds)
    ctx.reachable = True
    ctx.loops.append(frame)
    make_body()
    if ctx.reachable:
        edge(ctx, frame)
    ctx.loops.pop()


def edge(ctx: FunctionState, frame: LoopFrame) -> None:
    """An edge out of an iteration: collect the environment, or convert it to the loop's types."""
    if not frame.final:
        frame.edges.append(dict(ctx.env))
        return
    for name, (_template, kinds) in frame.types.items():
        if name in ctx.env:
            value = _aggregate(ctx.env[name])
            _force_slots(ctx, name, value, kinds, ctx.block)


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
        from portagpu.frontend.statements import merge

        other: list[Stmt] = []
        merge(ctx, [(block, ctx.env, ctx.reachable), (other, before, True)])
        condition = negate(ctx, frame.broke)
        reachable, ctx.reachable = ctx.reachable, True
        ctx.emit(If(condition, tuple(block), tuple(other), span=ctx.span))  # type: ignore[arg-type]
        ctx.reachable = reachable


# for ------------------------------------------------------------------------------------------------------------------


def lower_for(ctx: FunctionState, node: ast.For, lower_body: Lower) -> None:
    """``for target in iterable``."""
    iterable = lower(ctx, node.iter)
    with ctx.at(node.iter):
        unrolled = _unrolled_items(ctx, iterable)
        if unrolled is not None:
            _unroll(ctx, node, unrolled, lower_body)
            return
        if isinstance(iterable, Const) and isinstance(iterable.value, range):
            iterable = RangeValue(*(Const(v) for v in (iterable.value.start, iterable.value.stop, iterable.value.step)))
        if isinstance(iterable, RangeValue):
            _range_loop(ctx, node, iterable, lower_body)
            return
        count = _length(ctx, iterable)
        _sequence_loop(ctx, node, iterable, count, lower_body)


def _unrolled_items(ctx: FunctionState, iterable: Value) -> tuple[Value, ...] | None:
    """Items of an iterable that is walked at compile time, or None."""
    if isinstance(iterable, UnrollValue):
        return iterable.items
    if isinstance(iterable, TupleValue) or (isinstance(iterable, Const) and isinstance(iterable.value, tuple | list)):
        return tuple_items(ctx, iterable)
    if isinstance(iterable, EnumerateValue):
        inner = _unrolled_items(ctx, iterable.iterable)
        if inner is None:
            return None
        import ast as _ast

        return tuple(
            TupleValue((binary(ctx, _ast.Add(), iterable.start, Const(n)), item)) for n, item in enumerate(inner)
        )
    if isinstance(iterable, ZipValue):
        columns = [_unrolled_items(ctx, i) for i in iterable.iterables]
        known = [c for c in columns if c is not None]
        if not known:
            return None
        count = min(len(c) for c in known)
        rows = []
        for n in range(count):
            rows.append(
                TupleValue(
                    tuple(
                        c[n] if c is not None else item_at(ctx, source, Const(n))
                        for c, source in zip(columns, iterable.iterables, strict=True)
                    )
                )
            )
        return tuple(rows)
    return None


def _unroll(ctx: FunctionState, node: ast.For, items: tuple[Value, ...], lower_body: Lower) -> None:
    from portagpu.frontend.statements import assign_target

    if len(items) > _UNROLL_LIMIT:
        ctx.fail(f"unrolling {len(items)} iterations", hint=f"at most {_UNROLL_LIMIT}; use a plain range loop")
    for item in items:
        frame = LoopFrame(types={}, final=True, unrolled=True, block=ctx.block)
        ctx.loops.append(frame)
        assign_target(ctx, node.target, item)
        lower_body(ctx, node.body)
        ctx.loops.pop()
        if frame.stopped:
            ctx.reachable = True
            return
        if not ctx.reachable:
            if _left_function(node, ctx):
                return
            ctx.reachable = True  # a continue
    lower_body(ctx, node.orelse)


def _left_function(node: ast.For, ctx: FunctionState) -> bool:
    from portagpu.ir.nodes import Return

    return bool(ctx.block) and isinstance(ctx.block[-1], Return | Break | Continue)


def _range_loop(ctx: FunctionState, node: ast.For, iterable: RangeValue, lower_body: Lower) -> None:
    from portagpu.frontend.statements import assign_target

    kind = _counter_type(ctx, iterable)
    start = convert(ctx, iterable.start, kind)
    stop, step = (_fixed(ctx, convert(ctx, v, kind)) for v in (iterable.stop, iterable.step))
    sign = step.value if isinstance(step, Constant) else None
    name = node.target.id if isinstance(node.target, ast.Name) else None
    direct = (
        name is not None
        and name not in assigned_names(node.body)
        and not _read_elsewhere(ctx, node, name)
        and not any(isinstance(n, ast.Name) and n.id == name for s in node.orelse for n in ast.walk(s))
    )
    if direct:
        counter = Var(name, kind, span=ctx.span)  # type: ignore[arg-type]
    else:
        ctx._counter += 1
        counter = Var(f"pg.i{ctx._counter}", kind, span=ctx.span)

    def make_body() -> None:
        if direct:
            ctx.env[name] = counter  # type: ignore[index]
        else:
            assign_target(ctx, node.target, counter)
        lower_body(ctx, node.body)

    before = ctx.env.get(name) if direct and name else None
    body = run_loop(ctx, node, make_body, skip=(name,) if direct and name else ())
    if direct and name:
        ctx.env.pop(name, None)
        if before is not None:
            ctx.env[name] = before
    loop = For(counter, start, stop, step, None if sign is None else sign < 0, tuple(body), span=ctx.span)
    _finish(ctx, node, loop, lower_body)


def _counter_type(ctx: FunctionState, iterable: RangeValue) -> Scalar:
    values = (iterable.start, iterable.stop, iterable.step)
    if all(is_narrow(ctx, v) and not (isinstance(v, Const) and abs(v.value) >= 2**30) for v in values):
        return PYINT_NARROW
    kind = common_type(ctx, common_value(ctx, iterable.start, iterable.stop), iterable.step)
    assert isinstance(kind, Scalar)
    if not kind.dtype.is_integer:
        return PYINT
    if kind.dtype.size < 4:
        return PYINT
    return kind


def common_value(ctx: FunctionState, a: Value, b: Value) -> Value:
    """A stand-in value of the common type of two."""
    if isinstance(a, Const) and isinstance(b, Const):
        return a
    return Var("pg.common", common_type(ctx, a, b), span=ctx.span)


def _fixed(ctx: FunctionState, expr: Expr) -> Expr:
    """The expression, if nothing in the loop can change it, else a variable that holds it."""
    if isinstance(expr, Var) and expr.name in ctx.stable:
        return expr
    return expr if is_movable(expr) or _only_stable(ctx, expr) else ctx.temp(expr)


def _only_stable(ctx: FunctionState, expr: Expr) -> bool:
    from portagpu.ir.nodes import CallFunction, Load, VectorLoad

    if isinstance(expr, Load | VectorLoad | CallFunction):
        return False
    if isinstance(expr, Var):
        return expr.name in ctx.stable
    return all(_only_stable(ctx, c) for c in children(expr))


def _length(ctx: FunctionState, iterable: Value) -> Value:
    if isinstance(iterable, ArrayValue) and iterable.ndim:
        return iterable.shape[0]
    if isinstance(iterable, RangeValue):
        if isinstance(iterable.step, Const) and iterable.step.value == 1:
            return binary(ctx, ast.Sub(), iterable.stop, iterable.start)
        ctx.fail("a range with a step inside enumerate or zip", hint="compute the value from the counter")
    if isinstance(iterable, Const) and isinstance(iterable.value, range):
        return Const(len(iterable.value))
    if isinstance(iterable, EnumerateValue):
        return _length(ctx, iterable.iterable)
    if isinstance(iterable, ZipValue) and iterable.iterables:
        from portagpu.frontend.calls import TABLE, Call

        counts = tuple(_length(ctx, i) for i in iterable.iterables)
        node = ast.Call(func=ast.Name(id="min", ctx=ast.Load()), args=[], keywords=[])
        return TABLE[min](ctx, Call(node=node, function=Const(min), args=counts, keywords={}))
    ctx.fail(
        f"cannot loop over {describe(ctx, iterable)}",
        hint="loop over range(...), an array, a tuple, enumerate(...) or zip(...)",
    )


def item_at(ctx: FunctionState, iterable: Value, index: Value) -> Value:
    """Item of a run-time iterable."""
    if isinstance(iterable, ArrayValue):
        return get_item(ctx, iterable, (index,))
    if isinstance(iterable, Const) and isinstance(iterable.value, range):
        scaled = binary(ctx, ast.Mult(), index, Const(iterable.value.step))
        return binary(ctx, ast.Add(), scaled, Const(iterable.value.start))
    if isinstance(iterable, RangeValue):
        return binary(ctx, ast.Add(), index, iterable.start)
    if isinstance(iterable, EnumerateValue):
        return TupleValue((binary(ctx, ast.Add(), index, iterable.start), item_at(ctx, iterable.iterable, index)))
    if isinstance(iterable, ZipValue):
        return TupleValue(tuple(item_at(ctx, i, index) for i in iterable.iterables))
    ctx.fail(f"cannot loop over {describe(ctx, iterable)}")


def _sequence_loop(ctx: FunctionState, node: ast.For, iterable: Value, count: Value, lower_body: Lower) -> None:
    from portagpu.frontend.statements import assign_target

    kind = PYINT_NARROW if is_narrow(ctx, count) else PYINT
    stop = _fixed(ctx, convert(ctx, count, kind))
    ctx._counter += 1
    counter = Var(f"pg.i{ctx._counter}", kind, span=ctx.span)

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
        test = truth(ctx, lower(ctx, node.test))
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
            ctx.emit(If(negate(ctx, test), tuple(leave), (), span=ctx.span))  # type: ignore[arg-type]
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


__all__ = ["as_number", "bind", "lower_break", "lower_continue", "lower_for", "lower_while", "number_type"]
