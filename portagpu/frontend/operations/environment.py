"""Lowering of names: captured values, and binding of variables."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from portagpu.dialect.names import Intrinsic
from portagpu.errors import KernelTypeError
from portagpu.frontend.arrays.static_arrays import captured_array
from portagpu.frontend.core.convert import describe
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, TupleValue, Value, is_expr, leaves, rebuild
from portagpu.frontend.operations.calls import value_of
from portagpu.ir.names import CAPTURED_ARRAYS
from portagpu.ir.nodes import Assign, Constant, Expr, Var
from portagpu.ir.types import BOOLEAN
from portagpu.ir.walk import all_expressions


def captured(ctx: FunctionState, value: Any, name: str) -> Value:
    """A global or closure value: a constant."""
    if isinstance(value, ModuleType):  # asking our own for what it has not makes it look for what was meant
        return Const(value)
    if isinstance(value, np.ndarray):
        return captured_array(ctx, value)
    if isinstance(value, np.void) and value.dtype.names:
        return captured_array(ctx, np.asarray(value))
    if is_device_array(value):
        return _device_array(ctx, value, name)
    if isinstance(value, Intrinsic):
        found = value_of(ctx, value.name)
        if found is not None:
            return found
    return Const(value)


def is_device_array(value: Any) -> bool:
    """Whether a value's elements are in a device's memory: no constants, since others may write them."""
    return hasattr(value, "__cuda_array_interface__") or type(value).__name__ == "DeviceNDArray"


def _device_array(ctx: FunctionState, array: Any, name: str) -> Value:
    """A captured device array: an item of the last parameter, if the launch passes it."""
    passed = ctx.env.get(CAPTURED_ARRAYS)
    if isinstance(passed, TupleValue):
        for known, item in zip(ctx.program.device_arrays, passed.items, strict=True):
            if known is array:
                return item
    error = ctx.error(
        f"`{name}` is a device array that the kernel captures",
        kind=KernelTypeError,
        hint="pass it to the kernel as an argument",
    )
    assert isinstance(error, KernelTypeError)
    error.device_array = array
    raise error


def tuple_items(ctx: FunctionState, value: Value) -> tuple[Value, ...]:
    """Items of a compile-time sequence."""
    if isinstance(value, TupleValue):
        return value.items
    if isinstance(value, Const) and isinstance(value.value, tuple | list | range):
        return tuple(captured(ctx, v, "item") for v in value.value)
    ctx.fail(f"a tuple is needed here, not {describe(ctx, value)}")


def index_items(ctx: FunctionState, index: Value) -> tuple[Value, ...]:
    """The indices that one subscript stands for."""
    several = isinstance(index, TupleValue) or (isinstance(index, Const) and isinstance(index.value, tuple))
    return tuple_items(ctx, index) if several else (index,)


def bind(ctx: FunctionState, name: str, value: Value) -> Value:
    """Give a Python name a value: constants stay constants, everything else lives in variables of its own."""
    from_parts = []
    parts = leaves(value)
    single = len(parts) == 1 and parts[0] is value
    if not single:
        parts = _apart(ctx, name, parts)
    for n, leaf in enumerate(parts):
        if (
            isinstance(leaf, Const)
            or not is_expr(leaf)
            or (isinstance(leaf, Constant) and (not single or leaf.type == BOOLEAN))  # a dtype decides a lone bool
            or is_stable(ctx, leaf)
        ):
            from_parts.append(leaf)
        else:
            slot = Var(name if single else f"{name}.{n}", leaf.type, span=ctx.span)
            if not (isinstance(leaf, Var) and (leaf.name, leaf.type) == (slot.name, slot.type)):
                ctx.emit(Assign(slot, leaf, span=ctx.span))
            from_parts.append(slot)
    bound = rebuild(value, iter(from_parts))
    ctx.env[name] = ctx.last_bound[name] = bound
    return bound


def _apart(ctx: FunctionState, name: str, parts: tuple[Value, ...]) -> tuple[Value, ...]:
    """The parts of a name's new value. Those that read what an earlier part is assigned to are read before it:

    the last one of `t = t[1], t[0]`, and of `a = a.T`.
    """
    kept: list[Value] = []
    written: set[str] = set()
    for n, part in enumerate(parts):
        reads = is_expr(part) and any(isinstance(e, Var) and e.name in written for e in all_expressions(part))
        kept.append(ctx.temp(part) if is_expr(part) and reads else part)
        written.add(f"{name}.{n}")
    return tuple(kept)


def is_stable(ctx: FunctionState, value: Expr) -> bool:
    """Whether an expression is a variable that never changes."""
    return isinstance(value, Var) and value.name in ctx.stable
