"""Lowering of operations that are a call of OpenCL's function of the same name."""

from __future__ import annotations

from portagpu.codegen.lowering import LOWERINGS, POSTFIX, Lowered
from portagpu.codegen.printer import Printer
from portagpu.ir.nodes import Operation

_FLOATS = ("exp10", "cospi", "sinpi", "logb", "ilogb", "fdim", "round", "pown")
_INTEGERS = ("mul_hi", "mul24", "hadd", "rhadd")
_TYPES = ("int", "uint", "long", "ulong", "float", "double")
_CONVERSIONS = tuple(f"convert_{kind}_{mode}" for kind in _TYPES for mode in ("rte", "rtn", "rtp", "rtz"))


def _call(printer: Printer, expr: Operation) -> Lowered:
    return f"{expr.name}({', '.join(printer.text(a) for a in expr.args)})", POSTFIX


LOWERINGS.update(dict.fromkeys((*_FLOATS, *_INTEGERS, *_CONVERSIONS, *(f"as_{kind}" for kind in _TYPES)), _call))
