"""Lowering of functions for which a driver that takes PTX has instructions: helpers made of those."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import POSTFIX
from portagpu.backends.c_family.registry import SHARED, Lowered, Printing, argument_text
from portagpu.backends.opencl.codegen.table import OPENCL
from portagpu.dtypes import FLOAT32
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Scalar, Vector

_CVT_TARGET = (8, 0)  # converts to bfloat16


@OPENCL.register("erf", "erfc", "tanh")
def _without_branches(printer: Printing, expr: Operation) -> Lowered:
    """Functions without the branches of that driver's own, across which no loads and no other calls are overlapped."""
    if expr.type == Scalar(FLOAT32) and printer.helpers.caps.inline_ptx:
        helper = printer.helpers.use("ptx", f"{expr.name}_ptx", "float")
        return f"{helper}({argument_text(printer, expr)})", POSTFIX
    return SHARED[expr.name](printer, expr)


@OPENCL.register("opaque")
def _opaque(printer: Printing, expr: Operation) -> Lowered:
    return f"{printer.helpers.use('ptx', 'opaque', c_type(expr.type))}({argument_text(printer, expr)})", POSTFIX


@OPENCL.register("one_plus_tanh", "one_plus_erf")
def _one_plus(printer: Printing, expr: Operation) -> Lowered:
    kind = expr.type
    if isinstance(kind, Scalar) and printer.helpers.caps.inline_ptx:
        helper = printer.helpers.use("ptx", f"{expr.name}_ptx", c_type(kind))
        return f"{helper}({argument_text(printer, expr)})", POSTFIX
    return SHARED[expr.name](printer, expr)


@OPENCL.register("bfloat16_bits")
def _bfloat16_bits(printer: Printing, expr: Operation) -> Lowered:
    kind = expr.args[0].type
    assert isinstance(kind, Scalar | Vector)
    if printer.helpers.caps.ptx_target >= _CVT_TARGET:
        return f"{printer.helpers.use('ptx', 'bfloat16_ptx', c_type(kind))}({printer.text(expr.args[0])})", POSTFIX
    return SHARED[expr.name](printer, expr)
