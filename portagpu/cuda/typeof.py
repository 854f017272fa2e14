"""Types under which programs know arguments: what a value's type is, and how the compiler's types are named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu import types
from portagpu.errors import DTypeError, KernelTypeError
from portagpu.ir.types import ArgumentType, ArrayType, ConstantType, Layout, Scalar, TupleType
from portagpu.runtime.args import ArgumentWrapper
from portagpu.runtime.array import DeviceNDArray
from portagpu.types import Array, NoneType, Number, Tuple, Type


@dataclass(frozen=True, slots=True, repr=False)
class Literal(Type):
    """A value that is bound when the kernel is specialised. ``text`` and ``kind`` keep 1, 1.0 and True apart."""

    text: str
    kind: type
    value: Any

    def __str__(self) -> str:
        return f"constexpr {self.text}"


def typeof(value: Any) -> Type | None:
    """The type of an argument; None for what kernels cannot take by themselves."""
    if isinstance(value, ArgumentWrapper):
        value = value.value
    if isinstance(value, np.ndarray | DeviceNDArray):
        c, f = value.flags["C_CONTIGUOUS"], value.flags["F_CONTIGUOUS"]
        readonly = not value.flags.writeable if isinstance(value, np.ndarray) else value.readonly
        try:
            return Array(types.typeof_dtype(value.dtype), value.ndim, "C" if c else "F" if f else "A", readonly)
        except DTypeError:
            return None
    if value is None:
        return types.none
    if isinstance(value, bool | np.bool_):
        return types.boolean
    if isinstance(value, np.generic):
        try:
            return types.typeof_dtype(value.dtype)
        except DTypeError:
            return None
    if isinstance(value, int):
        return types.int64 if value < 2**63 else types.uint64
    if isinstance(value, float):
        return types.float64
    if isinstance(value, tuple):
        items = [typeof(v) for v in value]
        known = [t for t in items if t is not None]
        return Tuple(known) if len(known) == len(items) else None
    return None


def public_type(kind: ArgumentType) -> Type:
    """The name of a compiler's type."""
    if isinstance(kind, Scalar):
        return Number(kind.dtype)
    if isinstance(kind, ArrayType):
        return Array(public_type(kind.element), kind.ndim, kind.layout.value, kind.readonly)
    if isinstance(kind, TupleType):
        return Tuple([public_type(k) for k in kind.items])
    if kind.value is None:
        return types.none
    return Literal(repr(kind.value), type(kind.value), kind.value)


def argument_type(kind: Type) -> ArgumentType:
    """The compiler's type of a declared one. Raises `KernelTypeError` for a type that only a value can give."""
    match kind:
        case Number():
            return Scalar(kind.row)
        case Array(dtype=Number(row=row)):
            return ArrayType(Scalar(row), kind.ndim, Layout(kind.layout), readonly=kind.readonly)
        case Tuple():
            return TupleType(tuple(argument_type(t) for t in kind.types))
        case NoneType():
            return ConstantType(None)
        case Literal():
            return ConstantType(kind.value)
        case _:
            raise KernelTypeError(f"a kernel cannot be compiled for {kind} before it is launched")
