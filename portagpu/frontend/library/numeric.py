"""`math` and NumPy functions of more than one operation: tables of `numeric_functions`."""

from __future__ import annotations

import ast
import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.dtypes import BOOL, FLOAT64, Kind, integer_range
from portagpu.frontend.core.convert import (
    as_element,
    as_number,
    common_type,
    constant,
    convert,
    describe,
    float_type,
    number_type,
)
from portagpu.frontend.core.operators import binary, unary
from portagpu.frontend.core.registry import Call, call_library, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, TupleValue, Value
from portagpu.frontend.library import numeric_functions as functions
from portagpu.frontend.library.builtins import integer_result, scalar
from portagpu.frontend.library.complex_functions import complex_reciprocal
from portagpu.frontend.operations.comparisons import compare
from portagpu.frontend.operations.complex_numbers import is_complex
from portagpu.frontend.source.callables import LibraryFunction
from portagpu.ir.nodes import Expr, Operation
from portagpu.ir.types import BOOLEAN, INT, PYINT, PYINT_NARROW, Scalar

Handler = Callable[[FunctionState, Call], Value]


def _reals(ctx: FunctionState, *values: Value) -> list[Expr]:
    """Numbers as floats of one type."""
    kind = float_type(ctx, scalar(ctx, values[0]))
    for value in values[1:]:
        met = common_type(ctx, values[0], scalar(ctx, value))
        kind = met if isinstance(met, Scalar) and met.dtype.is_inexact else kind
    return [convert(ctx, value, kind) for value in values]


def _integers(ctx: FunctionState, name: str, *values: Value) -> list[Expr]:
    """Numbers as integers of one type."""
    for value in values:
        kind = number_type(ctx, value)
        if not isinstance(kind, Scalar) or kind.dtype.is_inexact:
            ctx.fail(f"{name} needs integers, not {describe(ctx, value)}")
    met = common_type(ctx, values[0], values[-1])
    if met.dtype is BOOL:
        met = PYINT
    return [convert(ctx, value, met) for value in values]


def _of_reals(function: LibraryFunction, *names: str) -> Handler:
    def handler(ctx: FunctionState, site: Call) -> Value:
        values = site.bind(ctx, site.target.__name__, *names)
        return call_library(ctx, function, site, *_reals(ctx, *values))

    return handler


handles(np.logaddexp)(_of_reals(functions.logaddexp, "x", "y"))
handles(np.logaddexp2)(_of_reals(functions.logaddexp2, "x", "y"))
handles(np.heaviside)(_of_reals(functions.heaviside, "x", "h"))
handles(np.spacing)(_of_reals(functions.spacing, "x"))
handles(np.sinc)(_of_reals(functions.sinc, "x"))
handles(math.modf, np.modf)(_of_reals(functions.modf, "x"))


@handles(math.ulp)
def _ulp(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "math.ulp", "x")
    (number,) = _reals(ctx, value)
    return call_library(ctx, functions.spacing, site, Operation("fabs", (number,), number.type, span=ctx.span))


