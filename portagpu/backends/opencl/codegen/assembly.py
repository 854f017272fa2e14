"""Inline assembly: PTX statements with their operands, and addresses as the numbers that PTX takes."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import LOWEST, POSTFIX, UNARY
from portagpu.backends.c_family.registry import Lowered, Printing
from portagpu.backends.opencl.codegen.ptx import ARCHITECTURE, REGISTERS, ptx_text
from portagpu.backends.opencl.codegen.table import OPENCL
from portagpu.backends.opencl.ptx.architecture import MARK
from portagpu.ir.nodes import Expr, Instruction, Operation


def assembly(printer: Printing, statement: Instruction) -> str:
    """C text of an instruction: a statement of inline assembly."""
    sign = "+" if statement.updates else "="
    results = ", ".join(f'"{sign}{_letter(r)}"({printer.text(r)})' for r in statement.results)
    operands = ", ".join(f'"{_letter(o)}"({printer.text(o)})' for o in statement.operands)
    mark = MARK if statement.name in ARCHITECTURE else ""
    return f'asm volatile("{mark}{ptx_text(statement)}" : {results} : {operands} : "memory");'


def _letter(operand: Expr) -> str:
    """PTX's constraint for a register of the operand's type."""
    return REGISTERS[c_type(operand.type)]


@OPENCL.register("shared_address")
def _shared_address(printer: Printing, expr: Operation) -> Lowered:
    """A pointer to shared memory as its 32-bit address in that memory."""
    return f"(uint)(ulong)({printer.text(expr.args[0])})", UNARY


@OPENCL.register("float_bits")
def _float_bits(printer: Printing, expr: Operation) -> Lowered:
    return f"as_uint({printer.text(expr.args[0])})", POSTFIX


_ROUNDED = {"pack_half2": "uint", "pack_bfloat162": "uint", "float_to_tf32": "float"}


@OPENCL.register(*_ROUNDED)
def _rounded(printer: Printing, expr: Operation) -> Lowered:
    """One float32 rounded to fewer bits, or two to 16 bits each, the first in the low half."""
    native = printer.helpers.caps.ptx_target >= (8, 0)
    kind = _ROUNDED[expr.name]
    helper = printer.helpers.use(*(("ptx", f"{expr.name}_ptx") if native else ("roundings", expr.name)), kind)
    return f"{helper}({', '.join(printer.text(a) for a in expr.args)})", POSTFIX


_COPIED = {4: "uint", 8: "uint2", 16: "uint4"}


@OPENCL.register(*(f"copy_{size}" for size in _COPIED))
def _copy(printer: Printing, expr: Operation) -> Lowered:
    """A copy of some bytes from global to shared memory by the thread itself; zeros where it is not valid."""
    kind = _COPIED[int(expr.name.removeprefix("copy_"))]
    to, source, valid = (printer.text(a) for a in expr.args)
    copied = f"*(__global const {kind}*)({source})"
    value = copied if valid == "true" else f"({valid}) ? {copied} : ({kind})(0)"
    return f"*(__local {kind}*)({to}) = {value}", LOWEST
