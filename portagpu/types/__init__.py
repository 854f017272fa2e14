"""Types that programs name, under CUDA-Python's names: ``float32``, ``float32[:, ::1]``, ``void()``.

A scalar type stands for its dtype wherever NumPy or a kernel wants one; subscripting it makes an array type, calling it
with types a signature, calling it with a number converts the number as NumPy does.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from portagpu import dtypes
from portagpu.dtypes import DType
from portagpu.errors import KernelTypeError, unknown_attribute
from portagpu.types import record_layout
from portagpu.types import text as type_text


class Type:
    """Base of all types that a program can name."""

    __slots__ = ()

    def __call__(self, *args: Any) -> Signature:
        """A signature that returns this type and takes the given ones."""
        return Signature(self, tuple(as_type(a) for a in args))

    @property
    def name(self) -> str:
        """The type as text."""
        return str(self)

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True, repr=False)
class NoneType(Type):
    """``void`` as what a kernel returns, ``none`` as the type of None."""

    def __str__(self) -> str:
        return "none"


@dataclass(frozen=True, slots=True, repr=False)
class Number(Type, dtypes.Named):
    """A scalar type; `row` is its line in the table of dtypes."""

    row: DType

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return self.row.numpy

    @property
    def bitwidth(self) -> int:
        """Width in bits."""
        return self.row.bits

    @property
    def signed(self) -> bool:
        """Whether the type has negative values."""
        return self.row.kind in (dtypes.Kind.INT, dtypes.Kind.FLOAT, dtypes.Kind.COMPLEX)

    @property
    def underlying_float(self) -> Number:
        """The type of the two parts of a complex type. Raises AttributeError for others."""
        if self.row.kind is not dtypes.Kind.COMPLEX:
            raise AttributeError(
                f"{self} has no underlying_float: it is not complex", name="underlying_float", obj=self
            )
        return Number(dtypes.FLOAT32 if self.row == dtypes.COMPLEX64 else dtypes.FLOAT64)

    @overload
    def __call__(self, *args: Type) -> Signature: ...
    @overload
    def __call__(self, *args: Any) -> Any: ...
    def __call__(self, *args: Any) -> Any:
        """NumPy's scalar of a number, or a signature of types."""
        if len(args) == 1 and not is_type(args[0]):
            return self.row.numpy.type(args[0])
        return Type.__call__(self, *args)

    def __getitem__(self, key: Any) -> Array:
        """``float32[:]``, ``float32[:, ::1]`` (C order), ``float32[::1, :]`` (Fortran order)."""
        return _subscripted(self, key)

    def __str__(self) -> str:
        return self.row.name


@dataclass(frozen=True, slots=True, repr=False, init=False)
class NPDatetime(Number):
    """A date with a unit such as ``"D"`` or ``"10ms"``; kernels see its 64-bit count."""

    unit: str

    def __init__(self, unit: str) -> None:
        object.__setattr__(self, "row", dtypes.INT64)
        object.__setattr__(self, "unit", unit)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return np.dtype(f"M8[{self.unit}]")

    def __call__(self, *args: Any) -> Any:
        """NumPy's scalar of a date, or a signature of types."""
        if len(args) == 1 and not is_type(args[0]):
            return np.asarray(args[0]).astype(self.dtype)[()]
        return Type.__call__(self, *args)

    def __str__(self) -> str:
        return str(self.dtype)


@dataclass(frozen=True, slots=True, repr=False, init=False)
class NPTimedelta(NPDatetime):
    """A span of time with a unit such as ``"D"`` or ``"10ms"``; kernels see its 64-bit count."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return np.dtype(f"m8[{self.unit}]")


@dataclass(frozen=True, slots=True, repr=False)
class NestedArray(Type):
    """An array inside a record: its elements' type and its shape."""

    dtype: Any  # Number or Record
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"nestedarray({self.dtype}, {self.shape})"


