"""Lowering of bfloat16 elements, which are the upper halves of float32 numbers: see `frontend.core.bfloat16`."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import POSTFIX
from portagpu.backends.c_family.registry import SHARED, Lowered, Printing
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Scalar, Vector


@SHARED.register("bfloat16_value", "bfloat16_bits")
def _converted(printer: Printing, expr: Operation) -> Lowered:
    kind = expr.type if expr.name == "bfloat16_value" else expr.args[0].type  # the one of floats
    assert isinstance(kind, Scalar | Vector)
    return f"{printer.helpers.use('bfloat16', expr.name, c_type(kind))}({printer.text(expr.args[0])})", POSTFIX
