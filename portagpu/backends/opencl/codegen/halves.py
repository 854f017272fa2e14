"""Lowering of float16 on devices that have it as a format in memory only: see `portagpu.passes.emulation.halves`."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import POSTFIX
from portagpu.backends.c_family.registry import Lowered, Printing
from portagpu.backends.opencl.codegen.language import qualifier
from portagpu.backends.opencl.codegen.table import OPENCL
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Pointer, Scalar, Type, Vector


def _pointer(printer: Printing, expr: Operation, const: str) -> str:
    place = expr.args[0]
    assert isinstance(place.type, Pointer)
    return f"({qualifier(place.type.space)} {const}half*)({printer.text(place)})"


def _function(expr: Operation, kind: Type) -> str:
    """``_half4`` of vectors of four; ``a_half4`` of aligned ones."""
    lanes = kind.lanes if isinstance(kind, Vector) and kind.lanes > 1 else ""
    return f"{'a' if expr.name.endswith('_aligned') else ''}_half{lanes}"


def _load(printer: Printing, expr: Operation) -> Lowered:
    return f"vload{_function(expr, expr.type)}(0, {_pointer(printer, expr, 'const ')})", POSTFIX


def _store(printer: Printing, expr: Operation) -> Lowered:
    value = expr.args[1]
    name = f"vstore{_function(expr, value.type)}_rte"
    return f"{name}({printer.text(value)}, 0, {_pointer(printer, expr, '')})", POSTFIX


def _helper(printer: Printing, expr: Operation) -> Lowered:
    kind = expr.type if expr.name == "half_value" else expr.args[0].type  # the one of floats
    assert isinstance(kind, Scalar | Vector)
    return f"{printer.helpers.use('halves', expr.name, c_type(kind))}({printer.text(expr.args[0])})", POSTFIX


OPENCL.update(dict.fromkeys(("half_value", "half_bits", "round_half"), _helper))
OPENCL.update(dict.fromkeys(("load_half", "load_half_aligned"), _load))
OPENCL.update(dict.fromkeys(("store_half", "store_half_aligned"), _store))