@dataclass(frozen=True, slots=True, repr=False)
class Record(Type, record_layout.NamedRecord):
    """A record type, made by `from_dtype`; ``rec[:]`` is an array of records.

    Types of packed and aligned dtypes differ, as in CUDA-Python. Kernels take records of either, since NumPy's dtypes
    are equal where their fields are at the same places.
    """

    layout: record_layout.Record

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and (self.layout, self.aligned) == (other.layout, other.aligned)

    def __hash__(self) -> int:
        return hash((self.layout, self.aligned))

    @property
    def aligned(self) -> bool:
        """Whether the dtype was made with ``align=True``."""
        return self.dtype.isalignedstruct

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return self.layout.dtype

    @property
    def size(self) -> int:
        """Bytes of one record."""
        return self.layout.itemsize

    @property
    def fields(self) -> dict[str, Type]:
        """Types of the fields by name."""
        return {name: from_dtype(self.dtype[name]) for name in self.layout.fields}

    def typeof(self, key: str) -> Type:
        """Type of a field."""
        return self.fields[key]

    def offset(self, key: str) -> int:
        """Bytes from the record's start to a field."""
        return self.layout.fields[key].offset

    def __getitem__(self, key: Any) -> Array:
        """``rec[:]``, ``rec[:, ::1]``: arrays of records."""
        return _subscripted(self, key)

    def __str__(self) -> str:
        return str(self.layout)


@dataclass(frozen=True, slots=True, repr=False)
class Array(Type):
    """An array of ``ndim`` axes. ``layout``: "C", "F", or "A" for any strides."""

    dtype: Any  # Number, or another element type
    ndim: int
    layout: str = "A"
    readonly: bool = False

    def __str__(self) -> str:
        extra = ", readonly" if self.readonly else ""
        return f"array({self.dtype}, {self.ndim}d, {self.layout}{extra})"

    @property
    def subscript(self) -> str:
        """The type as it is written in a signature."""
        axes = [":"] * self.ndim
        if self.layout == "C":
            axes[-1] = "::1"
        elif self.layout == "F":
            axes[0] = "::1"
        return f"{self.dtype}[{', '.join(axes)}]"


@dataclass(frozen=True, slots=True, repr=False)
class Tuple(Type):
    """A tuple of the given types; of a namedtuple also the names of its fields."""

    types: tuple[Type, ...]
    fields: tuple[str, ...]

    def __init__(self, types: Sequence[Any], fields: Sequence[str] = ()) -> None:
        object.__setattr__(self, "types", tuple(as_type(t) for t in types))
        object.__setattr__(self, "fields", tuple(fields))

    def __len__(self) -> int:
        return len(self.types)

    def __getitem__(self, index: int) -> Type:
        return self.types[index]

    def __str__(self) -> str:
        if self.fields:
            return f"NamedTuple({', '.join(f'{f}: {t}' for f, t in zip(self.fields, self.types, strict=True))})"
        if self.types and all(t == self.types[0] for t in self.types):
            return f"UniTuple({self.types[0]} x {len(self.types)})"
        return f"Tuple({', '.join(map(str, self.types))})"


@dataclass(frozen=True, slots=True, repr=False)
class CPointer(Type):
    """A pointer to elements of ``dtype``: kernels take an int for it, an address of ``__cuda_array_interface__``.

    In a kernel it is an array of one axis that ends where the memory ends. Arrays of one axis are taken, too.
    """

    dtype: Any  # Number

    def __init__(self, dtype: Any) -> None:
        object.__setattr__(self, "dtype", as_type(dtype))
        if not isinstance(self.dtype, Number):
            raise KernelTypeError(f"CPointer takes a scalar type, not {self.dtype}", hint="for example float32")

    @property
    def array(self) -> Array:
        """The array that a kernel gets."""
        return Array(self.dtype, 1, "C")

    def __str__(self) -> str:
        return f"CPointer({self.dtype})"


def UniTuple(dtype: Any, count: int) -> Tuple:
    """A tuple of ``count`` items of one type, ``dtype``."""
    return Tuple((dtype,) * count)


def NamedTuple(types: Sequence[Any], cls: Any) -> Tuple:
    """A namedtuple of class ``cls`` with items of the given types."""
    return Tuple(types, cls._fields)


def NamedUniTuple(dtype: Any, count: int, cls: Any) -> Tuple:
    """A namedtuple of class ``cls`` with ``count`` items of one type."""
    return Tuple((dtype,) * count, cls._fields)


@dataclass(frozen=True, slots=True, repr=False)
class Signature:
    """Types of a function's result and arguments."""

    return_type: Type | None
    args: tuple[Type, ...]

    def __str__(self) -> str:
        shown = ", ".join(t.subscript if isinstance(t, Array) else str(t) for t in self.args)
        result = "void" if self.return_type is None or isinstance(self.return_type, NoneType) else self.return_type
        return f"{result}({shown})"

    def __repr__(self) -> str:
        return f"({', '.join(map(str, self.args))}) -> {self.return_type or NoneType()}"


