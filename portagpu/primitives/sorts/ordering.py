"""Keys as unsigned integers in the order of their elements: what radix sorts look at digit by digit.

Elements are moved as the bits that they are; only the digits are taken from the ordered integer, so that a sort keeps
the sign of a zero and the bits of a NaN. Floats: M. Herf, "Radix Tricks", 2001.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda, dtypes
from portagpu.errors import DTypeError


class Kind(Enum):
    """What the bits of an element stand for."""

    UNSIGNED = "unsigned"
    SIGNED = "signed"
    FLOAT = "float"
    DATE = "date"  # signed, and the smallest number is NaT, which is last


class Order(NamedTuple):
    """How elements are ordered: the unsigned type of their bits, and what these stand for.

    ``sign``: the bit of the sign; ``infinity``: a float's bits of infinity. NaN and NaT are larger than all numbers, or
    ``nan_is_least``, so that they are last where the order is descending; the two zeros are equal.
    """

    kind: Kind
    key: Any
    bits: int
    sign: int
    infinity: int
    is_descending: bool
    nan_is_least: bool


@lru_cache
def order_of(dtype: np.dtype[Any], *, descending: bool = False, nan_is_least: bool = False) -> Order:
    """The order of a dtype's elements. Raises `DTypeError` for one that has no order of its own."""
    bits = 8 * dtype.itemsize
    key: Any = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}.get(bits)
    infinity = 0
    if dtype.kind in "ub":
        kind = Kind.UNSIGNED
    elif dtype.kind == "i":
        kind = Kind.SIGNED
    elif dtype.kind in "mM":
        kind = Kind.DATE
    elif dtype.names is None and dtype.kind not in "cSUO" and dtypes.from_numpy(dtype).is_float:
        kind = Kind.FLOAT
        infinity = int(np.array(np.inf).astype(dtype).view(key))
    else:
        key = None
    if key is None:
        raise DTypeError(f"elements of {dtype} have no order that is computed here", hint="sort one of their fields")
    return Order(kind, key, bits, 1 << (bits - 1), infinity, descending, nan_is_least)


@cuda.jit(device=True)
def ordered(raw, order: cuda.constexpr):
    """An element's bits as an unsigned integer that is larger where the element is."""
    sign, every = order.sign, 2 * order.sign - 1
    key = order.key(raw)
    if order.kind is Kind.SIGNED:
        key = key ^ sign
    elif order.kind is Kind.DATE:
        key = key ^ sign
        if not order.nan_is_least:
            key = key - order.key(1)  # the smallest number, which is NaT, becomes the largest
    elif order.kind is Kind.FLOAT:
        magnitude = key & (sign - 1)
        below = order.key(0) - (key >> (order.bits - 1))  # all bits where the sign is set
        turned = (magnitude ^ below) - below + order.key(sign)  # the two zeros become one number
        key = order.key(0 if order.nan_is_least else every) if magnitude > order.infinity else turned
    if order.is_descending:
        key = key ^ every
    return key


@cuda.jit(device=True)
def digit_of(raw, shift, order: cuda.constexpr, width: cuda.constexpr):
    """The ``width`` bits of an element's ordered integer from ``shift`` on, which is below its size."""
    return np.uint32((ordered(raw, order) >> order.key(shift & (order.bits - 1))) & ((1 << width) - 1))
