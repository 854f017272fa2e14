"""Lowering of complex numbers: parts, ``complex()``, and functions of pairs."""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import Any

import numpy as np

from portagpu.frontend.arrays.addressing import offset_pointer, typed
from portagpu.frontend.core.convert import (
    as_number,
    common_type,
    complex_type,
    constant,
    convert,
    describe,
    number_type,
    typed_number,
)
from portagpu.frontend.core.operators import ring
from portagpu.frontend.core.registry import NUMBER_METHODS, Call, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.ir.nodes import BinaryOp, Constant, Expr, Negate, Offset, Operation, Var
from portagpu.ir.types import Layout, Pointer, Scalar
from portagpu.types.record_layout import Record


def is_complex(ctx: FunctionState, value: Value) -> bool:
    """Whether a value is a complex number."""
    kind = number_type(ctx, value)
    return isinstance(kind, Scalar) and kind.dtype.is_complex


def part_type(kind: Scalar) -> Scalar:
    """Type of the real and imaginary parts."""
    return Scalar(kind.dtype.real, kind.weak)


def number_part(ctx: FunctionState, value: Value, name: str) -> Value:
    """``value.real`` or ``value.imag`` of a number."""
    if isinstance(value, Const):
        return Const(getattr(value.value, name))
    number, kind = typed_number(ctx, value)
    assert isinstance(kind, Scalar)
    if not kind.dtype.is_complex:
        return number if name == "real" else constant(ctx, 0, kind)
    if isinstance(number, Operation) and number.name == "complex":
        return number.args[0 if name == "real" else 1]
    return Operation(name, (number,), part_type(kind), span=ctx.span)


def make(ctx: FunctionState, real: Value, imag: Value) -> Expr:
    """The complex number with these parts."""
    kind = common_type(ctx, real, imag)
    if not kind.dtype.is_float:
        kind = ctx.program.py_float
    assert isinstance(kind, Scalar)
    parts = (convert(ctx, real, kind), convert(ctx, imag, kind))
    return Operation("complex", parts, complex_type(kind), span=ctx.span)


def parts_of(ctx: FunctionState, value: Value) -> tuple[Value, Value]:
    """Both parts of a complex number, which is computed once."""
    number = as_number(ctx, value)
    if not isinstance(number, Var | Constant):
        number = ctx.temp(number)
    return number_part(ctx, number, "real"), number_part(ctx, number, "imag")


def conjugate(ctx: FunctionState, value: Value) -> Value:
    """The complex conjugate; a real number itself."""
    if not is_complex(ctx, value):
        return as_number(ctx, value)
    real, imag = parts_of(ctx, value)
    number, kind = typed_number(ctx, imag)
    return make(ctx, real, Negate(number, kind, span=ctx.span))


def modulus(ctx: FunctionState, value: Value) -> Expr:
    """``abs`` of a complex number, without overflow inside."""
    real, imag = parts_of(ctx, value)
    number, kind = typed_number(ctx, real)
    return Operation("hypot", (number, as_number(ctx, imag)), kind, span=ctx.span)


def array_part(ctx: FunctionState, array: ArrayValue, name: str) -> ArrayValue:
    """``array.real`` or ``array.imag``: a view of every second number; of a real array, the array or an error."""
    kind = array.element
    if isinstance(kind, Record):
        ctx.fail(f"{array.describe()} has no field `{name}`", hint="its numbers have parts: a.x.real")
    if not kind.dtype.is_complex:
        if name == "real":
            return array
        ctx.fail(f"{array.describe()} has no imaginary part", hint="use 0")
    assert isinstance(kind, Scalar) and isinstance(array.base.type, Pointer)
    lane = part_type(kind)
    if array.align:
        size = lane.dtype.size
        step = constant(ctx, size if name == "imag" else 0, ctx.program.index_type)
        bytes_ = replace(array, element=lane, base=offset_pointer(ctx, array.base, step), align=gcd(array.align, size))
        return typed(ctx, replace(bytes_, layout=Layout.ANY))
    pointer = Pointer(lane, array.space, array.base.type.readonly)
    base: Expr = Operation("reinterpret", (array.base,), pointer, span=ctx.span)
    index = ctx.program.index_type
    if name == "imag":
        base = Offset(base, constant(ctx, 1, index), pointer, span=ctx.span)
    two = constant(ctx, 2, index)
    return ArrayValue(
        element=lane,
        base=base,
        shape=array.shape,
        strides=tuple(ring(ctx, BinaryOp.MUL, convert(ctx, s, index), two) for s in array.strides),
        space=array.space,
        readonly=array.readonly,
        layout=Layout.ANY,
        dynamic=array.dynamic,
    )


@handles(complex)
def _complex(ctx: FunctionState, site: Call) -> Value:
    real, imag = site.bind(ctx, "complex", "real", imag=Const(None))
    has_imag = not (isinstance(imag, Const) and imag.value is None)
    for value in (real, imag) if has_imag else (real,):
        if not isinstance(number_type(ctx, value), Scalar):
            ctx.fail(f"complex needs numbers, not {describe(ctx, value)}")
    if is_complex(ctx, real) or is_complex(ctx, imag):
        if has_imag:
            ctx.fail("complex takes two real numbers or one complex number", hint="write a + 1j * b")
        return as_number(ctx, real)
    return make(ctx, real, imag if has_imag else Const(0.0))


@handles(np.real, np.imag)
def _part(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.__name__
    (value,) = site.bind(ctx, f"np.{name}", "x")
    if isinstance(value, ArrayValue):
        return array_part(ctx, value, name)
    return number_part(ctx, value, name)


@handles(np.conjugate)
def _conjugate(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "np.conjugate", "x")
    return conjugate(ctx, value)


def _conjugate_method(ctx: FunctionState, owner: Value, site: Call) -> Value:
    site.bind(ctx, "conjugate")
    return conjugate(ctx, owner)


NUMBER_METHODS["conjugate"] = NUMBER_METHODS["conj"] = _conjugate_method


@handles(np.iscomplexobj, np.isrealobj)
def _kind(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, site.target.__name__, "x")
    kind: Any = value.element if isinstance(value, ArrayValue) else number_type(ctx, value)
    if kind is None:
        ctx.fail(f"a number or an array is needed here, not {describe(ctx, value)}")
    return Const(kind.dtype.is_complex == (site.target is np.iscomplexobj))
