"""``print`` in kernels: one call of printf."""

from __future__ import annotations

import warnings

from portagpu.dtypes import BOOL, UINT64, Kind
from portagpu.errors import KernelValueError, MissingCapabilityError, PortaGPUWarning, UnsupportedSyntaxError
from portagpu.frontend.calls import Call, handles, value_of
from portagpu.frontend.convert import as_number, constant_type, convert, describe, number_type
from portagpu.frontend.state import FunctionState
from portagpu.frontend.values import Const, TupleValue, Value
from portagpu.frontend.vocabulary import Namespace
from portagpu.ir.nodes import Expr, Lane, Print
from portagpu.ir.types import LONG, Element, Scalar, Vector

_MAX_ITEMS = 32


@handles(print, foldable=False)
def _print(ctx: FunctionState, site: Call) -> Value:
    if not ctx.program.caps.printf:
        ctx.fail(
            "this device cannot print from kernels",
            kind=MissingCapabilityError,
            hint="store the value in an array and print it on the host (`portagpu devices` shows which devices print)",
        )
    options = {"sep": " ", "end": "\n"}
    for name, value in site.keywords.items():
        if name not in options:
            ctx.fail(f"print(..., {name}=...) in a kernel", kind=UnsupportedSyntaxError, hint="it has sep and end")
        if not isinstance(value, Const) or not isinstance(value.value, str | None):
            ctx.fail(f"`{name}` of print must be a constant text, not {describe(ctx, value)}", kind=KernelValueError)
        if value.value is not None:
            options[name] = value.value
    args: list[Expr] = []
    items = [_item(ctx, value, args) for value in site.args]
    text = _escaped(options["sep"]).join(items) + _escaped(options["end"])
    if "\0" in text:
        ctx.fail("a text with a zero byte cannot be printed in a kernel", kind=KernelValueError)
    if len(items) > _MAX_ITEMS:
        warnings.warn(
            f"CUDA print() cannot print more than {_MAX_ITEMS} items. The raw format string will be emitted by the "
            "kernel instead.",
            PortaGPUWarning,
            stacklevel=2,
        )
        text, args = text.replace("%", "%%"), []
    ctx.effect = True
    ctx.emit(Print(text, tuple(args), span=ctx.span))
    return Const(None)


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _item(ctx: FunctionState, value: Value, args: list[Expr]) -> str:
    """The format of one value; what it needs at run time goes to ``args``."""
    if isinstance(value, Const):
        return _constant(ctx, value, args)
    if isinstance(value, TupleValue):
        return _sequence(ctx, value.items, args)
    kind = number_type(ctx, value)
    if kind is None:
        ctx.fail(f"{describe(ctx, value)} cannot be printed in a kernel", hint="print its elements, e.g. a[i]")
    if isinstance(kind, Vector):
        held = ctx.temp(as_number(ctx, value))
        lanes = tuple(Lane(held, n, Scalar(kind.dtype), span=ctx.span) for n in range(kind.lanes))
        return _sequence(ctx, lanes, args)
    return _number(ctx, value, kind, args)


def _constant(ctx: FunctionState, value: Const, args: list[Expr]) -> str:
    inner = value.value
    if isinstance(inner, Namespace):
        axes = [value_of(ctx, f"{inner.name}.{axis}") for axis in "xyz"]
        found = tuple(a for a in axes if a is not None)
        if not found:
            ctx.fail(f"{describe(ctx, value)} cannot be printed in a kernel", hint="print numbers and texts")
        return _sequence(ctx, found, args)
    if isinstance(inner, tuple):
        return _sequence(ctx, tuple(Const(v) for v in inner), args)
    kind = constant_type(inner, ctx.program.py_float)
    if kind is not None and kind.dtype is not BOOL:
        return _number(ctx, value, kind, args)
    return _escaped(str(inner))


def _sequence(ctx: FunctionState, items: tuple[Value, ...], args: list[Expr]) -> str:
    shown = [_quoted(v) if _is_text(v) else _item(ctx, v, args) for v in items]
    return f"({', '.join(shown)}{',' if len(shown) == 1 else ''})"


def _is_text(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, str)


def _quoted(value: Value) -> str:
    assert isinstance(value, Const)
    return _escaped(repr(value.value))


def _number(ctx: FunctionState, value: Value, kind: Element, args: list[Expr]) -> str:
    dtype = kind.dtype
    if dtype is BOOL:
        args.append(as_number(ctx, value))
        return "%s"
    if dtype.is_float:
        args.append(convert(ctx, value, Scalar(ctx.program.py_float.dtype), explicit=True))
        return "%f"
    unsigned = dtype.kind is Kind.UINT
    args.append(convert(ctx, value, Scalar(UINT64) if unsigned else LONG, explicit=True))
    return "%lu" if unsigned else "%ld"