none = void = NoneType()
boolean = Number(dtypes.BOOL)
int8, int16, int32, int64 = map(Number, (dtypes.INT8, dtypes.INT16, dtypes.INT32, dtypes.INT64))
uint8, uint16, uint32, uint64 = map(Number, (dtypes.UINT8, dtypes.UINT16, dtypes.UINT32, dtypes.UINT64))
float16, float32, float64 = map(Number, (dtypes.FLOAT16, dtypes.FLOAT32, dtypes.FLOAT64))
bfloat16, complex64, complex128 = map(Number, (dtypes.BFLOAT16, dtypes.COMPLEX64, dtypes.COMPLEX128))

# one object for each dtype, under all of its names: programs compare them with `is`
_numbers = {
    kind.row: kind
    for kind in (
        *(boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64),
        *(float16, float32, float64, bfloat16, complex64, complex128),
    )
}

NAMES: dict[str, Type] = {
    **{f"{d.numpy.kind}{d.size}": _numbers[d] for d in dtypes.ALL},  # "f4" and the like
    **{row.name: kind for row, kind in _numbers.items()},
    "void": void,
    "none": none,
    **dict.fromkeys(("boolean", "bool_", "bool"), boolean),
    "byte": uint8,
    "char": int8,
    "uchar": uint8,
    "short": int16,
    "ushort": uint16,
    "complex": complex128,
    "intp": int64,
    "uintp": uint64,
    "intc": int32,
    "uintc": uint32,
    "int_": int64,
    "uint": uint64,
    "long_": int64,
    "long": int64,
    "ulong": uint64,
    "longlong": int64,
    "ulonglong": uint64,
    "size_t": uint64,
    "ssize_t": int64,
    "float_": float32,
    "double": float64,
    "half": float16,
    "float": float64,
    "int": int64,
}


if TYPE_CHECKING:  # `__getattr__` gives them
    bool_: Number
    byte: Number
    char: Number
    uchar: Number
    short: Number
    ushort: Number
    intp: Number
    uintp: Number
    intc: Number
    uintc: Number
    int_: Number
    uint: Number
    long_: Number
    long: Number
    ulong: Number
    longlong: Number
    ulonglong: Number
    size_t: Number
    ssize_t: Number
    float_: Number
    double: Number
    half: Number
    b1: Number
    i1: Number
    i2: Number
    i4: Number
    i8: Number
    u1: Number
    u2: Number
    u4: Number
    u8: Number
    f2: Number
    f4: Number
    f8: Number
    c8: Number
    c16: Number


_KNOWN = "boolean, int8 ... uint64, bfloat16, float16 ... complex128, arrays such as float32[:, ::1], Tuple"


def as_type(value: Any) -> Type:
    """The type that a type object, dtype, Python class, string or a type of numba names. Raises `KernelTypeError`."""
    if isinstance(value, Type):
        return value
    if value is None or value is type(None):
        return none
    record = record_layout.parse_record(value)
    if record is not None and not hasattr(value, "layout"):
        return Record(record)
    if type_text.is_foreign(value) and _has_own_elements(value):
        return Array(as_type(value.dtype), value.ndim, value.layout, not getattr(value, "mutable", True))
    time: Type | None = as_time(value)
    if time is not None:
        return time
    if type_text.is_foreign(value):
        return parse(type_text.foreign_text(value))
    if isinstance(value, str):
        return NAMES[value] if value in NAMES else parse(value)
    if isinstance(value, tuple | list):
        return Tuple(tuple(value))
    if (row := dtypes.parse(value)) is None:
        raise KernelTypeError(f"{value!r} is not a type", hint=f"types are {_KNOWN}")
    return Number(row)


def as_signature(value: Any) -> Signature:
    """The signature that ``void(float32[:])``, its string, or a tuple of types means. Raises `KernelTypeError`."""
    if isinstance(value, Signature):
        return value
    if isinstance(value, str):
        found = _evaluate(value)
        return found if isinstance(found, Signature) else Signature(None, _listed(found))
    if isinstance(value, tuple | list):
        return Signature(None, tuple(as_type(v) for v in value))
    if type_text.is_foreign(value) and hasattr(value, "args"):  # a signature of numba
        result = getattr(value, "return_type", None)
        return Signature(None if result is None else as_type(result), tuple(as_type(a) for a in value.args))
    return Signature(None, (as_type(value),))


def parse(text: str) -> Type:
    """The type that a string such as ``"float32[:, ::1]"`` means. Raises `KernelTypeError`."""
    found = _evaluate(text)
    if isinstance(found, Signature):
        raise KernelTypeError(f"{text!r} is a signature where a type is needed", hint="leave the call out")
    return as_type(found)


