"""Numbers of all lanes of a vector: how they differ from lane to lane, and masks of lanes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from portagpu.dtypes import BOOL, INT32, INT64, DType
from portagpu.ir.nodes import Binary, BinaryOp, Cast, Compare, CompareOp, Constant, Expr, Lane, Select
from portagpu.ir.types import Scalar, Vector


class NotElementwise(Exception):
    """A function has something that its copy for vectors cannot have: a loop, a store, an effect, several results."""


class Shape(Enum):
    """How a number differs from lane to lane."""

    SAME = "same"
    RISING = "rising"  # by one from a lane to the next; at least 0 in all
    STEPPING = "stepping"  # the same, of any sign
    VECTOR = "vector"
    MASK = "mask"  # integers, -1 where a bool is true and 0 where it is not


@dataclass(frozen=True, slots=True)
class Lanes:
    """A number of each lane: ``expr`` is that of the first one where they count up, and has all in a vector or mask."""

    shape: Shape
    expr: Expr


def vector_of(kind: object, lanes: int) -> Vector:
    """The vector of a number's type. Raises `NotElementwise`."""
    if not isinstance(kind, Scalar) or kind.dtype is BOOL or kind.dtype.is_complex:
        raise NotElementwise
    return Vector(kind.dtype, lanes)


def vector_type(expr: Expr) -> Vector:
    """The type of an expression that is a vector."""
    assert isinstance(expr.type, Vector)
    return expr.type


_MASKS: dict[int, DType] = {4: INT32, 8: INT64}


def mask_type(kind: Vector) -> Vector:
    """The type of masks for vectors of a type."""
    return Vector(_MASKS[kind.dtype.size], kind.lanes)


def of_size(mask: Expr, size: int) -> Expr:
    """A mask for numbers of so many bytes. Raises `NotElementwise`."""
    kind = vector_type(mask)
    if kind.dtype.size == size:
        return mask
    if size not in _MASKS:
        raise NotElementwise
    return Cast(mask, Vector(_MASKS[size], kind.lanes), span=mask.span)


def of_one_size(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Two masks as wide as the narrower one."""
    size = min(vector_type(left).dtype.size, vector_type(right).dtype.size)
    return of_size(left, size), of_size(right, size)


def as_mask(truth: Expr) -> Expr:
    """A bool as the number that masks have for it."""
    number = Scalar(INT32)
    yes, no = (Constant(n, number, span=truth.span) for n in (-1, 0))
    return Select(truth, yes, no, number, span=truth.span)


def lane_of(value: Lanes, lane: int) -> Expr:
    """A lane's own number."""
    expr = value.expr
    match value.shape:
        case Shape.SAME:
            return expr
        case Shape.VECTOR:
            return Lane(expr, lane, Scalar(vector_type(expr).dtype), span=expr.span)
        case Shape.MASK:
            bits = Lane(expr, lane, Scalar(vector_type(expr).dtype), span=expr.span)
            zero = Constant(0, Scalar(vector_type(expr).dtype), span=expr.span)
            return Compare(CompareOp.NE, bits, zero, span=expr.span)
    if lane == 0:
        return expr
    assert isinstance(expr.type, Scalar)
    return Binary(BinaryOp.ADD, expr, Constant(lane, expr.type, span=expr.span), expr.type, span=expr.span)
