"""Types of loop-carried variables, by a fixed point."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from portagpu.constants import constant_key
from portagpu.frontend.core.convert import leaf_type
from portagpu.frontend.core.name_index import assigned_names, has_break, is_loop_local, is_read_elsewhere, mentions
from portagpu.frontend.core.optional import adapt, is_none, widen
from portagpu.frontend.core.requests import SetBefore
from portagpu.frontend.core.slots import conflict, force_slots, slots_of, to_slots, unify_kinds
from portagpu.frontend.core.state import FunctionState, LoopFrame, OpenLoop
from portagpu.frontend.core.values import Missing, Value, aggregate, leaves, structure
from portagpu.ir.nodes import Constant, Stmt
from portagpu.ir.types import BOOLEAN, Pointer, Scalar, Vector

_MAX_PASSES = 16


def run_loop(
    ctx: FunctionState, node: ast.For | ast.While, make_body: Callable[[], None], skip: tuple[str, ...] = ()
) -> list[Stmt]:
    """Lower a loop's body with stable types and return it; the environment afterwards is the one after the loop.

    ``make_body`` lowers one iteration into the open block. Variables carried around the loop are converted to their
    types before the loop and at each edge. If an edge finds that a type is too narrow, the iteration is lowered anew
    with wider ones; else it is the loop's body. (Lowering it once more for the result would double the time for each
    loop that it stands in.)
    """
    while True:
        mark = (ctx.block, len(ctx.block), len(ctx.loops), len(ctx.returns), ctx.span, dict(ctx.env))
        loop = OpenLoop(node, frozenset(ctx.env))
        ctx.open_loops.append(loop)
        try:
            return _run(ctx, node, make_body, skip)
        except SetBefore as request:
            if request.loop is not loop:
                raise
            ctx.block, length, loops, returns, ctx.span, ctx.env = mark
            del ctx.block[length:], ctx.loops[loops:], ctx.returns[returns:]
            ctx.reachable = True
            kinds = [leaf_type(ctx, part) for part in leaves(request.value)]
            ctx.env[request.name] = slots_of(ctx, request.name, aggregate(request.value), kinds)
        finally:
            ctx.open_loops.remove(loop)


def _run(
    ctx: FunctionState, node: ast.For | ast.While, make_body: Callable[[], None], skip: tuple[str, ...]
) -> list[Stmt]:
    bound = [n for n in assigned_names([node]) if not is_loop_local(ctx, n)]
    carried = [n for n in bound if n in ctx.env and n not in skip]
    later = [n for n in bound if is_read_elsewhere(ctx, node, n) or mentions(node.orelse, n)]
    born = [n for n in later if n not in ctx.env and n not in skip]
    initial = dict(ctx.env)
    templates: dict[str, Value] = {n: aggregate(ctx.env[n]) for n in carried}
    kinds: dict[str, list[Any]] = {n: [leaf_type(ctx, p) for p in leaves(templates[n])] for n in carried}
    key = (id(node), tuple((n, tuple(map(_hashable, kinds[n]))) for n in carried))
    if key in ctx.guesses:
        # a variable that no type held has no types there: it is found out again
        kinds |= {n: list(k) for n, k in ctx.guesses[key].items() if n in templates and len(k) == len(kinds[n])}
    if node.orelse and has_break(node.body):
        broke = Constant(False, BOOLEAN, span=ctx.span)
    else:
        broke = None
    for _ in range(_MAX_PASSES):
        frame = LoopFrame(types={n: (templates[n], kinds[n]) for n in kinds}, final=True)
        frame.settles = lambda env: _absorb(ctx, env, (*carried, *born), templates, kinds)
        saved = (len(ctx.block), len(ctx.returns), ctx.counter, ctx.reachable, dict(ctx.env))
        body = None
        try:
            _enter(ctx, frame, carried, initial)
            if broke is not None:
                frame.broke = ctx.temp(broke)
            after = dict(ctx.env)
            with ctx.nested() as statements:
                _iterate(ctx, frame, carried, make_body)
            if frame.final:
                body = statements
        finally:
            if body is None:  # lowered for the types only
                length, returns, ctx.counter, ctx.reachable, ctx.env = saved
                del ctx.block[length:], ctx.returns[returns:]
        if body is not None:
            break
    else:
        ctx.fail("the types of this loop's variables do not settle", hint="give its variables explicit types before it")
    ctx.guesses[key] = {n: list(k) for n, k in kinds.items()}
    ctx.env = after
    for name in kinds:
        ctx.env[name] = slots_of(ctx, name, templates[name], kinds[name])
    ctx.reachable = True
    ctx.last_frame = frame
    return body


def _enter(ctx: FunctionState, frame: LoopFrame, carried: list[str], initial: dict[str, Value]) -> None:
    """Give the variables that a loop carries their types before it."""
    for name in carried:
        template, kinds = frame.types[name]
        if isinstance(template, Missing):
            ctx.env[name] = template
            continue
        before = adapt(ctx, aggregate(initial[name]), template)
        value = to_slots(ctx, name, template, kinds, [(ctx.block, before)])
        ctx.env[name] = force_slots(ctx, name, value, kinds, ctx.block)


def _absorb(
    ctx: FunctionState,
    env: dict[str, Value],
    names: tuple[str, ...],
    templates: dict[str, Value],
    kinds: dict[str, list[Any]],
) -> bool:
    """Widen the types of a loop's variables to those at one of its edges; whether they held them already."""
    changed = False
    for name in names:
        if name not in env:
            continue
        value = aggregate(env[name])
        if name not in templates:
            templates[name], kinds[name] = value, [leaf_type(ctx, p) for p in leaves(value)]
            changed = True
            continue
        wider, value = widen(ctx, [templates[name], value])
        if wider is not templates[name]:  # None on one of the edges
            kinds[name] = _optional_kinds(ctx, templates[name], wider, kinds[name])
            templates[name], changed = wider, True
        merged = _merge(ctx, name, templates[name], kinds[name], value)
        if merged is None:  # no variable can carry both: reading it before it is set again is an error
            where = "before an iteration and {} after it"
            templates[name] = conflict(ctx, name, templates[name], value, where)
            merged, changed = [], True
        changed = changed or merged != kinds[name]
        kinds[name] = merged
    return not changed


