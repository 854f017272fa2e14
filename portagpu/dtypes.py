"""The one table of dtypes: names, families, sizes, needed capabilities."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from portagpu.errors import DTypeError


class Kind(Enum):
    """Family of a dtype, in promotion order."""

    BOOL = "bool"
    UINT = "unsigned integer"
    INT = "integer"
    FLOAT = "floating point"
    COMPLEX = "complex"


@dataclass(frozen=True, slots=True, kw_only=True)
class DType:
    """One element type."""

    name: str
    kind: Kind
    size: int  # bytes
    short: str  # in generated names
    is_integer: bool = field(init=False, repr=False, compare=False)  # signed or unsigned, not bool
    limits: tuple[int, int] = field(init=False, repr=False, compare=False)  # of an integer dtype, else (0, 0)

    def __post_init__(self) -> None:
        """Compiling asks for these very often."""
        bits, signed = 8 * self.size, self.kind is Kind.INT
        object.__setattr__(self, "is_integer", signed or self.kind is Kind.UINT)
        limits = (-(2 ** (bits - 1)) if signed else 0, 2 ** (bits - signed) - 1)
        object.__setattr__(self, "limits", limits if self.is_integer else (0, 0))

    def __hash__(self) -> int:
        """The name says it all; compiling looks types up very often."""
        return hash(self.name)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype. Raises `DTypeError` for bfloat16 where `ml_dtypes`, which has it, is not installed."""
        return _bfloat16() if self is BFLOAT16 else np.dtype(self.name)

    @property
    def computed(self) -> DType:
        """The type of a value in a kernel: a bfloat16 is read as the float32 that it is the upper half of."""
        return FLOAT32 if self is BFLOAT16 else self

    @property
    def is_float(self) -> bool:
        """Whether this is a floating-point type."""
        return self.kind is Kind.FLOAT

    @property
    def is_complex(self) -> bool:
        """Whether this is a complex type: a pair of floats, in C a vector of two lanes."""
        return self.kind is Kind.COMPLEX

    @property
    def is_inexact(self) -> bool:
        """Whether this is a floating-point or complex type."""
        return self.kind is Kind.FLOAT or self.kind is Kind.COMPLEX

    @property
    def real(self) -> DType:
        """Type of the real and imaginary parts; a real type itself."""
        return _PARTS.get(self.name, self)

    @property
    def complex(self) -> DType:
        """The complex type of a floating-point one; a complex type itself."""
        return self if self.is_complex else COMPLEX128 if self is FLOAT64 else COMPLEX64

    @property
    def needs_fp64(self) -> bool:
        """Whether it takes double precision."""
        return self.real is FLOAT64

    @property
    def bits(self) -> int:
        """Width in bits."""
        return 8 * self.size

    def __reduce__(self) -> Any:
        return _of_name, (self.name,)  # a row is known by its identity

    def __str__(self) -> str:
        return self.name


def _row(name: str, kind: Kind, size: int, short: str) -> DType:
    return DType(name=name, kind=kind, size=size, short=short)


BOOL = _row("bool", Kind.BOOL, 1, "b1")
INT8 = _row("int8", Kind.INT, 1, "i8")
INT16 = _row("int16", Kind.INT, 2, "i16")
INT32 = _row("int32", Kind.INT, 4, "i32")
INT64 = _row("int64", Kind.INT, 8, "i64")
UINT8 = _row("uint8", Kind.UINT, 1, "u8")
UINT16 = _row("uint16", Kind.UINT, 2, "u16")
UINT32 = _row("uint32", Kind.UINT, 4, "u32")
UINT64 = _row("uint64", Kind.UINT, 8, "u64")
FLOAT16 = _row("float16", Kind.FLOAT, 2, "f16")
FLOAT32 = _row("float32", Kind.FLOAT, 4, "f32")
FLOAT64 = _row("float64", Kind.FLOAT, 8, "f64")
COMPLEX64 = _row("complex64", Kind.COMPLEX, 8, "c64")
COMPLEX128 = _row("complex128", Kind.COMPLEX, 16, "c128")
# a format of elements only: kernels compute with float32, and rows of C types are those of its bits
BFLOAT16 = _row("bfloat16", Kind.FLOAT, 2, "bf16")
_PARTS = {"complex64": FLOAT32, "complex128": FLOAT64}

ALL: tuple[DType, ...] = (
    BOOL,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    COMPLEX64,
    COMPLEX128,
)
_BY_NAME = {d.name: d for d in (*ALL, BFLOAT16)}


@lru_cache(maxsize=512)
def from_numpy(dtype: np.dtype[Any]) -> DType:
    """The row of a NumPy dtype. Raises `DTypeError` for one that kernels do not know."""
    found = _BY_NAME.get(dtype.name)
    if found is None:
        known = f"they know {', '.join(_BY_NAME)}"
        nearest = {"f": "float64", "c": "complex128"}.get(dtype.kind)
        convert = f"convert it: array.astype(np.{nearest}); " if nearest else ""
        raise DTypeError(f"kernels do not know the dtype {dtype}", hint=convert + known)
    if dtype.byteorder == ">":
        raise DTypeError(
            f"kernels need native byte order, this is {dtype!r}", hint="use array.astype(dtype.newbyteorder('='))"
        )
    return found


class Named:
    """Base of objects of higher layers that stand for a dtype."""

    __slots__ = ()
    row: DType


def parse(value: object) -> DType | None:
    """The dtype that ``value`` names in NumPy's manner (type, dtype, string), or None if it names none."""
    if isinstance(value, DType):
        return value
    if isinstance(value, Named):
        return value.row
    if value is bool:
        return BOOL
    if value is int:
        return INT64
    if value is float:
        return FLOAT64
    if value is complex:
        return COMPLEX128
    if value == BFLOAT16.name and isinstance(value, str):  # also where NumPy does not know it yet
        return BFLOAT16
    if isinstance(value, str | np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        try:
            return from_numpy(np.dtype(value))
        except TypeError:
            return None
    if type(value).__module__.startswith(("numba.core.types", "numba.np.types")):
        return _BY_NAME.get(str(value).replace("boolean", "bool"))
    return None


@lru_cache(maxsize=512)
def promote(a: DType, b: DType) -> DType:
    """NumPy's promotion of two strong dtypes (`numpy.promote_types`)."""
    return from_numpy(np.promote_types(a.numpy, b.numpy))


def integer_range(dtype: DType) -> tuple[int, int]:
    """Smallest and largest value of an integer dtype."""
    return dtype.limits


def _of_name(name: str) -> DType:
    return _BY_NAME[name]


def _bfloat16() -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(import_module("ml_dtypes").bfloat16)
    except ImportError as error:
        raise DTypeError(
            "NumPy has no bfloat16 without the package ml_dtypes", hint="pip install 'portagpu[bfloat16]'"
        ) from error
    return found
