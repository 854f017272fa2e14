"""Optional values: variables and results that are None on one path and a number on another.

Such a value is a bool and the number, which is zero where the bool is false. `is None` reads the bool; whatever else
reads the value takes the number. Under ``debug=True`` that raises a TypeError where it is None.
"""

from __future__ import annotations

from collections.abc import Sequence

from portagpu.frontend.core.convert import constant, describe, number_type
from portagpu.frontend.core.exceptions import Raise, check
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, OptionalValue, Value, aggregate, leaves, rebuild
from portagpu.ir.nodes import Not


def is_none(value: Value) -> bool:
    """Whether a value is None for certain."""
    return isinstance(value, Const) and value.value is None


def widen(ctx: FunctionState, values: Sequence[Value]) -> list[Value]:
    """What a variable is on several paths: where it may be None, all as optional values of one structure."""
    if not any(is_none(v) or isinstance(v, OptionalValue) for v in values):
        return list(values)
    items = [aggregate(v.item if isinstance(v, OptionalValue) else v) for v in values if not is_none(v)]
    if not items or not all(_can_be_none(ctx, item) for item in items):
        return list(values)
    return [_wrap(ctx, v, items[0]) for v in values]


def adapt(ctx: FunctionState, value: Value, template: Value) -> Value:
    """A value in the structure of ``template``, which `widen` made of it and others."""
    return _wrap(ctx, value, template.item) if isinstance(template, OptionalValue) else value


def _can_be_none(ctx: FunctionState, item: Value) -> bool:
    return all(number_type(ctx, leaf) is not None for leaf in leaves(item))


def _wrap(ctx: FunctionState, value: Value, item: Value) -> OptionalValue:
    if isinstance(value, OptionalValue):
        return value
    if not is_none(value):
        return OptionalValue(Const(True), aggregate(value))
    zeros = []
    for leaf in leaves(item):
        kind = number_type(ctx, leaf)
        assert kind is not None
        zeros.append(constant(ctx, 0, kind))
    return OptionalValue(Const(False), rebuild(item, iter(zeros)))


def certain(ctx: FunctionState, value: Value) -> Value:
    """The number of an optional value; any other value as it is."""
    if not isinstance(value, OptionalValue):
        return value
    if ctx.program.debug:
        absent = (
            Const(not value.present.value) if isinstance(value.present, Const) else Not(value.present, span=ctx.span)
        )
        shown = describe(ctx, value.item)
        check(ctx, absent, Raise(kind=TypeError, args=(f"expected {shown}, got None",)))
    return value.item
