"""Lowering of operations that are a call of a library function of the same name, and conversions."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.language import Rounding
from portagpu.backends.c_family.precedence import POSTFIX
from portagpu.backends.c_family.registry import SHARED, Lowered, Printing, argument_text
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Scalar, Vector

_FLOATS = ("exp10", "cospi", "sinpi", "logb", "ilogb", "fdim", "round", "pown")
_INTEGERS = ("mul_hi", "mul24", "hadd", "rhadd")
_CONVERSIONS: dict[str, Rounding] = {
    "convert_nearest": "rte",
    "convert_down": "rtn",
    "convert_up": "rtp",
    "convert_zero": "rtz",
}


def _call(printer: Printing, expr: Operation) -> Lowered:
    return f"{expr.name}({argument_text(printer, expr)})", POSTFIX


def _convert(printer: Printing, expr: Operation) -> Lowered:
    assert isinstance(expr.type, Scalar)
    rounding = _CONVERSIONS[expr.name]
    return printer.language.converted(c_type(expr.type), printer.text(expr.args[0]), rounding=rounding), POSTFIX


def _as_type(printer: Printing, expr: Operation) -> Lowered:
    kind = expr.type
    assert isinstance(kind, Scalar | Vector)
    return printer.language.bits_as(c_type(kind), printer.text(expr.args[0])), POSTFIX


SHARED["as_type"] = _as_type
SHARED.update(dict.fromkeys(_CONVERSIONS, _convert))
SHARED.update(dict.fromkeys((*_FLOATS, *_INTEGERS), _call))
