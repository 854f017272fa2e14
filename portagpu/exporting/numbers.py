"""Numbers that a host program passes to a kernel: what users give, as the parameter's type holds it."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.dtypes import FLOAT16, DType, Kind
from portagpu.errors import ArgumentTypeError

_Number = bool | int | float | complex


def as_held(kernel: str, name: str, dtype: DType, value: Any) -> _Number:
    """The value that a parameter of this type has. Raises `ArgumentTypeError` for what it cannot hold."""
    number = value.item() if isinstance(value, np.generic) else value
    if not isinstance(number, bool | int | float | complex):
        raise ArgumentTypeError(
            f"`{name}` of `{kernel}` is a number, not {value!r}", hint=f"it is of type {dtype.name}"
        )
    try:
        held = _held(dtype, number)
    except OverflowError:  # a whole number beyond all floats
        held = None
    if held is None:
        raise ArgumentTypeError(
            f"`{name}` of `{kernel}` is of type {dtype.name}, which does not hold {_shown(number)}", hint=_hint(dtype)
        )
    return held


def _held(dtype: DType, number: _Number) -> _Number | None:
    if dtype.is_complex:
        return complex(number)
    if isinstance(number, complex):
        return None
    if dtype.is_inexact:
        return _rounded(dtype, float(number))
    if isinstance(number, float) and not number.is_integer():
        return None
    whole = int(number)
    if dtype.kind is Kind.BOOL:
        return bool(whole) if whole in (0, 1) else None
    least, most = dtype.limits
    return whole if least <= whole <= most else None


def _rounded(dtype: DType, number: float) -> float:
    """A number as halves hold it: kernels get them as floats, which must not have more digits."""
    if dtype is FLOAT16:
        with np.errstate(over="ignore"):
            return float(np.float16(number))
    return number


def _hint(dtype: DType) -> str:
    if dtype.is_inexact:
        return "give a number of that type, or export the kernel for another one: --signature"
    least, most = (0, 1) if dtype.kind is Kind.BOOL else dtype.limits
    return f"it holds whole numbers from {least} to {most}; --signature exports the kernel for other types"


def _shown(number: _Number) -> str:
    text = repr(number)
    return text if len(text) <= 40 else f"{text[:20]}... of {len(text)} digits"
