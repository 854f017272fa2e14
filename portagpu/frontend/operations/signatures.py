"""Declared signatures of functions that kernels call: the choice among several, and the conversion of arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from portagpu.errors import KernelTypeError
from portagpu.frontend.core.convert import convert, describe, number_type
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, TupleValue, Value
from portagpu.frontend.operations import original_words
from portagpu.frontend.operations.costs import Cost, number_cost, rank
from portagpu.frontend.operations.environment import tuple_items
from portagpu.ir.types import Layout, Scalar
from portagpu.types import Array, CPointer, NoneType, Number, Record, Signature, Tuple, Type


def fit(
    ctx: FunctionState, name: str, declared: Sequence[Signature], values: list[Value]
) -> tuple[list[Value], Signature]:
    """Arguments converted as the signature that fits best takes them, and that signature; of equals it is the first.

    Raises `KernelTypeError` where none fits.
    """
    ranked = []
    for signature in declared:
        if len(signature.args) == len(values):
            cost = rank([_cost(ctx, t, v) for t, v in zip(signature.args, values, strict=True)])
            if cost is not None:
                ranked.append((cost, signature))
    if not ranked:
        _refuse(ctx, name, declared, values)
    best = min(ranked, key=lambda item: item[0])[1]
    return [_converted(ctx, t, v) for t, v in zip(best.args, values, strict=True)], best


def _refuse(ctx: FunctionState, name: str, declared: Sequence[Signature], values: list[Value]) -> NoReturn:
    given = ", ".join(describe(ctx, v) for v in values)
    ctx.fail(
        f"no signature of `{name}` takes ({given})",
        kind=KernelTypeError,
        hint="convert the arguments, add a signature, or leave the signatures out",
        notes=[*(f"declared: {s}" for s in declared), original_words.invalid_use(ctx, name, values)],
    )


def _cost(ctx: FunctionState, declared: Type, value: Value) -> Cost:
    match declared:
        case Number():
            kind = number_type(ctx, value)
            return number_cost(kind.dtype, declared.row) if isinstance(kind, Scalar) else Cost.IMPOSSIBLE
        case Array():
            return Cost.EXACT if isinstance(value, ArrayValue) and _is_array(declared, value) else Cost.IMPOSSIBLE
        case CPointer():
            fits = isinstance(value, ArrayValue) and value.layout is Layout.C and _is_array(declared.array, value)
            return Cost.EXACT if fits else Cost.IMPOSSIBLE
        case Tuple():
            if not _is_tuple(value):
                return Cost.IMPOSSIBLE
            items = tuple_items(ctx, value)
            if len(items) != len(declared.types):
                return Cost.IMPOSSIBLE
            return max((_cost(ctx, t, v) for t, v in zip(declared.types, items, strict=True)), default=Cost.EXACT)
        case NoneType():
            return Cost.EXACT if isinstance(value, Const) and value.value is None else Cost.IMPOSSIBLE
        case Record():
            is_one = isinstance(value, ArrayValue) and value.record == declared.layout
            return Cost.EXACT if is_one else Cost.IMPOSSIBLE
        case _:
            return Cost.EXACT


def _is_tuple(value: Value) -> bool:
    return isinstance(value, TupleValue) or (isinstance(value, Const) and isinstance(value.value, tuple))


def _is_array(declared: Array, value: ArrayValue) -> bool:
    """Whether an array has the declared dtype and axes. The order counts only where it is known to be the other one."""
    element = declared.dtype
    if isinstance(element, Number):
        same = isinstance(value.element, Scalar) and value.element.dtype is element.row
    else:
        same = not isinstance(element, Record) or value.element == element.layout
    other = {"C": Layout.F, "F": Layout.C}.get(declared.layout)
    return same and value.ndim == declared.ndim and (value.ndim < 2 or value.layout is not other)


def _converted(ctx: FunctionState, declared: Type, value: Value) -> Value:
    if isinstance(declared, Number):
        return convert(ctx, value, Scalar(declared.row), explicit=True)
    if isinstance(declared, Tuple):
        items = tuple_items(ctx, value)
        fields = value.fields if isinstance(value, TupleValue) else ()
        pairs = zip(declared.types, items, strict=True)
        return TupleValue(tuple(_converted(ctx, t, v) for t, v in pairs), fields)
    return value
