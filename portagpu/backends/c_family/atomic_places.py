"""Where an atomic operation works, and on what."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.backends.c_family.registry import Printing
from portagpu.errors import MissingCapabilityError
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Pointer, Scalar, Space


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomicPlace:
    """An element in memory, the pointer's text, and the operands' texts."""

    element: Scalar
    space: Space
    text: str
    operands: tuple[str, ...]


def atomic_place(printer: Printing, expr: Operation) -> AtomicPlace:
    """The parts of an atomic operation. Raises `MissingCapabilityError` for 64 bits where the device lacks those."""
    place = expr.args[0]
    assert isinstance(place.type, Pointer) and isinstance(place.type.element, Scalar)
    element = place.type.element
    if element.dtype.size == 8 and not printer.helpers.caps.int64_atomics:
        name = expr.name.replace("_", ".", 1) + ("_" if expr.name in ("atomic_and", "atomic_or") else "")
        raise MissingCapabilityError(
            f"this device has no 64-bit atomics, which cuda.{name} on {element} needs",
            span=expr.span,
            hint="use a 32-bit array (int32, uint32, float32)",
        )
    operands = tuple(printer.text(a) for a in expr.args[1:])
    return AtomicPlace(element=element, space=place.type.space, text=printer.text(place), operands=operands)
