"""Lowering of `math` and NumPy functions of floats: roots, exponentials, logarithms, angles, parts of floats."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.dtypes import FLOAT16, FLOAT64, INT64
from portagpu.frontend.core.convert import as_number, common_type, convert, describe, float_type, number_type
from portagpu.frontend.core.operators import binary
from portagpu.frontend.core.powers import power
from portagpu.frontend.core.registry import Call, call_library, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, TupleValue, Value
from portagpu.frontend.library.complex_functions import FUNCTIONS, complex_reciprocal
from portagpu.frontend.library.float_functions import (
    half_nextafter,
    heaviside,
    logaddexp,
    logaddexp2,
    modf,
    sinc,
    spacing,
    ulp,
)
from portagpu.frontend.library.integer_functions import integer_fmod, integer_reciprocal
from portagpu.frontend.library.operands import as_floats, as_integers, scalar
from portagpu.frontend.operations.complex_numbers import is_complex
from portagpu.frontend.operations.environment import tuple_items
from portagpu.frontend.source.callables import LibraryFunction
from portagpu.ir.nodes import Operation
from portagpu.ir.types import INT, PYINT_NARROW, Element, Scalar, Vector

_UNARY: dict[str, tuple[Any, ...]] = {
    "sqrt": (math.sqrt, np.sqrt),
    "exp": (math.exp, np.exp),
    "exp2": (getattr(math, "exp2", None), np.exp2),
    "expm1": (math.expm1, np.expm1),
    "log": (math.log, np.log),
    "log2": (math.log2, np.log2),
    "log10": (math.log10, np.log10),
    "log1p": (math.log1p, np.log1p),
    "sin": (math.sin, np.sin),
    "cos": (math.cos, np.cos),
    "tan": (math.tan, np.tan),
    "asin": (math.asin, np.arcsin),
    "acos": (math.acos, np.arccos),
    "atan": (math.atan, np.arctan),
    "sinh": (math.sinh, np.sinh),
    "cosh": (math.cosh, np.cosh),
    "tanh": (math.tanh, np.tanh),
    "asinh": (math.asinh, np.arcsinh),
    "acosh": (math.acosh, np.arccosh),
    "atanh": (math.atanh, np.arctanh),
    "erf": (math.erf,),
    "erfc": (math.erfc,),
    "tgamma": (math.gamma,),
    "lgamma": (math.lgamma,),
    "cbrt": (getattr(math, "cbrt", None), np.cbrt),
    "radians": (math.radians, np.radians, np.deg2rad),
    "degrees": (math.degrees, np.degrees, np.rad2deg),
    "rint": (np.rint,),
}


_BINARY: dict[str, tuple[Any, ...]] = {
    "atan2": (math.atan2, np.arctan2),
    "copysign": (math.copysign, np.copysign),
    "hypot": (math.hypot, np.hypot),
    "pow": (math.pow,),
    "remainder": (math.remainder,),
}


def float_function(name: str) -> Callable[[FunctionState, Call], Value]:
    """The handler of a function of one number that is an operation on floats, or a function of complex numbers."""

    def handler(ctx: FunctionState, site: Call) -> Value:
        if name == "log" and len(site.args) == 2:
            top, bottom = (_log(ctx, v) for v in site.args)
            return binary(ctx, ast.Div(), top, bottom, checked=False)
        (value,) = site.bind(ctx, name, "x")
        found = number_type(ctx, value)
        if found is not None and found.dtype.is_complex and name in FUNCTIONS and isinstance(site.target, np.ufunc):
            return call_library(ctx, FUNCTIONS[name], site, value)
        kind: Element = found if isinstance(found, Vector) and found.dtype.is_float else float_type(ctx, value)
        return Operation(name, (convert(ctx, value, kind),), kind, span=ctx.span)

    return handler


def _log(ctx: FunctionState, value: Value) -> Value:
    if isinstance(value, Const):
        return Const(math.log(value.value))
    kind = float_type(ctx, value)
    return Operation("log", (convert(ctx, value, kind),), kind, span=ctx.span)


def _float_function_2(name: str) -> Callable[[FunctionState, Call], Value]:
    def handler(ctx: FunctionState, site: Call) -> Value:
        left, right = site.bind(ctx, name, "x", "y")
        kind = common_type(ctx, left, right)
        if not kind.dtype.is_float:
            kind = ctx.program.py_float
        if name == "pow":
            return power(ctx, left, right, kind)
        return Operation(name, (convert(ctx, left, kind), convert(ctx, right, kind)), kind, span=ctx.span)

    return handler


for _table, _make in ((_UNARY, float_function), (_BINARY, _float_function_2)):
    for _name, _functions in _table.items():
        handles(*(f for f in _functions if f is not None))(_make(_name))


Handler = Callable[[FunctionState, Call], Value]


def _of_reals(function: LibraryFunction, *names: str) -> Handler:
    def handler(ctx: FunctionState, site: Call) -> Value:
        values = site.bind(ctx, site.target.__name__, *names)
        return call_library(ctx, function, site, *as_floats(ctx, *values))

    return handler


handles(np.logaddexp)(_of_reals(logaddexp, "x", "y"))


handles(np.logaddexp2)(_of_reals(logaddexp2, "x", "y"))


handles(np.heaviside)(_of_reals(heaviside, "x", "h"))


handles(np.spacing, foldable=False)(_of_reals(spacing, "x"))


handles(np.sinc)(_of_reals(sinc, "x"))


handles(math.modf, np.modf)(_of_reals(modf, "x"))


@handles(*(f for f in (getattr(math, "nextafter", None), np.nextafter) if f is not None))
def _nextafter(ctx: FunctionState, site: Call) -> Value:
    left, right = site.bind(ctx, "nextafter", "x", "y")
    kind = common_type(ctx, left, right)
    if not kind.dtype.is_float:
        kind = ctx.program.py_float
    numbers = (convert(ctx, left, kind), convert(ctx, right, kind))
    if kind.dtype is FLOAT16:  # devices without functions of halves would give float32's neighbour
        return call_library(ctx, half_nextafter, site, *numbers)
    return Operation("nextafter", numbers, kind, span=ctx.span)


@handles(math.ulp)
def _ulp(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "math.ulp", "x")
    return call_library(ctx, ulp, site, *as_floats(ctx, value))


_EXPONENTS = 1 << 16  # more than any float's exponent


@handles(math.ldexp, np.ldexp)
def _ldexp(ctx: FunctionState, site: Call) -> Value:
    value, exponent = site.bind(ctx, "ldexp", "x", "i")
    kind = float_type(ctx, value)
    power = as_number(ctx, exponent)
    found = number_type(ctx, exponent)
    if found is None or found.dtype.is_inexact:
        ctx.fail(f"ldexp needs an integer exponent, not {describe(ctx, exponent)}")
    if found.dtype.size == 8 and found != PYINT_NARROW:  # larger ones than any float has must not wrap around
        limits = (Const(_EXPONENTS), Const(-_EXPONENTS)) if found.dtype is INT64 else (Const(_EXPONENTS),)
        for name, limit in zip(("min", "max"), limits, strict=False):
            power = Operation(name, (power, convert(ctx, limit, found)), found, span=ctx.span)
    power = convert(ctx, power, PYINT_NARROW)
    return Operation("ldexp", (convert(ctx, value, kind), power), kind, span=ctx.span)


@handles(math.frexp, np.frexp)
def _frexp(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "frexp", "x")
    (number,) = as_floats(ctx, value)
    held = ctx.temp(number)
    exponent = INT if site.target is np.frexp else PYINT_NARROW
    return TupleValue(
        (
            Operation("frexp_mantissa", (held,), held.type, span=ctx.span),
            Operation("frexp_exponent", (held,), exponent, span=ctx.span),
        )
    )


@handles(math.fmod, np.fmod)
def _fmod(ctx: FunctionState, site: Call) -> Value:
    left, right = site.bind(ctx, "fmod", "x", "y")
    kind = common_type(ctx, left, right)
    if site.target is np.fmod and not kind.dtype.is_inexact:
        return call_library(ctx, integer_fmod, site, *as_integers(ctx, "fmod", left, right))
    numbers = as_floats(ctx, left, right)
    return Operation("fmod", tuple(numbers), numbers[0].type, span=ctx.span)


@handles(np.reciprocal)
def _reciprocal(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "np.reciprocal", "x")
    kind = number_type(ctx, scalar(ctx, value))
    if is_complex(ctx, value):
        return call_library(ctx, complex_reciprocal, site, value)
    if kind is not None and kind.dtype.is_float:
        return binary(ctx, ast.Div(), Const(1), value)
    return call_library(ctx, integer_reciprocal, site, *as_integers(ctx, "np.reciprocal", value))


@handles(np.float_power)
def _float_power(ctx: FunctionState, site: Call) -> Value:
    left, right = site.bind(ctx, "np.float_power", "x", "y")
    wide = Scalar(FLOAT64) if ctx.program.caps.fp64 else ctx.program.py_float
    if common_type(ctx, scalar(ctx, left), scalar(ctx, right)).dtype.is_complex:
        wide = Scalar(wide.dtype.complex)
    return Operation("pow", (convert(ctx, left, wide), convert(ctx, right, wide)), wide, span=ctx.span)


@handles(math.dist)
def _dist(ctx: FunctionState, site: Call) -> Value:
    p, q = (tuple_items(ctx, v) for v in site.bind(ctx, "math.dist", "p", "q"))
    if len(p) != len(q) or not p:
        ctx.fail("math.dist needs two points with the same number of coordinates, at least one")
    total: Value | None = None
    for a, b in zip(p, q, strict=True):
        kind = common_type(ctx, a, b)
        kind = kind if kind.dtype.is_float else ctx.program.py_float
        difference = binary(ctx, ast.Sub(), convert(ctx, a, kind), convert(ctx, b, kind))
        if total is None:
            total = Operation("fabs", (as_number(ctx, difference),), kind, span=ctx.span)
            continue
        met = common_type(ctx, total, difference)
        total = Operation("hypot", (convert(ctx, total, met), convert(ctx, difference, met)), met, span=ctx.span)
    assert total is not None
    return total
