"""Variables at joins of control flow: slots by name and type, and merged environments of branches."""

from __future__ import annotations

from typing import Any

from portagpu.constants import same_constant
from portagpu.frontend.core.convert import as_element, convert, describe_both, leaf_type, unify_types
from portagpu.frontend.core.name_index import is_loop_local
from portagpu.frontend.core.optional import widen
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import (
    Aggregate,
    Const,
    Missing,
    Value,
    aggregate,
    is_expr,
    leaves,
    rebuild,
    structure,
)
from portagpu.ir.nodes import Assign, Constant, Stmt, Var
from portagpu.ir.types import Pointer, Scalar, Vector


def unified_types(ctx: FunctionState, name: str, values: list[Value]) -> list[Any] | None:
    """Types of a variable's leaves over several values of one structure; None where they have no common type."""
    kinds = [leaf_type(ctx, leaf) for leaf in leaves(values[0])]
    for value in values[1:]:
        for n, leaf in enumerate(leaves(value)):
            found = leaf_type(ctx, leaf)
            merged = unify_kinds(ctx, name, kinds[n], found)
            if merged is None and not (kinds[n] is None and found is None):
                return None
            kinds[n] = merged
    return kinds


def unify_kinds(ctx: FunctionState, name: str, a: Any, b: Any) -> Any:
    """Common type of one leaf of ``name`` on two paths; None where there is none."""
    runtime = (Scalar, Vector, Pointer)
    if isinstance(a, runtime) and isinstance(b, runtime):
        if isinstance(a, Pointer) and isinstance(b, Pointer):
            if (a.element, a.space) == (b.element, b.space):
                return Pointer(a.element, a.space, a.readonly or b.readonly)
        else:
            merged = unify_types(ctx, a, b)
            if merged is not None:
                return merged
    elif a is b or same_constant(a, b):
        return a
    return None


def conflict(
    ctx: FunctionState, name: str, a: Value, b: Value, where: str = "on one path and {} on the other"
) -> Missing:
    """What a variable is after paths that give it values without a common type; only its use is an error."""
    one, other = describe_both(ctx, a, b)
    return Missing(
        f"`{name}` is {one} {where.format(other)}",
        "give the variable one type on all paths, or two names",
    )


def slots_of(ctx: FunctionState, name: str, template: Value, kinds: list[Any]) -> Value:
    """The variables in which the leaves of ``name`` live."""
    if isinstance(template, Missing):
        return template
    single = len(kinds) == 1 and not isinstance(template, Aggregate)
    parts: list[Value] = []
    for n, kind in enumerate(kinds):
        if isinstance(kind, Scalar | Vector | Pointer):
            parts.append(Var(name if single else f"{name}.{n}", kind, span=ctx.span))
        else:
            parts.append(Const(kind))
    return rebuild(template, iter(parts))


def to_slots(
    ctx: FunctionState, name: str, template: Value, kinds: list[Any], sources: list[tuple[list[Stmt], Value]]
) -> Value:
    """Variables for a name's leaves, assigned at the end of each source block from the value it has there."""
    if isinstance(template, Missing):
        return template
    single = len(kinds) == 1 and not isinstance(template, Aggregate)
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


def force_slots(ctx: FunctionState, name: str, value: Value, kinds: list[Any], block: list[Stmt]) -> Value:
    """Make sure that each leaf lives in the variable that the loop's edges write."""
    slots = slots_of(ctx, name, value, kinds)
    for slot, leaf in zip(leaves(slots), leaves(value), strict=True):
        if isinstance(slot, Var):
            _store_leaf(ctx, block, slot, leaf)
    return slots


def _store_leaf(ctx: FunctionState, block: list[Stmt], slot: Var, leaf: Value) -> None:
    if isinstance(leaf, Var) and leaf.name == slot.name and leaf.type == slot.type:
        return
    saved, ctx.block = ctx.block, block
    if isinstance(slot.type, Pointer):
        assert is_expr(leaf)
        value = leaf
    else:
        value = convert(ctx, leaf, as_element(slot.type))
    block.append(Assign(slot, value, span=ctx.span))
    ctx.block = saved


def merge(ctx: FunctionState, branches: list[tuple[list[Stmt], dict[str, Value], bool]]) -> None:
    """Join the environments of branches; values that differ go to common variables at the end of each branch."""
    alive = [(block, env) for block, env, reachable in branches if reachable]
    ctx.reachable = bool(alive)
    if not alive:
        return
    if len(alive) == 1:
        ctx.env = dict(alive[0][1])
        return
    names = dict.fromkeys(n for _, env in alive for n in env)
    merged: dict[str, Value] = {}
    for name in names:
        values = [env[name] for _, env in alive if name in env]
        lives = is_expr(values[0]) and not isinstance(values[0], Constant)  # in a variable, which may have no value
        everywhere = len(values) == len(alive) or lives or _is_compile_time(ctx, values[0])
        if everywhere and all(same_value(values[0], v) for v in values[1:]):
            merged[name] = values[0]
            continue
        if is_loop_local(ctx, name):
            continue
        merged[name] = _merge_name(ctx, name, [(block, env.get(name)) for block, env in alive])
    ctx.env = merged


def _is_compile_time(ctx: FunctionState, value: Value) -> bool:
    """Whether no part of a value is a number or an address, which lives in a variable."""
    return not any(isinstance(leaf_type(ctx, leaf), Scalar | Vector | Pointer) for leaf in leaves(aggregate(value)))


def _merge_name(ctx: FunctionState, name: str, values: list[tuple[list[Stmt], Value | None]]) -> Value:
    present = [v for _, v in values if v is not None]
    blocks = [block for block, v in values if v is not None]
    present = [aggregate(v) for v in present]
    present = widen(ctx, present)
    template = present[0]
    for other in present[1:]:
        if isinstance(template, Missing) or isinstance(other, Missing):
            return template if isinstance(template, Missing) else other
        if structure(other) != structure(template):
            return conflict(ctx, name, template, other)
    kinds = unified_types(ctx, name, present)
    if kinds is None:
        return conflict(ctx, name, template, present[-1])
    return to_slots(ctx, name, template, kinds, list(zip(blocks, present, strict=True)))


def same_value(a: Value, b: Value) -> bool:
    """Whether two values are certainly the same thing."""
    if a is b:
        return True
    if isinstance(a, Const) and isinstance(b, Const):
        return a.value is b.value or (isinstance(a.value, int | float | str | bool) and same_constant(a.value, b.value))
    if isinstance(a, Var) and isinstance(b, Var):
        return a.name == b.name and a.type == b.type
    if isinstance(a, Constant) and isinstance(b, Constant):
        return a.type == b.type and same_constant(a.value, b.value)
    if structure(a) != structure(b) or isinstance(a, Const) or isinstance(b, Const):
        return False
    parts_a, parts_b = leaves(a), leaves(b)
    if len(parts_a) == 1 and parts_a[0] is a:
        return False
    return len(parts_a) == len(parts_b) and all(same_value(x, y) for x, y in zip(parts_a, parts_b, strict=True))