@handles(math.gcd, np.gcd, math.lcm, np.lcm)
def _divisor(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.__name__
    if site.keywords or len(site.args) < 2:
        ctx.fail(f"{name} takes integers, at least two")
    function = functions.gcd if name == "gcd" else functions.lcm
    result: Value = site.args[0]
    for value in site.args[1:]:
        result = call_library(ctx, function, site, *_integers(ctx, name, result, value))
    return result


@handles(math.frexp, np.frexp)
def _frexp(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "frexp", "x")
    (number,) = _reals(ctx, value)
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
        return call_library(ctx, functions.integer_fmod, site, *_integers(ctx, "fmod", left, right))
    numbers = _reals(ctx, left, right)
    return Operation("fmod", tuple(numbers), numbers[0].type, span=ctx.span)


@handles(np.reciprocal)
def _reciprocal(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "np.reciprocal", "x")
    kind = number_type(ctx, scalar(ctx, value))
    if is_complex(ctx, value):
        return call_library(ctx, complex_reciprocal, site, value)
    if kind is not None and kind.dtype.is_float:
        return binary(ctx, ast.Div(), Const(1), value)
    return call_library(ctx, functions.integer_reciprocal, site, *_integers(ctx, "np.reciprocal", value))


@handles(np.float_power)
def _float_power(ctx: FunctionState, site: Call) -> Value:
    left, right = site.bind(ctx, "np.float_power", "x", "y")
    wide = Scalar(FLOAT64) if ctx.program.caps.fp64 else ctx.program.py_float
    if common_type(ctx, scalar(ctx, left), scalar(ctx, right)).dtype.is_complex:
        wide = Scalar(wide.dtype.complex)
    return Operation("pow", (convert(ctx, left, wide), convert(ctx, right, wide)), wide, span=ctx.span)


@handles(np.signbit)
def _signbit(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "np.signbit", "x")
    kind = number_type(ctx, scalar(ctx, value))
    assert kind is not None
    if kind.dtype.is_float:
        return Operation("signbit", (as_number(ctx, value),), BOOLEAN, span=ctx.span)
    if kind.dtype is BOOL or kind.dtype.kind is Kind.UINT:
        return Const(np.False_)
    return compare(ctx, ast.Lt(), value, Const(0))


@handles(np.positive, np.invert)
def _unary(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, site.target.__name__, "x")
    return unary(ctx, ast.UAdd() if site.target is np.positive else ast.Invert(), value)


# rounding -----------------------------------------------------------------------------------------------------------


@handles(round, np.round, np.around)
def _round(ctx: FunctionState, site: Call) -> Value:
    name = "ndigits" if site.target is round else "decimals"
    value, digits = site.bind(ctx, "round", "x", **{name: Const(None if site.target is round else 0)})
    number = scalar(ctx, value)
    kind = float_type(ctx, number)
    plain = isinstance(digits, Const) and digits.value in (None, 0)
    if number_type(ctx, number) != kind:
        return _round_integer(ctx, site, number, digits)
    if isinstance(digits, Const) and plain:
        rounded = Operation("rint", (convert(ctx, number, kind),), kind, span=ctx.span)
        return rounded if digits.value == 0 else convert(ctx, rounded, PYINT, explicit=True)
    narrow = kind.dtype.size < 8 and site.target is round and ctx.program.caps.fp64
    return call_library(ctx, functions.round_digits if narrow else functions.round_to, site, number, digits)


def _round_integer(ctx: FunctionState, site: Call, value: Value, digits: Value) -> Value:
    kind = number_type(ctx, value)
    result = convert(ctx, value, integer_result(ctx, value)) if site.target is round else as_number(ctx, value)
    if not isinstance(digits, Const):
        ctx.fail("the digits of a rounded integer must be a constant", hint="round a float: round(float(x), n)")
    if digits.value is None or digits.value >= 0 or kind is None or kind.dtype is BOOL:
        return result
    dtype = as_element(result.type).dtype
    power = 10 ** -int(digits.value)
    if power > integer_range(dtype)[1]:
        return constant(ctx, 0, Scalar(dtype))
    step = constant(ctx, power, Scalar(dtype))
    return call_library(ctx, functions.round_integer, site, result, step)


# comparison -----------------------------------------------------------------------------------------------------------


@handles(math.isclose, cmath.isclose)
def _is_close(ctx: FunctionState, site: Call) -> Value:
    a, b, relative, absolute = site.bind(ctx, "isclose", "a", "b", rel_tol=Const(1e-9), abs_tol=Const(0.0))
    return call_library(ctx, functions.is_close, site, *_comparable(ctx, a, b), relative, absolute)


@handles(np.isclose)
def _np_is_close(ctx: FunctionState, site: Call) -> Value:
    a, b, *options = site.bind(ctx, "np.isclose", "a", "b", rtol=Const(1e-5), atol=Const(1e-8), equal_nan=Const(False))
    return call_library(ctx, functions.is_close_to, site, *_comparable(ctx, a, b), *options)


def _comparable(ctx: FunctionState, a: Value, b: Value) -> list[Expr]:
    """Two numbers in the type in which they are compared: `math` and NumPy compute in floats."""
    kind: Any = common_type(ctx, scalar(ctx, a), scalar(ctx, b))
    if not kind.dtype.is_inexact:
        kind = ctx.program.py_float
    return [convert(ctx, value, kind) for value in (a, b)]


@handles(np.clip)
def _clip(ctx: FunctionState, site: Call) -> Value:
    value, low, high = site.bind(ctx, "np.clip", "a", a_min=Const(None), a_max=Const(None))
    for function, bound in ((np.maximum, low), (np.minimum, high)):
        if not (isinstance(bound, Const) and bound.value is None):
            value = np_extreme(ctx, function.__name__, value, bound)
    return as_number(ctx, value)


def np_extreme(ctx: FunctionState, name: str, left: Value, right: Value) -> Value:
    """``np.minimum`` and ``np.maximum``, where nan wins, ``np.fmin`` and ``np.fmax``, where numbers do."""
    kind = common_type(ctx, left, right)
    if kind.dtype.is_complex:
        ctx.fail(f"np.{name} of complex numbers", hint="compare abs(x), x.real or x.imag")
    plain = {"minimum": "min", "maximum": "max", "fmin": "min", "fmax": "max"}[name]
    operation = name if kind.dtype.is_float else plain
    return Operation(operation, (convert(ctx, left, kind), convert(ctx, right, kind)), kind, span=ctx.span)