def _merge(ctx: FunctionState, name: str, template: Value, kinds: list[Any], value: Value) -> list[Any] | None:
    """Types of a loop variable's leaves with one more value; None where no type holds all."""
    if isinstance(template, Missing):
        return []
    if structure(value) != structure(template):
        return None
    found = [leaf_type(ctx, part) for part in leaves(value)]
    merged = [unify_kinds(ctx, name, a, b) for a, b in zip(kinds, found, strict=True)]
    known = all(m is not None or (a is None and b is None) for m, a, b in zip(merged, kinds, found, strict=True))
    return merged if known else None


def _optional_kinds(ctx: FunctionState, old: Value, new: Value, kinds: list[Any]) -> list[Any]:
    """Types of the leaves of a loop variable that turns out to be None on some edge."""
    found = [leaf_type(ctx, part) for part in leaves(new)]
    return found if is_none(old) else [found[0], *kinds]


def _hashable(kind: Any) -> Any:
    """A leaf's type, or a key of the constant that it is."""
    return kind if isinstance(kind, Scalar | Vector | Pointer) else constant_key(kind)


def _iterate(ctx: FunctionState, frame: LoopFrame, carried: list[str], make_body: Callable[[], None]) -> None:
    for name in carried:
        template, kinds = frame.types[name]
        ctx.env[name] = slots_of(ctx, name, template, kinds)
    ctx.reachable = True
    ctx.loops.append(frame)
    make_body()
    if ctx.reachable:
        edge(ctx, frame)
    ctx.loops.pop()


def edge(ctx: FunctionState, frame: LoopFrame) -> None:
    """An edge out of an iteration: convert the environment to the loop's types, if they hold it."""
    frame.final = frame.settles(dict(ctx.env)) and frame.final
    if not frame.final:
        return
    for name, (template, kinds) in frame.types.items():
        if name in ctx.env:
            value = aggregate(ctx.env[name])
            if isinstance(template, Missing) or isinstance(value, Missing):
                continue
            force_slots(ctx, name, adapt(ctx, value, template), kinds, ctx.block)
