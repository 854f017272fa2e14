"""Lowering of float16 on devices that have it as a format in memory only: see `portagpu.passes.emulation.halves`."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import POSTFIX, UNARY
from portagpu.backends.c_family.registry import Lowered, Printing
from portagpu.backends.sycl.codegen.table import SYCL
from portagpu.ir.nodes import Expr, Operation
from portagpu.ir.types import Pointer, Type, Vector


def _lanes(kind: Type) -> str:
    return str(kind.lanes) if isinstance(kind, Vector) and kind.lanes > 1 else ""


def _as_floats(lanes: str, halves: str) -> Lowered:
    return (f"({halves}).convert<float>()", POSTFIX) if lanes else (f"(float){halves}", UNARY)


def _as_halves(printer: Printing, value: Expr) -> str:
    text = printer.text(value)
    if _lanes(value.type):
        return f"({text}).convert<half>()"
    return printer.language.number_as("half", c_type(value.type), f"({text})")


@SYCL.register("half_value")
def _half_value(printer: Printing, expr: Operation) -> Lowered:
    lanes = _lanes(expr.type)
    return _as_floats(lanes, printer.language.bits_as(f"half{lanes}", printer.text(expr.args[0])))


@SYCL.register("half_bits")
def _half_bits(printer: Printing, expr: Operation) -> Lowered:
    (value,) = expr.args
    return printer.language.bits_as(f"ushort{_lanes(value.type)}", _as_halves(printer, value)), POSTFIX


@SYCL.register("round_half")
def _round_half(printer: Printing, expr: Operation) -> Lowered:
    return _as_floats(_lanes(expr.type), _as_halves(printer, expr.args[0]))


@SYCL.register("load_half", "load_half_aligned")
def _load(printer: Printing, expr: Operation) -> Lowered:
    place, lanes = expr.args[0], _lanes(expr.type)
    pointer = f"({_halves(printer, place, readonly=True)})({printer.text(place)})"
    return _as_floats(lanes, f"pg_load<half{lanes}>({pointer})" if lanes else f"*{pointer}")


@SYCL.register("store_half", "store_half_aligned")
def _store(printer: Printing, expr: Operation) -> Lowered:
    place, value = expr.args
    pointer = f"({_halves(printer, place, readonly=False)})({printer.text(place)})"
    halves = _as_halves(printer, value)
    return (f"pg_store({halves}, {pointer})", POSTFIX) if _lanes(value.type) else (f"*{pointer} = {halves}", 0)


def _halves(printer: Printing, place: Expr, *, readonly: bool) -> str:
    assert isinstance(place.type, Pointer)
    return printer.language.pointer("half", place.type.space, readonly=readonly)
