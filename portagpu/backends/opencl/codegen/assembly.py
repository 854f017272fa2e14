"""Inline assembly: PTX statements with their operands, and addresses as the numbers that PTX takes."""

from __future__ import annotations

from portagpu.backends.opencl.architecture_ptx import MARK
from portagpu.backends.opencl.codegen.printer import LOWEST, Printer
from portagpu.backends.opencl.codegen.registry import POSTFIX, UNARY, Lowered, register
from portagpu.ir.nodes import Assembly, Expr, Operation
from portagpu.ir.types import Scalar


def assembly(printer: Printer, statement: Assembly) -> str:
    """C text of an assembly statement."""
    sign = "+" if statement.updates else "="
    results = ", ".join(f'"{sign}{_letter(r)}"({printer.text(r)})' for r in statement.results)
    operands = ", ".join(f'"{_letter(o)}"({printer.text(o)})' for o in statement.operands)
    mark = MARK if statement.architecture else ""
    return f'asm volatile("{mark}{statement.text}" : {results} : {operands} : "memory");'


def _letter(operand: Expr) -> str:
    """PTX's constraint for a register of the operand's type."""
    assert isinstance(operand.type, Scalar)
    dtype = operand.type.dtype
    if dtype.is_float:
        return {8: "d", 4: "f", 2: "h"}[dtype.size]
    return {8: "l", 4: "r", 2: "h"}[dtype.size]


@register("shared_address")
def _shared_address(printer: Printer, expr: Operation) -> Lowered:
    """A pointer to shared memory as its 32-bit address in that memory."""
    return f"(uint)(ulong)({printer.text(expr.args[0])})", UNARY


@register("global_address")
def _global_address(printer: Printer, expr: Operation) -> Lowered:
    return f"(ulong)({printer.text(expr.args[0])})", UNARY


@register("float_bits")
def _float_bits(printer: Printer, expr: Operation) -> Lowered:
    return f"as_uint({printer.text(expr.args[0])})", POSTFIX


_ROUNDED = {"pack_half2": "uint", "pack_bfloat162": "uint", "float_to_tf32": "float"}


@register(*_ROUNDED)
def _rounded(printer: Printer, expr: Operation) -> Lowered:
    """One float32 rounded to fewer bits, or two to 16 bits each, the first in the low half."""
    native = printer.helpers.caps.ptx_target >= (8, 0)
    helper = printer.helpers.use(f"{expr.name}_ptx" if native else expr.name, _ROUNDED[expr.name])
    return f"{helper}({', '.join(printer.text(a) for a in expr.args)})", POSTFIX


_COPIED = {4: "uint", 8: "uint2", 16: "uint4"}


@register(*(f"copy_{size}" for size in _COPIED))
def _copy(printer: Printer, expr: Operation) -> Lowered:
    """A copy of some bytes from global to shared memory by the thread itself; zeros where it is not valid."""
    kind = _COPIED[int(expr.name.removeprefix("copy_"))]
    to, source, valid = (printer.text(a) for a in expr.args)
    copied = f"*(__global const {kind}*)({source})"
    value = copied if valid == "true" else f"({valid}) ? {copied} : ({kind})(0)"
    return f"*(__local {kind}*)({to}) = {value}", LOWEST
