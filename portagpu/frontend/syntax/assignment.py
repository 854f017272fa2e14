"""Assignment: to names, subscripts and tuples of them."""

from __future__ import annotations

import ast
from typing import Any

from portagpu.errors import UnsupportedSyntaxError
from portagpu.frontend.arrays.addressing import load, pinned, store
from portagpu.frontend.arrays.iteration_order import flat_item
from portagpu.frontend.arrays.records import field_at, field_name, field_view, set_field
from portagpu.frontend.arrays.subscripts import address, get_item, set_item
from portagpu.frontend.core.conditions import kept
from portagpu.frontend.core.convert import constant, convert, describe, number_type
from portagpu.frontend.core.exceptions import Raise, check
from portagpu.frontend.core.operators import binary
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, PlacesValue, TupleValue, Value, is_expr, leaves
from portagpu.frontend.operations.environment import bind, tuple_items
from portagpu.frontend.syntax.expressions import lower, lower_all, lower_index
from portagpu.ir.nodes import Compare, CompareOp, Constant, Expr, Var
from portagpu.ir.types import LONG, Vector
from portagpu.ir.walk import children, is_movable
from portagpu.types.record_layout import Record


def lower_assign(ctx: FunctionState, node: ast.Assign) -> None:
    """``a = b = value``."""
    hint = ctx.name_hint
    first = node.targets[0]
    ctx.name_hint = first.id if isinstance(first, ast.Name) else "array"
    value = lower(ctx, node.value, isinstance(first, ast.Name))
    ctx.name_hint = hint
    if len(node.targets) > 1:
        value = kept(ctx, value)
    for target in node.targets:
        assign_target(ctx, target, value)


