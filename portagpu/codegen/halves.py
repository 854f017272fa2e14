"""Lowering of float16 on devices that have it as a format in memory only: see `portagpu.ir.halves`."""

from __future__ import annotations

from portagpu.codegen.lowering import LOWERINGS, POSTFIX, Lowered
from portagpu.codegen.printer import Printer
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Pointer


def _pointer(printer: Printer, expr: Operation, const: str) -> str:
    place = expr.args[0]
    assert isinstance(place.type, Pointer)
    return f"({place.type.space.value} {const}half*)({printer.text(place)})"


def _load(printer: Printer, expr: Operation) -> Lowered:
    return f"vload_half(0, {_pointer(printer, expr, 'const ')})", POSTFIX


def _store(printer: Printer, expr: Operation) -> Lowered:
    return f"vstore_half_rte({printer.text(expr.args[1])}, 0, {_pointer(printer, expr, '')})", POSTFIX


def _round(printer: Printer, expr: Operation) -> Lowered:
    return f"{printer.helpers.use('round_half', 'float')}({printer.text(expr.args[0])})", POSTFIX


LOWERINGS.update({"load_half": _load, "store_half": _store, "round_half": _round})
