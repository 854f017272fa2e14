"""Conversion between the compiler's argument types and the types that programs name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from portagpu import types
from portagpu.errors import KernelTypeError
from portagpu.ir.types import ArgumentType, ArrayType, ConstantType, Layout, Scalar, TupleType
from portagpu.types import Array, CPointer, NoneType, Number, Tuple, Type
from portagpu.types.record_layout import Record


@dataclass(frozen=True, slots=True, repr=False)
class Literal(Type):
    """A value that is bound when the kernel is specialised. ``text`` and ``kind`` keep 1, 1.0 and True apart."""

    text: str
    kind: type
    value: Any

    def __str__(self) -> str:
        return f"constexpr {self.text}"


def public_type(kind: ArgumentType | Record) -> Type:
    """The name of a compiler's type."""
    if isinstance(kind, Record):
        return types.Record(kind)
    if isinstance(kind, Scalar):
        return Number(kind.dtype)
    if isinstance(kind, ArrayType):
        return Array(public_type(kind.element), kind.ndim, kind.layout.value, kind.readonly)
    if isinstance(kind, TupleType):
        return Tuple([public_type(k) for k in kind.items], kind.fields)
    if kind.value is None:
        return types.none
    return Literal(repr(kind.value), type(kind.value), kind.value)


def argument_type(kind: Type) -> ArgumentType:
    """The compiler's type of a declared one. Raises `KernelTypeError` for a type that only a value can give."""
    match kind:
        case Number():
            return Scalar(kind.row.computed)
        case Array(dtype=Number(row=row)):
            return ArrayType(Scalar(row), kind.ndim, Layout(kind.layout), readonly=kind.readonly)
        case CPointer():
            return argument_type(kind.array)
        case Tuple():
            return TupleType(tuple(argument_type(t) for t in kind.types), kind.fields)
        case NoneType():
            return ConstantType(None)
        case Literal():
            return ConstantType(kind.value)
        case _:
            raise KernelTypeError(f"a kernel cannot be compiled for {kind} before it is launched")
