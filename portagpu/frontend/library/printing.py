"""Lowering of ``print``: a call of printf."""

from __future__ import annotations

from portagpu import notices
from portagpu.dialect.names import Namespace
from portagpu.dtypes import BOOL, UINT64, Kind
from portagpu.errors import KernelValueError, MissingCapabilityError, PortaGPUWarning, UnsupportedSyntaxError
from portagpu.frontend.core.convert import as_number, constant_type, convert, describe, number_type
from portagpu.frontend.core.registry import Call, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, TupleValue, Value
from portagpu.frontend.operations.calls import value_of
from portagpu.ir.nodes import Expr, If, Lane, Print, Var
from portagpu.ir.types import BOOLEAN, LONG, Element, Scalar, Vector

_MAX_ITEMS, _MAX_BOOLS = 32, 3
Piece = str | Expr  # a text, or a number


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
    items = [_item(ctx, value) for value in site.args]
    separator = options["sep"]
    pieces: list[Piece] = []
    for n, item in enumerate(items):
        pieces += [separator, *item] if n else item
    pieces.append(options["end"])
    if any(isinstance(p, str) and "\0" in p for p in pieces):
        ctx.fail("a text with a zero byte cannot be printed in a kernel", kind=KernelValueError)
    if len(items) > _MAX_ITEMS:
        if ctx.program.dependencies is not None:
            ctx.program.dependencies.refuse("a warning")  # which code that is kept would not give
        notices.warn(
            f"CUDA print() cannot print more than {_MAX_ITEMS} items. The raw format string will be emitted by the "
            "kernel instead.",
            PortaGPUWarning,
        )
        pieces = [p.replace("%", "%%") if isinstance(p, str) else _conversion(p) for p in pieces]
    ctx.effect = True
    _emit(ctx, pieces)
    return Const(None)


def _emit(ctx: FunctionState, pieces: list[Piece]) -> None:
    """One printf for each combination of the bools: drivers fault on a text that is chosen at run time.

    More than three bools make several calls of printf, between which other threads may print.
    """
    bools = [n for n, piece in enumerate(pieces) if not isinstance(piece, str) and piece.type == BOOLEAN]
    if len(bools) > _MAX_BOOLS:
        cut = bools[_MAX_BOOLS]
        _emit(ctx, pieces[:cut])
        _emit(ctx, pieces[cut:])
        return
    if not bools:
        texts, args = [""], []
        for piece in pieces:
            if isinstance(piece, str):
                texts[-1] += piece
            else:
                args.append(piece)
                texts.append("")
        ctx.emit(Print(tuple(texts), tuple(args), span=ctx.span))
        return
    condition = pieces[bools[0]]
    branches = []
    for word in ("True", "False"):
        with ctx.nested() as block:
            _emit(ctx, [*pieces[: bools[0]], word, *pieces[bools[0] + 1 :]])
        branches.append(tuple(block))
    assert not isinstance(condition, str)
    ctx.emit(If(condition, branches[0], branches[1], span=ctx.span))


def _conversion(value: Expr) -> str:
    """The conversion of CUDA's printf for a number, for lists that are printed as a format."""
    assert isinstance(value.type, Scalar)
    dtype = value.type.dtype
    if dtype is BOOL:
        return "%s"
    return "%f" if dtype.is_float else "%llu" if dtype.kind is Kind.UINT else "%lld"


def _item(ctx: FunctionState, value: Value) -> list[Piece]:
    """The pieces of one value."""
    if isinstance(value, Const):
        return _constant(ctx, value)
    if isinstance(value, TupleValue):
        return _sequence(ctx, value.items)
    kind = number_type(ctx, value)
    if kind is None:
        ctx.fail(f"{describe(ctx, value)} cannot be printed in a kernel", hint="print its elements, e.g. a[i]")
    if kind.dtype.is_complex:
        ctx.fail("complex numbers cannot be printed in a kernel", hint="print z.real and z.imag")
    if isinstance(kind, Vector):
        held = ctx.temp(as_number(ctx, value))
        return _sequence(ctx, tuple(Lane(held, n, Scalar(kind.dtype), span=ctx.span) for n in range(kind.lanes)))
    return [_number(ctx, value, kind)]


def _constant(ctx: FunctionState, value: Const) -> list[Piece]:
    inner = value.value
    if isinstance(inner, Namespace):
        axes = [value_of(ctx, f"{inner.name}.{axis}") for axis in "xyz"]
        found = tuple(a for a in axes if a is not None)
        if not found:
            ctx.fail(f"{describe(ctx, value)} cannot be printed in a kernel", hint="print numbers and texts")
        return _sequence(ctx, found)
    if isinstance(inner, tuple):
        return _sequence(ctx, tuple(Const(v) for v in inner))
    kind = constant_type(inner, ctx.program.py_float)
    if kind is not None and kind.dtype.is_complex:
        ctx.fail("complex numbers cannot be printed in a kernel", hint="print z.real and z.imag")
    if kind is not None and kind.dtype is not BOOL:
        return [_number(ctx, value, kind)]
    return [str(inner)]


def _sequence(ctx: FunctionState, items: tuple[Value, ...]) -> list[Piece]:
    pieces: list[Piece] = ["("]
    for n, item in enumerate(items):
        if n:
            pieces.append(", ")
        is_text = isinstance(item, Const) and isinstance(item.value, str)
        pieces += [repr(item.value)] if is_text and isinstance(item, Const) else _item(ctx, item)
    return [*pieces, ",)" if len(items) == 1 else ")"]


def _number(ctx: FunctionState, value: Value, kind: Element) -> Expr:
    """The number as printf takes it: in 64 bits, or a bool."""
    dtype = kind.dtype
    if dtype is BOOL:
        found = as_number(ctx, value)
        return found if isinstance(found, Var) else ctx.temp(found)
    if dtype.is_float:
        return convert(ctx, value, Scalar(ctx.program.py_float.dtype), explicit=True)
    return convert(ctx, value, Scalar(UINT64) if dtype.kind is Kind.UINT else LONG, explicit=True)
