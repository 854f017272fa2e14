"""Assignment to arrays and slices, element by element, from a number or another array."""

from __future__ import annotations

from collections.abc import Callable

from portagpu.errors import KernelValueError
from portagpu.frontend.arrays.addressing import load, pinned, store
from portagpu.frontend.arrays.indexing import flat_index, to_index
from portagpu.frontend.core.convert import constant, describe, number_type
from portagpu.frontend.core.exceptions import Raise, check
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, TupleValue, Value, is_expr
from portagpu.ir.nodes import Compare, CompareOp, Constant, Expr, For, If, Select, Stmt, Var
from portagpu.ir.types import Scalar
from portagpu.types.record_layout import Record

CopyRecord = Callable[[FunctionState, Value, Value], None]


def fill(ctx: FunctionState, target: ArrayValue, value: Value, copy_record: CopyRecord) -> None:
    """``target[...] = value`` with NumPy's broadcasting, in ascending order of the indices."""
    if isinstance(value, TupleValue) or (isinstance(value, Const) and isinstance(value.value, tuple)):
        _from_tuple(ctx, target, value, copy_record)
        return
    target = pinned(ctx, target)
    if isinstance(value, ArrayValue) and value.shape:
        value = _broadcast(ctx, target, pinned(ctx, value))
    elif isinstance(target.element, Record):
        pass  # `copy_record` says what fits
    elif not isinstance(number_type(ctx, value), Scalar):
        ctx.fail(f"cannot store {describe(ctx, value)} in the elements of {target.describe()}")
    elif is_expr(value) and not isinstance(value, Constant):
        value = ctx.temp(value)
    _loops(ctx, target, value, [], copy_record)


def _from_tuple(ctx: FunctionState, target: ArrayValue, value: TupleValue | Const, copy_record: CopyRecord) -> None:
    items = value.items if isinstance(value, TupleValue) else tuple(map(Const, value.value))
    extent = target.shape[0]
    if target.ndim != 1 or (isinstance(extent, Constant) and extent.value != len(items)):
        ctx.fail(
            f"cannot store a tuple of {len(items)} items in {_shown(target)}",
            kind=KernelValueError,
            hint="a tuple fits a row of as many elements; assign element by element",
        )
    target = pinned(ctx, target)
    with ctx.nested() as block:
        for n, item in enumerate(items):
            place = flat_index(ctx, target, [(0, constant(ctx, n, ctx.program.index_type))])
            _set(ctx, target, place, item, copy_record)
    if not isinstance(extent, Constant):
        _only_where_it_fits(ctx, to_index(ctx, extent), len(items), block)
        return
    for statement in block:
        ctx.emit(statement)


def _only_where_it_fits(ctx: FunctionState, extent: Expr, count: int, block: list[Stmt]) -> None:
    """Store ``count`` items where the row has as many elements, as shows when the kernel runs; else raise."""
    wanted = constant(ctx, count, ctx.program.index_type)
    if not ctx.program.debug:
        ctx.emit(If(Compare(CompareOp.EQ, extent, wanted, span=ctx.span), tuple(block), (), span=ctx.span))
        return
    text = f"cannot store a tuple of {count} items in a row of another length"
    check(ctx, Compare(CompareOp.NE, extent, wanted, span=ctx.span), Raise(kind=ValueError, args=(text,)))
    for statement in block:
        ctx.emit(statement)


def _shown(array: ArrayValue) -> str:
    extents = ", ".join(str(n.value) if isinstance(n, Constant) else "?" for n in array.shape)
    return f"{array.describe()} of shape ({extents}{',' if array.ndim == 1 else ''})"


def _broadcast(ctx: FunctionState, target: ArrayValue, source: ArrayValue) -> ArrayValue:
    """The source with an axis for each of the target's; those of one element are repeated."""
    kind = ctx.program.index_type
    zero = constant(ctx, 0, kind)
    missing = target.ndim - source.ndim
    strides: list[Expr] = [zero] * max(missing, 0)
    for axis, (extent, stride) in enumerate(zip(source.shape, source.strides, strict=True)):
        wanted = target.shape[axis + missing] if missing >= 0 else extent
        known = isinstance(extent, Constant) and isinstance(wanted, Constant)
        if missing < 0 or (known and extent.value not in (1, wanted.value)):  # type: ignore[union-attr]
            ctx.fail(f"cannot store {_shown(source)} in {_shown(target)}", kind=KernelValueError)
        step = to_index(ctx, stride)
        if isinstance(extent, Constant):
            strides.append(zero if extent.value == 1 else step)
            continue
        single = Compare(CompareOp.EQ, to_index(ctx, extent), constant(ctx, 1, kind), span=ctx.span)
        strides.append(ctx.temp(Select(single, zero, step, kind, span=ctx.span)))
    return ArrayValue(
        element=source.element,
        base=source.base,
        shape=target.shape,
        strides=tuple(strides),
        space=source.space,
        readonly=source.readonly,
        layout=source.layout,
        align=source.align,
    )


def _loops(
    ctx: FunctionState, target: ArrayValue, value: Value, counters: list[tuple[int, Expr]], copy_record: CopyRecord
) -> None:
    """A loop for each axis that is left, around the assignment of one element."""
    axis = len(counters)
    if axis == target.ndim:
        item = value
        if isinstance(value, ArrayValue) and value.shape:
            item = load(ctx, value, flat_index(ctx, value, counters))
        _set(ctx, target, flat_index(ctx, target, counters), item, copy_record)
        return
    kind = ctx.program.index_type
    counter = Var(ctx.fresh("i"), kind, span=ctx.span)
    with ctx.nested() as block:
        _loops(ctx, target, value, [*counters, (axis, counter)], copy_record)
    body: tuple[Stmt, ...] = tuple(block)
    start, step = constant(ctx, 0, kind), constant(ctx, 1, kind)
    ctx.emit(For(counter, start, _bound(ctx, target.shape[axis]), step, False, body, span=ctx.span))


def _bound(ctx: FunctionState, extent: Expr) -> Expr:
    """An extent that the loop's own writes cannot change."""
    bound = to_index(ctx, extent)
    return bound if isinstance(bound, Constant) else ctx.temp(bound)


def _set(ctx: FunctionState, target: ArrayValue, place: Expr, item: Value, copy_record: CopyRecord) -> None:
    if isinstance(target.element, Record):
        copy_record(ctx, load(ctx, target, place), item)
    else:
        store(ctx, target, place, item)