def assign_target(ctx: FunctionState, target: ast.expr, value: Value) -> None:
    """Assign a lowered value to a name, tuple of targets or subscript."""
    with ctx.at(target):
        if isinstance(target, ast.Name):
            bind(ctx, target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            _unpack(ctx, target, value)
        elif isinstance(target, ast.Subscript):
            _assign_item(ctx, target, value)
        elif isinstance(target, ast.Attribute):
            value, owner = lower_all(ctx, [target.value], before=(value,))
            set_field(ctx, _record(ctx, owner), target.attr, value)
        else:
            ctx.fail(f"cannot assign to {ast.unparse(target)}", kind=UnsupportedSyntaxError)


def _record(ctx: FunctionState, owner: Value) -> ArrayValue:
    """The record (or array of records) whose field an assignment names."""
    if not isinstance(owner, ArrayValue) or not isinstance(owner.element, Record):
        ctx.fail(
            "attributes cannot be assigned in a kernel",
            kind=UnsupportedSyntaxError,
            hint="vectors are immutable: make a new one; array data is written with a[i] = ...",
        )
    return owner


def _assign_item(ctx: FunctionState, target: ast.Subscript, value: Value) -> None:
    value, owner = lower_all(ctx, [target.value], before=(value,))
    places = isinstance(owner, PlacesValue) and owner.array is not None
    if not places and not isinstance(owner, ArrayValue):
        kind = number_type(ctx, owner)
        what = (
            "vectors are immutable"
            if isinstance(kind, Vector)
            else f"{describe(ctx, owner)} cannot be written by index"
        )
        ctx.fail(what, hint="make a new vector, e.g. cuda.float32x4(...)" if isinstance(kind, Vector) else None)
    (value, owner), items = lower_index(ctx, target.slice, value, owner)
    array, items = flat_item(ctx, owner, items) if places else (owner, items)
    set_item(ctx, array, items, value)


def _unpack(ctx: FunctionState, target: ast.Tuple | ast.List, value: Value) -> None:
    if isinstance(value, ArrayValue) and value.ndim >= 1:
        value = _items_of(ctx, target, value)
    if isinstance(value, ArrayValue | Const) and not (isinstance(value, Const) and isinstance(value.value, tuple)):
        kind = number_type(ctx, value)
        ctx.fail(
            f"cannot unpack {describe(ctx, value)} into {len(target.elts)} names",
            hint="cuda.grid(2) returns a pair, cuda.grid(1) a number" if kind is not None else None,
        )
    kind = number_type(ctx, value)
    if kind is not None:
        ctx.fail(
            f"cannot unpack {describe(ctx, value)} into {len(target.elts)} names",
            hint="cuda.grid(2) returns a pair, cuda.grid(1) a number",
        )
    items = tuple_items(ctx, value)
    items, target = _spread(ctx, items, target)
    if len(items) != len(target.elts):
        ctx.fail(f"cannot unpack {len(items)} values into {len(target.elts)} names")
    written: set[str] = set()
    held: list[Value] = list(items)
    for n, element in enumerate(target.elts):  # `a, b = b, a`: keep values that an earlier target overwrites
        if any(_reads(leaf, written) for leaf in leaves(items[n]) if is_expr(leaf)):
            held[n] = kept(ctx, items[n])
        written |= {s.id for s in ast.walk(element) if isinstance(s, ast.Name)}
        if isinstance(element, ast.Subscript):
            written.add("*")
    for element, item in zip(target.elts, held, strict=True):
        assign_target(ctx, element, item)


def _items_of(ctx: FunctionState, target: ast.Tuple | ast.List, array: ArrayValue) -> Value:
    """The items of an array that is unpacked, along its first axis, read before any target is written.

    There must be one for each target: an error where the length is known while compiling; elsewhere `ValueError` where
    subscripts are checked (``debug=True``, ``boundscheck=True``), as their lengths are.
    """
    count = len(target.elts)
    if any(isinstance(t, ast.Starred) for t in target.elts):
        ctx.fail(
            f"cannot unpack {array.describe()} with `*`",
            kind=UnsupportedSyntaxError,
            hint="how many items that takes is not known while compiling; use a slice, e.g. rest = a[1:]",
        )
    length = array.shape[0]
    if isinstance(length, Constant) and not array.dynamic:
        if length.value != count:
            ctx.fail(f"cannot unpack {array.describe()} with {length.value} elements into {count} names")
    elif ctx.program.bounds:
        _check_length(ctx, length, count)
    items = []
    for n in range(count):
        item = get_item(ctx, array, (Const(n),))
        items.append(ctx.temp(item) if is_expr(item) else item)
    return TupleValue(tuple(items))


def _check_length(ctx: FunctionState, length: Expr, count: int) -> None:
    found = convert(ctx, length, LONG)
    for op, few in ((CompareOp.LT, True), (CompareOp.GT, False)):
        wrong = Compare(op, found, constant(ctx, count, LONG), span=ctx.span)
        text = f"not enough values to unpack (expected {count}, got {{0}})"
        template = text if few else f"too many values to unpack (expected {count})"
        check(ctx, wrong, Raise(kind=ValueError, template=template, values=(found,) if few else ()))


def _spread(
    ctx: FunctionState, items: tuple[Value, ...], target: ast.Tuple | ast.List
) -> tuple[tuple[Value, ...], ast.Tuple | ast.List]:
    """``a, *rest = items`` as an assignment of one value for each target."""
    starred = [n for n, t in enumerate(target.elts) if isinstance(t, ast.Starred)]
    if not starred:
        return items, target
    first, after = starred[0], len(target.elts) - starred[0] - 1
    if len(items) < first + after:
        ctx.fail(f"cannot unpack {len(items)} values into at least {first + after} names")
    rest = TupleValue(items[first : len(items) - after])
    elements = [t.value if isinstance(t, ast.Starred) else t for t in target.elts]
    spread = (*items[:first], rest, *items[len(items) - after :])
    return spread, ast.copy_location(ast.Tuple(elts=elements, ctx=ast.Store()), target)


def _reads(expr: Any, names: set[str]) -> bool:
    if isinstance(expr, Var) and expr.name.partition(".")[0] in names:
        return True
    if "*" in names and not is_movable(expr):
        return True
    return any(_reads(child, names) for child in children(expr))


def lower_annotated(ctx: FunctionState, node: ast.AnnAssign) -> None:
    """``a: type = value``."""
    if node.value is not None:
        ctx.name_hint = node.target.id if isinstance(node.target, ast.Name) else "array"
        assign_target(ctx, node.target, lower(ctx, node.value))


def lower_augmented(ctx: FunctionState, node: ast.AugAssign) -> None:
    """``a += value``."""
    if isinstance(node.target, ast.Name):
        read = ast.copy_location(ast.Name(id=node.target.id, ctx=ast.Load()), node.target)
        current, value = lower_all(ctx, [read, node.value])
        bind(ctx, node.target.id, binary(ctx, node.op, current, value))
        return
    owner, items = _augmented_place(ctx, node.target)
    if owner.readonly:
        ctx.fail("a read-only array cannot be written", hint="pass a writable array")
    index = address(ctx, owner, items)
    if not isinstance(index, Constant | Var):
        index = ctx.temp(index)
    before = (owner, index, load(ctx, owner, index))  # Python reads the element first
    owner, index, current, value = lower_all(ctx, [node.value], before=before)
    result = binary(ctx, node.op, current, value)
    if number_type(ctx, result) is None or (
        isinstance(number_type(ctx, result), Vector) and not isinstance(owner.element, Vector)
    ):
        ctx.fail(f"cannot store {describe(ctx, result)} in an element of {owner.describe()}")
    store(ctx, owner, index, result)


def _augmented_place(ctx: FunctionState, target: ast.expr) -> tuple[ArrayValue, tuple[Any, ...]]:
    """Array and indices of ``a[i] += value``, or of the field that ``rec.x += value`` names."""
    if isinstance(target, ast.Attribute):
        return pinned(ctx, field_view(ctx, _record(ctx, lower(ctx, target.value)), target.attr)), ()
    assert isinstance(target, ast.Subscript)
    owner = lower(ctx, target.value)
    if isinstance(owner, PlacesValue) and owner.array is not None:
        (owner,), items = lower_index(ctx, target.slice, owner)
        return flat_item(ctx, owner, items)
    if not isinstance(owner, ArrayValue):
        ctx.fail(f"{describe(ctx, owner)} cannot be written by index")
    (owner,), items = lower_index(ctx, target.slice, owner)
    name = field_name(items)
    if name is None and owner.record is not None and items:
        name = field_at(ctx, owner.record, items)
    return (owner, items) if name is None else (pinned(ctx, field_view(ctx, owner, name)), ())
