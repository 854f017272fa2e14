"""Types of values in a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import overload

from portagpu.dtypes import (
    BFLOAT16,
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT64,
    DType,
)
from portagpu.types.record_layout import Record


class Space(Enum):
    """Address space of an array; the values are CUDA's names."""

    GLOBAL = "global"
    SHARED = "shared"  # of a block
    THREAD = "local"  # of one thread
    CONSTANT = "constant"
    CLUSTER = "distributed shared"  # that of a block of the cluster


WARP = 32  # threads of a warp, as CUDA's users count on


class Layout(Enum):
    """Memory layout of an array argument."""

    C = "C"
    F = "F"
    ANY = "A"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number or bool. A weak one is a Python number: it adopts the other operand's type (NEP 50).

    A weak integer is stored as int64, or as int32 where its range is known to fit; a weak float as float64,
    or as float32 on devices without double precision.
    """

    dtype: DType
    weak: bool = False

    def __hash__(self) -> int:
        """Of the name alone, which strings remember: compiling looks types up very often."""
        return hash(self.dtype.name)

    def __str__(self) -> str:
        if not self.weak:
            return self.dtype.name
        if self.dtype.is_complex:
            return "complex"
        return "int" if self.dtype.is_integer else "float"

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector of 2, 3, 4, 8 or 16 lanes; one of a single lane is a number."""

    dtype: DType
    lanes: int

    def __str__(self) -> str:
        return f"{self.dtype.name}x{self.lanes}"

    @property
    def size(self) -> int:
        """Bytes in memory (three lanes take the room of four, as OpenCL says)."""
        return self.dtype.size * (4 if self.lanes == 3 else self.lanes)


Element = Scalar | Vector


@dataclass(frozen=True, slots=True)
class Pointer:
    """Address of elements in one address space."""

    element: Element
    space: Space
    readonly: bool = False
    restrict: bool = False

    def __str__(self) -> str:
        return f"pointer to {self.element} in {self.space.value} memory"


@dataclass(frozen=True, slots=True)
class Struct:
    """What a device function returns when it returns a tuple, or an array: where it starts, its shape and strides."""

    items: tuple[Element | Pointer, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


@dataclass(frozen=True, slots=True)
class Void:
    """No value."""

    def __str__(self) -> str:
        return "None"


Type = Scalar | Vector | Pointer | Struct | Void

VOID = Void()
BOOLEAN = Scalar(BOOL)
INT = Scalar(INT32)
LONG = Scalar(INT64)
ULONG = Scalar(UINT64)
PYINT = Scalar(INT64, weak=True)
PYINT_NARROW = Scalar(INT32, weak=True)
PYFLOAT = Scalar(FLOAT64, weak=True)
PYFLOAT_NARROW = Scalar(FLOAT32, weak=True)
PYCOMPLEX = Scalar(COMPLEX128, weak=True)
PYCOMPLEX_NARROW = Scalar(COMPLEX64, weak=True)


BYTE = Scalar(UINT8)  # what records are made of

# Type of dynamic shared memory as a kernel argument: a driver may align it only as its element needs
DYNAMIC_SHARED = Pointer(Vector(UINT64, 16), Space.SHARED)


@overload
def in_memory(element: Scalar) -> Scalar: ...
@overload
def in_memory(element: Element) -> Element: ...
def in_memory(element: Element) -> Element:
    """What pointers to an element point to: of a bfloat16 its bits, in which kernels do not compute."""
    return Scalar(UINT16) if isinstance(element, Scalar) and element.dtype is BFLOAT16 else element


def element_size(element: Element) -> int:
    """Bytes of an element in memory."""
    return element.dtype.size if isinstance(element, Scalar) else element.size


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array argument as a kernel sees it; the part of a specialisation's key that an array contributes."""

    element: Scalar | Record
    ndim: int
    layout: Layout
    space: Space = Space.GLOBAL
    readonly: bool = False
    offset: bool = False  # starts at an element offset inside its buffer
    alias: bool = False  # may overlap another argument, so no restrict
    align: int = 0  # bytes; not 0 for arrays that are addressed by bytes: records, elements that are not aligned

    def __str__(self) -> str:
        if self.ndim == 0:
            return f"array({self.element}, 0d)"
        return f"array({self.element}, {self.ndim}d, {self.layout.value})"

    def __repr__(self) -> str:
        """As in a signature: ``float32[:, ::1]``."""
        axes = [":"] * self.ndim
        if axes and self.layout is not Layout.ANY:
            axes[-1 if self.layout is Layout.C else 0] = "::1"
        return f"{'const ' if self.readonly else ''}{self.element}[{', '.join(axes)}]"


@dataclass(frozen=True, slots=True)
class TupleType:
    """A tuple argument; a namedtuple's has the names of its fields."""

    items: tuple[ArgumentType, ...]
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"

    def __repr__(self) -> str:
        return f"{self.fields or ''}{self.items}"


def fields_of(value: tuple[object, ...]) -> tuple[str, ...]:
    """The names of a namedtuple's fields; none for a plain tuple."""
    return getattr(value, "_fields", ())


@dataclass(frozen=True, slots=True)
class ConstantType:
    """An argument that is bound at specialisation: a ``constexpr`` parameter, or None."""

    value: object

    def __str__(self) -> str:
        return repr(self.value)

    def __repr__(self) -> str:
        return f"constexpr {self.value!r}"


ArgumentType = Scalar | ArrayType | TupleType | ConstantType
