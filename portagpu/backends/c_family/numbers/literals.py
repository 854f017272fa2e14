"""Constants as C text."""

from __future__ import annotations

import math

import numpy as np

from portagpu.backends.c_family.c_types import c_name, c_type, suffix
from portagpu.backends.c_family.precedence import PRIMARY, UNARY
from portagpu.backends.c_family.registry import Lowered
from portagpu.dtypes import BOOL, FLOAT32, DType
from portagpu.ir.nodes import Constant
from portagpu.ir.types import Scalar


def wrapped(number: int, dtype: DType) -> int:
    """The integer of a dtype that has the same low bits."""
    if dtype is BOOL:
        return int(number != 0)
    low = int(dtype.limits[0])
    size: int = 2**dtype.bits
    return (number - low) % size + low


def literal(expr: Constant) -> Lowered:
    """C text of a constant."""
    dtype, value = expr.type.dtype, expr.value
    if dtype is BOOL:
        return ("true" if value else "false"), PRIMARY
    if dtype.is_float:
        return _float_literal(float(value), expr.type)
    number = int(value)
    if dtype.size < 4:
        return f"({c_name(dtype)}){number}" if number >= 0 else f"({c_name(dtype)})({number})", UNARY
    if number == -(2 ** (dtype.bits - 1)):  # C has no literal of the most negative value
        return f"(-{-number - 1}{suffix(dtype)} - 1)", PRIMARY
    return f"{number}{suffix(dtype)}", PRIMARY if number >= 0 else UNARY


def _float_literal(value: float, kind: Scalar) -> Lowered:
    if math.isnan(value):
        return ("NAN" if kind.dtype is FLOAT32 else f"({c_type(kind)})NAN"), UNARY
    if kind.dtype.size == 4:
        with np.errstate(over="ignore"):
            short = np.float32(value)
        value_is_inf, text = bool(np.isinf(short)), str(short)
    else:
        value_is_inf, text = math.isinf(value), repr(value)
    if value_is_inf:
        sign = "-" if value < 0 else ""
        return (f"{sign}INFINITY" if kind.dtype is FLOAT32 else f"{sign}({c_type(kind)})INFINITY"), UNARY
    if "e" not in text and "." not in text:
        text += ".0"
    if kind.dtype.size == 2:
        return f"({c_type(kind)}){text}f", UNARY
    return text + suffix(kind.dtype), PRIMARY if not text.startswith("-") else UNARY
