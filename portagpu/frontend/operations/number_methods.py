"""Methods of numbers and vectors: ``x.view(dtype)``, ``x.bit_count()``, ``x.conjugate()``."""

from __future__ import annotations

from dataclasses import replace

from portagpu import dtypes
from portagpu.dialect.names import VectorMaker
from portagpu.errors import KernelValueError
from portagpu.frontend.core.bfloat16 import value_of
from portagpu.frontend.core.convert import as_element, convert, describe, number_type, require_fp64, typed_number
from portagpu.frontend.core.registry import NUMBER_METHODS, Call
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, Value
from portagpu.ir.nodes import Expr, Operation
from portagpu.ir.types import INT, Element, Scalar, Vector, element_size


def _has_bits(kind: object) -> bool:
    """Whether OpenCL's ``as_type`` takes it: complex numbers are structs. A vector of three has the size of four."""
    if isinstance(kind, Vector):
        return kind.lanes != 3
    return isinstance(kind, Scalar) and kind.dtype is not dtypes.BOOL and not kind.dtype.is_complex


def _target(wanted: object, size: int | None) -> Scalar | Vector | None:
    """The type that is wanted, with as many lanes as ``size`` bytes of a vector need."""
    if isinstance(wanted, VectorMaker):
        return Vector(wanted.dtype, wanted.lanes)
    dtype = dtypes.parse(wanted)
    if dtype is None or size is None:
        return None if dtype is None else Scalar(dtype)
    lanes = max(1, size // dtype.size)
    return Vector(dtype, lanes) if lanes in (2, 4, 8, 16) else Scalar(dtype)


def _view(ctx: FunctionState, owner: Value, site: Call) -> Value:
    (wanted,) = site.bind(ctx, "view", "dtype")
    kind = number_type(ctx, owner)
    target = (
        _target(wanted.value, kind.size if isinstance(kind, Vector) else None) if isinstance(wanted, Const) else None
    )
    if target is None:
        ctx.fail(f"view needs a dtype, not {describe(ctx, wanted)}", kind=KernelValueError)
    require_fp64(ctx, target.dtype)
    if isinstance(kind, Scalar) and kind.weak:  # what Python's numbers are to NumPy
        kind = Scalar(dtypes.INT64 if kind.dtype.is_integer else dtypes.FLOAT64)
    if kind is None or not _has_bits(kind) or not _has_bits(target):
        ctx.fail(
            f"{describe(ctx, owner)} cannot be viewed as {target}",
            hint="integers, floats and vectors of 2, 4, 8 or 16 lanes can; arrays have other views, too:"
            " a[i:i+1].view(dtype)",
        )
    if element_size(kind) != element_size(target):
        ctx.fail(
            f"{kind} cannot be viewed as {target}: they differ in size",
            kind=KernelValueError,
            hint=f"convert it first, or name a type of {element_size(kind) * 8} bits",
        )
    number = convert(ctx, owner, kind)
    if target.dtype is dtypes.BFLOAT16:
        return value_of(_as(ctx, number, replace(target, dtype=dtypes.UINT16)))
    return _as(ctx, number, target)


def _as(ctx: FunctionState, number: Expr, target: Element) -> Expr:
    kind = as_element(number.type)
    if kind == target:
        return number
    if isinstance(kind, Scalar) and isinstance(target, Scalar) and kind.dtype.is_integer and target.dtype.is_integer:
        return convert(ctx, number, target, explicit=True)
    return Operation("as_type", (number,), target, span=ctx.span)


def _bit_count(ctx: FunctionState, owner: Value, site: Call) -> Value:
    """The bits of the number without its sign, as Python and NumPy count them."""
    site.bind(ctx, "bit_count")
    number, kind = typed_number(ctx, owner)
    if isinstance(kind, Vector) or not (kind.dtype.is_integer or kind.dtype is dtypes.BOOL):
        ctx.fail(f"bit_count needs an integer, not {describe(ctx, owner)}")
    if kind.dtype is dtypes.BOOL:
        return convert(ctx, number, INT)
    wide = Scalar(dtypes.INT64 if kind.dtype.size == 8 else dtypes.INT32)
    if kind.dtype.kind is dtypes.Kind.INT:
        number = Operation("iabs", (convert(ctx, number, wide),), wide, span=ctx.span)
    return Operation("popc", (convert(ctx, number, wide),), INT, span=ctx.span)


NUMBER_METHODS["view"] = _view
NUMBER_METHODS["bit_count"] = _bit_count
