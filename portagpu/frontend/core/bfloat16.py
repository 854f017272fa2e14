"""bfloat16 elements: widened to float32 by a load, rounded to nearest even by a store."""

from __future__ import annotations

import numpy as np

from portagpu.dtypes import BFLOAT16, FLOAT32, UINT16
from portagpu.ir.nodes import Expr, Operation
from portagpu.ir.types import Scalar, Vector

_QUIET = 0x40  # the bit of a nan that stays one when its lower bits are cut off


def is_bfloat16(element: object) -> bool:
    """Whether elements have this format."""
    return isinstance(element, Scalar) and element.dtype is BFLOAT16


def nearest(value: float) -> float:
    """The bfloat16 that is nearest to the float32 nearest to a number."""
    with np.errstate(over="ignore"):
        bits = int(np.array(value, np.float32).view(np.uint32))
    upper = bits >> 16 | _QUIET if value != value else bits + 0x7FFF + (bits >> 16 & 1) >> 16
    return float(np.array(upper << 16, np.uint32).view(np.float32))


def value_of(bits: Expr) -> Operation:
    """The float32 number, or vector of them, that bits stand for."""
    kind = Vector(FLOAT32, bits.type.lanes) if isinstance(bits.type, Vector) else Scalar(FLOAT32)
    return Operation("bfloat16_value", (bits,), kind, span=bits.span)


def bits_of(number: Expr) -> Operation:
    """The bits of a float32 number, or of a vector of them, rounded."""
    kind = Vector(UINT16, number.type.lanes) if isinstance(number.type, Vector) else Scalar(UINT16)
    return Operation("bfloat16_bits", (number,), kind, span=number.span)