def from_dtype(dtype: Any) -> Type:
    """The type of a NumPy ``dtype``: a scalar type, a `Record`, or a `NestedArray`. Raises `DTypeError`."""
    kind: np.dtype[Any] = np.dtype(dtype)
    if kind.subdtype is not None:
        return NestedArray(from_dtype(kind.base), kind.shape)
    if kind.kind in "mM":
        time: Type = time_type(kind)
        return time
    record = record_layout.record_of(kind)
    return Number(dtypes.from_numpy(kind)) if record is None else Record(record)


def as_dtype(kind: Any) -> np.dtype[Any]:
    """The NumPy dtype of a type, ``kind``. Raises `KernelTypeError` for one that no dtype has."""
    found = kind if isinstance(kind, Type) else as_type(kind)
    if isinstance(found, Number | Record):
        return found.dtype
    if isinstance(found, NestedArray):
        return np.dtype((as_dtype(found.dtype), found.shape))
    raise KernelTypeError(f"{found} has no NumPy dtype", hint="scalar, record and nested array types have one")


def typeof_dtype(dtype: np.dtype[Any]) -> Number:
    """The scalar type of a NumPy dtype. Raises `DTypeError`."""
    return time_type(dtype) if dtype.kind in "mM" else Number(dtypes.from_numpy(dtype))


def _has_own_elements(value: Any) -> bool:
    """Whether a type of numba is an array of records, dates or spans, which its text does not tell."""
    element = getattr(value, "dtype", None)
    return record_layout.parse_record(element) is not None or as_time(element) is not None


def as_time(value: Any) -> Type | None:
    """The type of a date or span that a dtype, its text or a type of numba names."""
    if (
        not hasattr(value, "ndim")
        and type_text.is_foreign(value)
        and type(value).__name__ in ("NPDatetime", "NPTimedelta")
    ):
        return (NPDatetime if type(value).__name__ == "NPDatetime" else NPTimedelta)(value.unit)
    if isinstance(value, str) and value.startswith(("datetime64[", "timedelta64[")) and value.count("[") == 1:
        value = np.dtype(value)
    return time_type(value) if isinstance(value, np.dtype) and value.kind in "mM" else None


def time_type(dtype: np.dtype[Any]) -> Number:
    """The type of a dtype of dates or spans."""
    unit, count = np.datetime_data(dtype)
    made = NPDatetime if dtype.kind == "M" else NPTimedelta
    return made(unit if count == 1 else f"{count}{unit}")


def _listed(found: Any) -> tuple[Type, ...]:
    return found if isinstance(found, tuple) else (as_type(found),)


def is_type(value: Any) -> bool:
    """Whether an object names a type: ours, NumPy's, Python's, or an installed numba's."""
    if isinstance(value, Type) or type_text.is_foreign(value) or (isinstance(value, str) and value in NAMES):
        return True
    return isinstance(value, np.dtype) or (isinstance(value, type) and dtypes.parse(value) is not None)


def _subscripted(element: Any, key: Any) -> Array:
    axes = key if isinstance(key, tuple) else (key,)
    layout = "A"
    for axis in axes:
        plain = isinstance(axis, slice) and axis.start is None and axis.stop is None and axis.step in (None, 1)
        if not plain:
            raise KernelTypeError(
                f"{element}[{axis!r}] is no array type",
                hint=f"write {element}[:], {element}[:, ::1] or {element}[::1, :]",
            )
    if axes[-1].step == 1:
        layout = "C"
    elif axes[0].step == 1:
        layout = "F"
    return Array(element, len(axes), layout)


def _evaluate(text: str) -> Any:
    """Types, a signature or a tuple of types from text."""
    return type_text.evaluate(text, _VOCABULARY)


_VOCABULARY = type_text.Vocabulary(
    names=NAMES,
    factories={"Array": Array, "CPointer": CPointer, "Tuple": Tuple, "UniTuple": UniTuple},
    subscripted=_subscripted,
    called=lambda result, args: Signature(as_type(result), tuple(as_type(a) for a in args)),
    none=none,
)


def __dir__() -> list[str]:
    return sorted({*globals(), *NAMES})


if not TYPE_CHECKING:  # checkers would take any name for one of ours

    def __getattr__(name: str) -> Any:
        """The other names of types, such as ``intp``, ``float_`` or ``bool_``."""
        found = NAMES.get(name)
        if found is None:
            raise unknown_attribute("portagpu.types", name, sys.modules[__name__], __dir__())
        return found
