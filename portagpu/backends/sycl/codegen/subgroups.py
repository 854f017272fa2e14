"""Lowering of subgroups: SYCL's sub-groups, and consecutive elements for their work-items."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import POSTFIX, UNARY
from portagpu.backends.c_family.registry import Lowered, Printing
from portagpu.backends.sycl.codegen.table import SYCL
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Pointer, Scalar, Vector

_INDICES = {
    "subgroup_size": "get_max_local_range()[0]",
    "subgroup_lane": "get_local_linear_id()",
    "subgroup_id": "get_group_linear_id()",
}
_GROUP = "syclext::this_work_item::get_sub_group()"


@SYCL.register(*_INDICES)
def _index(printer: Printing, expr: Operation) -> Lowered:
    return f"(int){_GROUP}.{_INDICES[expr.name]}", UNARY


@SYCL.register("subgroup_broadcast")
def _broadcast(printer: Printing, expr: Operation) -> Lowered:
    value, lane = map(printer.text, expr.args)
    return f"sycl::group_broadcast({_GROUP}, {value}, (uint)({lane}))", POSTFIX


@SYCL.register("subgroup_shuffle")
def _shuffle(printer: Printing, expr: Operation) -> Lowered:
    value, lane = map(printer.text, expr.args)
    return f"sycl::select_from_group({_GROUP}, {value}, (uint)({lane}))", POSTFIX


@SYCL.register("subgroup_block_read")
def _block_read(printer: Printing, expr: Operation) -> Lowered:
    assert isinstance(expr.type, Scalar | Vector)
    helper = printer.helpers.use("subgroups", "block_read", c_type(expr.type))
    return f"{helper}({_elements(printer, expr, readonly=True)})", POSTFIX


@SYCL.register("subgroup_block_write")
def _block_write(printer: Printing, expr: Operation) -> Lowered:
    value = expr.args[1]
    assert isinstance(value.type, Scalar | Vector)
    helper = printer.helpers.use("subgroups", "block_write", c_type(value.type))
    return f"{helper}({_elements(printer, expr, readonly=False)}, {printer.text(value)})", POSTFIX


def _elements(printer: Printing, expr: Operation, *, readonly: bool) -> str:
    """The place as a pointer to elements of the value."""
    place = expr.args[0]
    value = expr.type if readonly else expr.args[1].type
    assert isinstance(place.type, Pointer) and isinstance(value, Scalar | Vector)
    pointer = printer.language.pointer(c_type(Scalar(value.dtype)), place.type.space, readonly=readonly)
    return f"({pointer})({printer.text(place)})"
