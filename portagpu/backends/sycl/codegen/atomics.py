"""Lowering of atomic operations, of volatile accesses, and of what records a thread's exception."""

from __future__ import annotations

from portagpu.backends.c_family.atomic_places import AtomicPlace, atomic_place
from portagpu.backends.c_family.c_types import SPACE_WORDS, c_type
from portagpu.backends.c_family.numbers.negations import hides, negated
from portagpu.backends.c_family.precedence import EQUALITY, LOWEST, POSTFIX, UNARY
from portagpu.backends.c_family.registry import Lowered, Printing, argument_text
from portagpu.backends.sycl.codegen.table import SYCL
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Pointer, Scalar, Space

_METHODS = {
    "atomic_add": "fetch_add",
    "atomic_and": "fetch_and",
    "atomic_exch": "exchange",
    "atomic_max": "fetch_max",
    "atomic_min": "fetch_min",
    "atomic_nanmax": "fetch_max",  # of integers, which have no NaN
    "atomic_nanmin": "fetch_min",
    "atomic_or": "fetch_or",
    "atomic_sub": "fetch_sub",
    "atomic_xor": "fetch_xor",
}
_OF_FLOATS = ("atomic_add", "atomic_exch")  # the others have rules of their own about NaN and negation


@SYCL.register(*_METHODS)
def _atomic(printer: Printing, expr: Operation) -> Lowered:
    place = atomic_place(printer, expr)
    is_integer = place.element.dtype.is_integer
    if is_integer or expr.name in _OF_FLOATS:
        reference = f"pg_atomic_{SPACE_WORDS[place.space]}<{c_type(place.element)}>(*({place.text}))"
        return f"{reference}.{_METHODS[expr.name]}({place.operands[0]})", POSTFIX
    if expr.name == "atomic_sub":
        (operand,) = place.operands
        hidden = hides(printer, place.element)
        less = negated(printer, place.element, operand) if hidden else f"-({operand})"
        reference = f"pg_atomic_{SPACE_WORDS[place.space]}<{c_type(place.element)}>(*({place.text}))"
        return f"{reference}.fetch_add({less})", POSTFIX
    return _helper(printer, expr.name, place)


@SYCL.register("atomic_inc", "atomic_dec", "atomic_cas")
def _atomic_loop(printer: Printing, expr: Operation) -> Lowered:
    return _helper(printer, expr.name, atomic_place(printer, expr))


def _helper(printer: Printing, name: str, place: AtomicPlace) -> Lowered:
    helper = printer.helpers.use("atomics", name, c_type(place.element), place.space)
    return f"{helper}({', '.join((place.text, *place.operands))})", POSTFIX


@SYCL.register("claim_fault")
def _claim_fault(printer: Printing, expr: Operation) -> Lowered:
    """Whether this thread is the first of the launch to record an exception."""
    helper = printer.helpers.use("atomics", "atomic_claim_fault", "long", Space.GLOBAL)
    return f"{helper}({argument_text(printer, expr)}) != 0", EQUALITY


@SYCL.register("volatile_load")
def _volatile_load(printer: Printing, expr: Operation) -> Lowered:
    return f"*({_volatile(expr)})({printer.text(expr.args[0])})", UNARY


@SYCL.register("volatile_store")
def _volatile_store(printer: Printing, expr: Operation) -> Lowered:
    place, value = expr.args
    return f"*({_volatile(expr)})({printer.text(place)}) = {printer.text(value)}", LOWEST


def _volatile(expr: Operation) -> str:
    place = expr.args[0].type
    assert isinstance(place, Pointer) and isinstance(place.element, Scalar)
    return f"volatile {c_type(place.element)}*"
