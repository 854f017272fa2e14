"""Lowering of subgroups: OpenCL's functions, those of makers' extensions, and the functions of matrix units."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import POSTFIX, UNARY
from portagpu.backends.c_family.registry import Lowered, Printing
from portagpu.backends.c_family.subgroup_sizes import required_size
from portagpu.backends.opencl.codegen.table import OPENCL
from portagpu.device.capabilities import Capabilities
from portagpu.ir.nodes import Operation
from portagpu.ir.program import Program
from portagpu.ir.types import Scalar, Vector

_EXTENSIONS = ("cl_khr_subgroups", "cl_intel_subgroups", "cl_intel_subgroups_short", "cl_intel_subgroups_char")
_INDICES = {
    "subgroup_size": "get_max_sub_group_size",
    "subgroup_lane": "get_sub_group_local_id",
    "subgroup_id": "get_sub_group_id",
}
_UNSIGNED = {1: ("uchar", "_uc"), 2: ("ushort", "_us"), 4: ("uint", ""), 8: ("ulong", "_ul")}


def enable(printer: Printing, *more: str) -> None:
    """Enable the extensions of subgroups."""
    for extension in (*_EXTENSIONS, *more):
        printer.helpers.extension(extension)


def subgroup_attribute(program: Program, caps: Capabilities, size: int | None) -> tuple[str, ...]:
    """The kernel's attribute for its subgroups. Raises `MissingCapabilityError` for a size that is not there."""
    wanted = required_size(program, caps, size)
    return () if wanted is None else (f"__attribute__((intel_reqd_sub_group_size({wanted})))",)


@OPENCL.register(*_INDICES)
def _index(printer: Printing, expr: Operation) -> Lowered:
    enable(printer)
    return f"(int){_INDICES[expr.name]}()", UNARY


@OPENCL.register("subgroup_broadcast")
def _broadcast(printer: Printing, expr: Operation) -> Lowered:
    enable(printer)
    return f"sub_group_broadcast({printer.text(expr.args[0])}, {printer.text(expr.args[1])})", POSTFIX


@OPENCL.register("subgroup_shuffle")
def _shuffle(printer: Printing, expr: Operation) -> Lowered:
    enable(printer, "cl_khr_subgroup_shuffle")
    is_standard = "cl_khr_subgroup_shuffle" in printer.helpers.caps.extensions
    function = "sub_group_shuffle" if is_standard else "intel_sub_group_shuffle"
    return f"{function}({printer.text(expr.args[0])}, {printer.text(expr.args[1])})", POSTFIX


def lanes_of(kind: object) -> tuple[Scalar, str]:
    """The element of a number or vector, and the count as names of C types end with it."""
    if isinstance(kind, Vector):
        return Scalar(kind.dtype), str(kind.lanes)
    assert isinstance(kind, Scalar)
    return kind, ""


@OPENCL.register("subgroup_block_read")
def _block_read(printer: Printing, expr: Operation) -> Lowered:
    enable(printer)
    element, count = lanes_of(expr.type)
    unsigned, end = _UNSIGNED[element.dtype.size]
    call = f"intel_sub_group_block_read{end}{count}((__global const {unsigned}*)({printer.text(expr.args[0])}))"
    return f"as_{c_type(element)}{count}({call})", POSTFIX


@OPENCL.register("subgroup_block_write")
def _block_write(printer: Printing, expr: Operation) -> Lowered:
    enable(printer)
    place, value = expr.args
    element, count = lanes_of(value.type)
    unsigned, end = _UNSIGNED[element.dtype.size]
    text = f"as_{unsigned}{count}({printer.text(value)})"
    return f"intel_sub_group_block_write{end}{count}((__global {unsigned}*)({printer.text(place)}), {text})", POSTFIX
