"""Data types of the array API standard: NumPy's dtypes, and functions of them."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.device.record import DeviceRecord
from portagpu.errors import DTypeError
from portagpu.expressions.apply import convert
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.layout import checked_dtype
from portagpu.ufuncs.operands import array_of, operand

bool = np.dtype("bool")
int8, int16, int32, int64 = (np.dtype(f"int{n}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{n}") for n in (8, 16, 32, 64))
float16, float32, float64 = (np.dtype(f"float{n}") for n in (16, 32, 64))
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")
e, inf, nan, newaxis, pi = np.e, np.inf, np.nan, None, np.pi

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def astype(
    x: Any, dtype: Any, /, *, copy: builtins.bool = True, device: DeviceRecord | str | None = None
) -> DeviceNDArray:
    """An array's elements as another dtype; the array itself where ``copy`` is false and nothing changes.

    Complex numbers become real ones, and floats integers, as C's casts make them. Raises `DTypeError` for dtypes that
    kernels do not know.
    """
    array, kind = array_of(x), checked_dtype(dtype)
    if device is not None:
        array = array.to_device(device)
    if array.dtype == kind:
        return array.copy("K") if copy else array
    return convert(array, kind)


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Whether NumPy converts a dtype, or an array's, to another without loss."""
    return np.can_cast(_dtype(from_), checked_dtype(to))


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatLimits:
    """What `finfo` tells of a dtype; a complex dtype has the limits of its parts, which are of ``dtype``.

    Limits are Python's floats, so that arithmetic with them keeps an array's dtype, as the standard wants it.
    """

    bits: int
    """Of one number."""
    eps: float
    """Distance from 1 to the next number."""
    max: float
    min: float
    smallest_normal: float
    tiny: float
    """NumPy's name of `smallest_normal`."""
    resolution: float
    """10 to the minus number of decimal digits that are always kept."""
    dtype: np.dtype[Any]


def finfo(type: Any, /) -> FloatLimits:
    """Limits of a floating-point dtype, or of an array's. Raises `DTypeError`."""
    kind = _dtype(type)
    if kind.name == dtypes.BFLOAT16.name:
        return _of_bfloat16(kind)
    if kind.kind not in "fc":
        raise DTypeError(f"finfo takes floating-point dtypes, not {kind}", hint="iinfo is for integers")
    found: np.finfo[Any] = np.finfo(kind)
    smallest = float(found.smallest_normal)
    return FloatLimits(
        bits=found.bits,
        eps=float(found.eps),
        max=float(found.max),
        min=float(found.min),
        smallest_normal=smallest,
        tiny=smallest,
        resolution=float(found.resolution),
        dtype=np.dtype(found.dtype),
    )


def _of_bfloat16(kind: np.dtype[Any]) -> FloatLimits:
    """Eight bits of a number, the highest one implied, and float32's exponents; NumPy does not know them."""
    largest, smallest = (2 - 2.0**-7) * 2.0**127, 2.0**-126
    return FloatLimits(
        bits=16,
        eps=2.0**-7,
        max=largest,
        min=-largest,
        smallest_normal=smallest,
        tiny=smallest,
        resolution=0.01,
        dtype=kind,
    )


def iinfo(type: Any, /) -> np.iinfo[Any]:
    """Limits of an integer dtype, or of an array's: ``bits max min dtype``."""
    kind = _dtype(type)
    if kind.kind not in "iu":
        raise DTypeError(f"iinfo takes integer dtypes, not {kind}", hint="finfo is for floats")
    return np.iinfo(kind)


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is of a kind: a dtype, one of the standard's names of kinds, or a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str) and kind in _KINDS:
        given = checked_dtype(dtype)
        return ("f" if given.name == dtypes.BFLOAT16.name else given.kind) in _KINDS[kind]
    if isinstance(kind, str) and dtypes.parse(kind) is None:
        raise DTypeError(f"{kind!r} is no kind of dtypes", hint=f"they are {', '.join(_KINDS)}")
    return checked_dtype(dtype) == checked_dtype(kind)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype of an operation on arrays, dtypes and Python's numbers (NEP 50)."""
    given = [x if isinstance(x, int | float | complex) else _dtype(x) for x in arrays_and_dtypes]
    found: np.dtype[Any] = np.result_type(*given)
    return found


def _dtype(value: Any) -> np.dtype[Any]:
    """The dtype that a value is or has: also of other libraries' arrays, whose own are none of NumPy's."""
    found = getattr(value, "dtype", None)
    if isinstance(found, np.dtype):
        return found
    if not isinstance(value, type) and (hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__")):
        given: DeviceNDArray | np.ndarray[Any, Any] = operand(value)
        return given.dtype
    return checked_dtype(value)


__all__ = [
    "astype",
    "bool",
    "can_cast",
    "complex64",
    "complex128",
    "e",
    "finfo",
    "float16",
    "float32",
    "float64",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "nan",
    "newaxis",
    "pi",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
