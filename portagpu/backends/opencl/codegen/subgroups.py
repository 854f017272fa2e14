"""Lowering of subgroups: OpenCL's functions, those of makers' extensions, and the functions of matrix units."""

from __future__ import annotations

from portagpu.backends.opencl.codegen.printer import Printer
from portagpu.backends.opencl.codegen.registry import LOWERINGS, POSTFIX, UNARY, Lowered, register
from portagpu.device.capabilities import Capabilities
from portagpu.errors import MissingCapabilityError
from portagpu.frontend.intrinsics.subgroup_matrix import INSTRUCTIONS, MAD
from portagpu.ir.nodes import Expr, Operation
from portagpu.ir.program import Program
from portagpu.ir.types import Scalar, Vector

_EXTENSIONS = ("cl_khr_subgroups", "cl_intel_subgroups", "cl_intel_subgroups_short", "cl_intel_subgroups_char")
_INDICES = {
    "subgroup_size": "get_max_sub_group_size",
    "subgroup_lane": "get_sub_group_local_id",
    "subgroup_id": "get_sub_group_id",
}
_UNSIGNED = {1: ("uchar", "_uc"), 2: ("ushort", "_us"), 4: ("uint", ""), 8: ("ulong", "_ul")}


def _enable(printer: Printer, *more: str) -> None:
    for extension in (*_EXTENSIONS, *more):
        printer.helpers.extension(extension)


def subgroup_attribute(program: Program, caps: Capabilities, size: int | None) -> tuple[str, ...]:
    """The kernel's attribute for its subgroups. Raises `MissingCapabilityError` for a size that is not there."""
    if size is None or (not caps.required_subgroup_size and caps.subgroup_size == size):
        return ()
    if not caps.required_subgroup_size or size not in caps.subgroup_sizes:
        known = caps.subgroup_sizes if caps.required_subgroup_size else (caps.subgroup_size,) * caps.subgroups
        raise MissingCapabilityError(
            f"this device has no subgroups of {size} threads, which subgroup_size={size} asks for",
            span=program.kernel.span,
            hint=f"its subgroups have {' or '.join(map(str, known))}" if known else "it has no subgroups at all",
        )
    return (f"__attribute__((intel_reqd_sub_group_size({size})))",)


@register(*_INDICES)
def _index(printer: Printer, expr: Operation) -> Lowered:
    _enable(printer)
    return f"(int){_INDICES[expr.name]}()", UNARY


@register("subgroup_broadcast")
def _broadcast(printer: Printer, expr: Operation) -> Lowered:
    _enable(printer)
    return f"sub_group_broadcast({printer.text(expr.args[0])}, {printer.text(expr.args[1])})", POSTFIX


@register("subgroup_shuffle")
def _shuffle(printer: Printer, expr: Operation) -> Lowered:
    _enable(printer, "cl_khr_subgroup_shuffle")
    is_standard = "cl_khr_subgroup_shuffle" in printer.helpers.caps.extensions
    function = "sub_group_shuffle" if is_standard else "intel_sub_group_shuffle"
    return f"{function}({printer.text(expr.args[0])}, {printer.text(expr.args[1])})", POSTFIX


def _lanes(kind: object) -> tuple[Scalar, str]:
    """The element of a number or vector, and the count as names of C types end with it."""
    if isinstance(kind, Vector):
        return Scalar(kind.dtype), str(kind.lanes)
    assert isinstance(kind, Scalar)
    return kind, ""


@register("subgroup_block_read")
def _block_read(printer: Printer, expr: Operation) -> Lowered:
    _enable(printer)
    element, count = _lanes(expr.type)
    unsigned, end = _UNSIGNED[element.dtype.size]
    call = f"intel_sub_group_block_read{end}{count}((__global const {unsigned}*)({printer.text(expr.args[0])}))"
    return f"as_{element.c}{count}({call})", POSTFIX


@register("subgroup_block_write")
def _block_write(printer: Printer, expr: Operation) -> Lowered:
    _enable(printer)
    place, value = expr.args
    element, count = _lanes(value.type)
    unsigned, end = _UNSIGNED[element.dtype.size]
    text = f"as_{unsigned}{count}({printer.text(value)})"
    return f"intel_sub_group_block_write{end}{count}((__global {unsigned}*)({printer.text(place)}), {text})", POSTFIX


# matrix units -------------------------------------------------------------------------------------------------------


def _as(printer: Printer, operand: Expr, c_type: str) -> str:
    """An operand as the type that the function takes, by its bits."""
    assert isinstance(operand.type, Scalar | Vector)
    text = printer.text(operand)
    return text if operand.type.c == c_type else f"as_{c_type}({text})"


def _instruction(printer: Printer, expr: Operation) -> Lowered:
    found = INSTRUCTIONS[expr.name]
    if found.operand[0].startswith("half"):
        printer.helpers.extension("cl_khr_fp16")
    a, b, acc = expr.args
    c_type = found.operand[0]
    text = found.form.format(
        name=found.function, a=_as(printer, a, c_type), b=_as(printer, b, c_type), acc=printer.text(acc)
    )
    return text, POSTFIX


LOWERINGS.update(dict.fromkeys(INSTRUCTIONS, _instruction))


@register(*(f"mad_{dtype}" for dtype in MAD))
def _mad(printer: Printer, expr: Operation) -> Lowered:
    """The function is declared first: compilers that have it may not have its header."""
    _enable(printer, "cl_intel_subgroup_matrix_multiply_accumulate")
    name, depth = MAD[expr.name.removeprefix("mad_")]
    function = f"intel_sub_group_{name}_matrix_mad_k{depth}"
    types = []
    for operand in expr.args:
        element, count = _lanes(operand.type)
        is_float = element.dtype.is_float
        types.append(f"{element.c if is_float else element.c.removeprefix('u')}{count}")
    printer.helpers.declare(
        f"{types[2]} __attribute__((overloadable)) __attribute__((convergent)) {function}({', '.join(types)});"
    )
    operands = ", ".join(_as(printer, o, kind) for o, kind in zip(expr.args, types, strict=True))
    return f"{function}({operands})", POSTFIX
