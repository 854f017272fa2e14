"""Lowering of pointers that are used as pointers to other elements, or as numbers."""

from __future__ import annotations

from portagpu.backends.c_family.precedence import UNARY
from portagpu.backends.c_family.registry import SHARED, Lowered, Printing
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Pointer


@SHARED.register("reinterpret")
def _reinterpret(printer: Printing, expr: Operation) -> Lowered:
    assert isinstance(expr.type, Pointer)
    return f"({printer.language.type(expr.type)}){printer.text(expr.args[0], UNARY)}", UNARY


@SHARED.register("global_address")
def _global_address(printer: Printing, expr: Operation) -> Lowered:
    return f"(ulong)({printer.text(expr.args[0])})", UNARY
