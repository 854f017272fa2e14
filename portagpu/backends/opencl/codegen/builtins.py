"""Lowering of operations that are a call of OpenCL's function of the same name."""

from __future__ import annotations

from portagpu.backends.opencl.codegen.printer import Printer
from portagpu.backends.opencl.codegen.registry import LOWERINGS, POSTFIX, Lowered
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Scalar, Vector

_FLOATS = ("exp10", "cospi", "sinpi", "logb", "ilogb", "fdim", "round", "pown")
_INTEGERS = ("mul_hi", "mul24", "hadd", "rhadd")
_TYPES = ("int", "uint", "long", "ulong", "float", "double")
_CONVERSIONS = tuple(f"convert_{kind}_{mode}" for kind in _TYPES for mode in ("rte", "rtn", "rtp", "rtz"))


def _call(printer: Printer, expr: Operation) -> Lowered:
    return f"{expr.name}({', '.join(printer.text(a) for a in expr.args)})", POSTFIX


def _as_type(printer: Printer, expr: Operation) -> Lowered:
    kind = expr.type
    assert isinstance(kind, Scalar | Vector)
    return f"as_{kind.c}({printer.text(expr.args[0])})", POSTFIX


LOWERINGS["as_type"] = _as_type
LOWERINGS.update(dict.fromkeys((*_FLOATS, *_INTEGERS, *_CONVERSIONS, *(f"as_{kind}" for kind in _TYPES)), _call))
