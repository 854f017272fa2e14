"""Lowering of atomic operations, of volatile accesses, and of what records a thread's exception."""

from __future__ import annotations

from portagpu.backends.c_family.atomic_places import atomic_place
from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.numbers.negations import hides, negated
from portagpu.backends.c_family.precedence import EQUALITY, POSTFIX, UNARY
from portagpu.backends.c_family.registry import Lowered, Printing, argument_text
from portagpu.backends.opencl.codegen.clusters import distributed_atomic, is_distributed
from portagpu.backends.opencl.codegen.language import qualifier
from portagpu.backends.opencl.codegen.table import OPENCL
from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Pointer, Scalar, Space


def _atomic_parts(printer: Printing, expr: Operation) -> tuple[str, Scalar, Space, tuple[str, ...]]:
    place = atomic_place(printer, expr)
    if place.element.dtype.size == 8:
        for extension in ("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"):
            printer.helpers.extension(extension)
    pointer = f"(volatile {qualifier(place.space)} {c_type(place.element)}*)({place.text})"
    return pointer, place.element, place.space, place.operands


@OPENCL.register(
    "atomic_add", "atomic_sub", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor", "atomic_exch"
)
def _atomic(printer: Printing, expr: Operation) -> Lowered:
    if is_distributed(expr):
        return distributed_atomic(printer, expr)
    pointer, element, space, operands = _atomic_parts(printer, expr)
    name = expr.name.removeprefix("atomic_")
    if element.dtype.is_integer:
        prefix = "atomic" if element.dtype.size == 4 else "atom"
        builtin = "xchg" if name == "exch" else name
        return f"{prefix}_{builtin}({pointer}, {operands[0]})", POSTFIX
    if name == "exch" and element.dtype.size == 4:
        return f"atomic_xchg({pointer}, {operands[0]})", POSTFIX
    if name == "sub":
        hidden = hides(printer, element)
        name, operands = "add", (negated(printer, element, operands[0]) if hidden else f"-({operands[0]})",)
    if name == "add" and printer.helpers.caps.inline_ptx:
        return (
            f"{_helper(printer, 'atomic_add_ptx', element, space)}({pointer}, {operands[0]})",
            POSTFIX,
        )
    if name == "add" and _adds_floats(printer.helpers.caps, element, space):
        printer.helpers.extension("cl_ext_float_atomics")
        name = "add_native"
    return f"{_helper(printer, f'atomic_{name}', element, space)}({pointer}, {operands[0]})", POSTFIX


def _helper(printer: Printing, name: str, element: Scalar, space: Space) -> str:
    return printer.helpers.use("atomics", name, c_type(element), space)


def _adds_floats(caps: Capabilities, element: Scalar, space: Space) -> bool:
    """Whether the driver's own addition to a float in shared memory is taken: a CPU's, which was measured."""
    if caps.device_type is not DeviceType.CPU or space is not Space.SHARED:
        return False
    return caps.float_atomic_add_local if element.dtype.size == 4 else caps.double_atomic_add_local


@OPENCL.register("atomic_inc", "atomic_dec", "atomic_nanmax", "atomic_nanmin")
def _atomic_loop(printer: Printing, expr: Operation) -> Lowered:
    if is_distributed(expr):
        return distributed_atomic(printer, expr)
    pointer, element, space, operands = _atomic_parts(printer, expr)
    name = expr.name
    if element.dtype.is_integer and name in ("atomic_nanmax", "atomic_nanmin"):
        return _atomic(printer, Operation(name.replace("nan", ""), expr.args, expr.type, effect=True, span=expr.span))
    return f"{_helper(printer, name, element, space)}({pointer}, {operands[0]})", POSTFIX


@OPENCL.register("claim_fault")
def _claim_fault(printer: Printing, expr: Operation) -> Lowered:
    """Whether this thread is the first of the launch to record an exception."""
    helper = printer.helpers.use("atomics", "atomic_claim_fault", "long", Space.GLOBAL)
    return f"{helper}({argument_text(printer, expr)}) != 0", EQUALITY


@OPENCL.register("fault_bits")
def _fault_bits(printer: Printing, expr: Operation) -> Lowered:
    """A float's bits as a 64-bit integer."""
    operand = expr.args[0].type
    assert isinstance(operand, Scalar)
    text = argument_text(printer, expr)
    return (f"as_long({text})", POSTFIX) if operand.dtype.size == 8 else (f"(long)as_int({text})", UNARY)


@OPENCL.register("atomic_cas")
def _atomic_cas(printer: Printing, expr: Operation) -> Lowered:
    if is_distributed(expr):
        return distributed_atomic(printer, expr)
    pointer, element, space, operands = _atomic_parts(printer, expr)
    if element.dtype.is_integer:
        function = "atomic_cmpxchg" if element.dtype.size == 4 else "atom_cmpxchg"
        return f"{function}({pointer}, {operands[0]}, {operands[1]})", POSTFIX
    helper = _helper(printer, "atomic_cas", element, space)
    return f"{helper}({pointer}, {operands[0]}, {operands[1]})", POSTFIX


_STRONG_TARGET = (7, 0)  # has loads and stores of a memory model


def _volatile(printer: Printing, expr: Operation, name: str) -> str:
    """A call of a helper for a volatile access.

    One vendor's GPUs wait for a volatile load before the next one; one that is coherent on the device is all it takes.
    """
    place = expr.args[0]
    assert isinstance(place.type, Pointer) and isinstance(place.type.element, Scalar)
    caps = printer.helpers.caps
    variant = "strong" if caps.inline_ptx and caps.ptx_target >= _STRONG_TARGET else ""
    kind, space = c_type(place.type.element), place.type.space
    helper = printer.helpers.use("atomics", name, kind, space, variant=variant)
    rest = [printer.text(a) for a in expr.args[1:]]
    return f"{helper}({', '.join([f'(volatile {qualifier(space)} {kind}*)({printer.text(place)})', *rest])})"


@OPENCL.register("volatile_load", "volatile_store")
def _volatile_access(printer: Printing, expr: Operation) -> Lowered:
    return _volatile(printer, expr, expr.name), POSTFIX
