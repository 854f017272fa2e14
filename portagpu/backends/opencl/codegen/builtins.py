"""Lowering of operations that are a call of OpenCL's function of the same name."""

from __future__ import annotations

from portagpu.backends.opencl.codegen.c_types import c_type
from portagpu.backends.opencl.codegen.registry import LOWERINGS, POSTFIX, Lowered, Printing
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Scalar, Vector

_FLOATS = ("exp10", "cospi", "sinpi", "logb", "ilogb", "fdim", "round", "pown")
_INTEGERS = ("mul_hi", "mul24", "hadd", "rhadd")
_CONVERSIONS = {"convert_nearest": "rte", "convert_down": "rtn", "convert_up": "rtp", "convert_zero": "rtz"}


def _call(printer: Printing, expr: Operation) -> Lowered:
    return f"{expr.name}({', '.join(printer.text(a) for a in expr.args)})", POSTFIX


def _convert(printer: Printing, expr: Operation) -> Lowered:
    assert isinstance(expr.type, Scalar)
    return f"convert_{c_type(expr.type)}_{_CONVERSIONS[expr.name]}({printer.text(expr.args[0])})", POSTFIX


def _as_type(printer: Printing, expr: Operation) -> Lowered:
    kind = expr.type
    assert isinstance(kind, Scalar | Vector)
    return f"as_{c_type(kind)}({printer.text(expr.args[0])})", POSTFIX


LOWERINGS["as_type"] = _as_type
LOWERINGS.update(dict.fromkeys(_CONVERSIONS, _convert))
LOWERINGS.update(dict.fromkeys((*_FLOATS, *_INTEGERS), _call))
