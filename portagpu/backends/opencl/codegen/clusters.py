"""Lowering of clusters of blocks as inline PTX: their barriers, and shared memory of their blocks.

A pointer to distributed shared memory has the type of one to shared memory: the addresses are of one kind, and the
instructions differ. PTX ISA: "barrier.cluster", "mapa", "State spaces: shared state space".
"""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type, storage
from portagpu.backends.c_family.precedence import POSTFIX, UNARY
from portagpu.backends.c_family.registry import Lowered, Printing, argument_text
from portagpu.backends.opencl.codegen.table import OPENCL
from portagpu.errors import KernelTypeError
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Pointer, Scalar, Space

_BARRIERS = {
    "cluster_arrive": "barrier.cluster.arrive;",
    "cluster_wait": "barrier.cluster.wait;",
    "cluster_sync": "barrier.cluster.arrive; barrier.cluster.wait;",
}
_BITWISE = frozenset({"and", "or", "xor", "exch", "cas"})


@OPENCL.register(*_BARRIERS)
def _barrier(printer: Printing, expr: Operation) -> Lowered:
    return f'asm volatile("{_BARRIERS[expr.name]}" ::: "memory")', POSTFIX


@OPENCL.register("cluster_rank")
def _rank(printer: Printing, expr: Operation) -> Lowered:
    return f"{printer.helpers.use('clusters', 'cluster_rank', 'int')}()", POSTFIX


@OPENCL.register("map_shared_rank")
def _mapped(printer: Printing, expr: Operation) -> Lowered:
    assert isinstance(expr.type, Pointer)
    helper = printer.helpers.use("clusters", "map_shared_rank", "uint")
    kind = printer.language.pointer(storage(expr.type.element), expr.type.space)
    return f"({kind}){helper}({argument_text(printer, expr)})", UNARY


@OPENCL.register("cluster_load", "cluster_store")
def _access(printer: Printing, expr: Operation) -> Lowered:
    place = expr.args[0].type
    assert isinstance(place, Pointer)
    helper = printer.helpers.use("clusters", expr.name, c_type(place.element))
    return f"{helper}({argument_text(printer, expr)})", POSTFIX


def is_distributed(expr: Operation) -> bool:
    """Whether an atomic operation is of distributed shared memory."""
    place = expr.args[0].type
    return isinstance(place, Pointer) and place.space is Space.CLUSTER


def distributed_atomic(printer: Printing, expr: Operation) -> Lowered:
    """An atomic operation of distributed shared memory. Raises `KernelTypeError` for one that PTX has not."""
    place = expr.args[0].type
    assert isinstance(place, Pointer) and isinstance(place.element, Scalar)
    name, dtype = expr.name.removeprefix("atomic_"), place.element.dtype
    exists = (
        name == "add"
        or name in _BITWISE
        or (name in ("max", "min") and dtype.is_integer)
        or (name in ("inc", "dec") and dtype.name == "uint32")
    )
    if not exists:
        raise KernelTypeError(
            f"there is no atomic {name} on {dtype.name} in distributed shared memory",
            span=expr.span,
            hint="it has add, exch and cas of 32 and 64 bits, max, min, and_, or_ and xor of integers, inc and dec of"
            " uint32; or let the block that owns the memory do it",
        )
    helper = printer.helpers.use("clusters", "cluster_atomic", c_type(place.element), variant=name)
    return f"{helper}({argument_text(printer, expr)})", POSTFIX
