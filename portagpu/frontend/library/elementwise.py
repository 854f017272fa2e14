"""Lowering of `math`, and of NumPy's elementwise functions."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.dtypes import BOOL, FLOAT16, INT64, Kind
from portagpu.errors import KernelValueError
from portagpu.frontend.arrays.attributes import size_of
from portagpu.frontend.core.conditions import logical, negate, select
from portagpu.frontend.core.convert import (
    as_number,
    common_type,
    convert,
    describe,
    float_type,
    number_type,
    truth,
    typed_number,
)
from portagpu.frontend.core.operators import binary
from portagpu.frontend.core.powers import power
from portagpu.frontend.core.registry import Call, call_library, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.frontend.library.builtins import integer_result, scalar
from portagpu.frontend.library.cmath import classify
from portagpu.frontend.library.complex_functions import FUNCTIONS, complex_sign
from portagpu.frontend.library.numeric import np_extreme
from portagpu.frontend.library.numeric_functions import half_nextafter
from portagpu.frontend.operations.comparisons import compare
from portagpu.frontend.operations.complex_numbers import is_complex
from portagpu.frontend.operations.complex_order import ordered
from portagpu.ir.nodes import LogicalOp, Negate, Operation
from portagpu.ir.types import BOOLEAN, PYINT, PYINT_NARROW, Element, Scalar, Vector

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


def _float_function(name: str) -> Callable[[FunctionState, Call], Value]:
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


for _table, _make in ((_UNARY, _float_function), (_BINARY, _float_function_2)):
    for _name, _functions in _table.items():
        handles(*(f for f in _functions if f is not None))(_make(_name))


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


def _rounding(name: str) -> Callable[[FunctionState, Call], Value]:
    """To a whole number of the same dtype: an integer is one already."""
    compute = _float_function(name)

    def handler(ctx: FunctionState, site: Call) -> Value:
        kind = number_type(ctx, site.args[0]) if len(site.args) == 1 and not site.keywords else None
        whole = isinstance(kind, Scalar) and not kind.dtype.is_inexact
        return as_number(ctx, site.args[0]) if whole else compute(ctx, site)

    return handler


for _name, _functions in (("floor", (np.floor,)), ("ceil", (np.ceil,)), ("trunc", (np.trunc, np.fix))):
    handles(*_functions)(_rounding(_name))


def _to_integer(name: str) -> Callable[[FunctionState, Call], Value]:
    def handler(ctx: FunctionState, site: Call) -> Value:
        (value,) = site.bind(ctx, name, "x")
        kind = float_type(ctx, scalar(ctx, value))
        if number_type(ctx, value) != kind:
            return convert(ctx, value, integer_result(ctx, value))
        return convert(ctx, Operation(name, (as_number(ctx, value),), kind, span=ctx.span), PYINT, explicit=True)

    return handler


for _name in ("floor", "ceil", "trunc"):
    handles(getattr(math, _name))(_to_integer(_name))


@handles(math.isnan, np.isnan, math.isinf, np.isinf, math.isfinite, np.isfinite)
def _classify(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.__name__
    (value,) = site.bind(ctx, name, "x")
    kind = number_type(ctx, scalar(ctx, value))
    assert kind is not None
    if kind.dtype.is_complex and isinstance(site.target, np.ufunc):
        return classify(ctx, name, value)
    float_type(ctx, value)  # the `math` module takes real numbers only
    if not kind.dtype.is_float:
        known = name == "isfinite"
        return Const(np.bool_(known) if isinstance(site.target, np.ufunc) else known)
    return Operation(name, (as_number(ctx, value),), BOOLEAN, span=ctx.span)


@handles(np.minimum, np.maximum, np.fmin, np.fmax)
def _np_extreme(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.__name__
    left, right = site.bind(ctx, name, "x", "y")
    if is_complex(ctx, left) or is_complex(ctx, right):
        return ordered(ctx, name, site, left, right)
    return np_extreme(ctx, name, left, right)


@handles(np.sign)
def _sign(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "sign", "x")
    kind = number_type(ctx, scalar(ctx, value))
    assert isinstance(kind, Scalar)
    if kind.dtype.is_complex:
        return call_library(ctx, complex_sign, site, value)
    held: Value = ctx.temp(as_number(ctx, value))
    zero = Const(0)
    if kind.dtype.is_float:
        held = binary(ctx, ast.Add(), held, Const(0.0))  # of -0.0 it is 0.0
    is_signed = kind.dtype.kind is not Kind.UINT  # -1 is no literal of an unsigned type
    below = select(ctx, compare(ctx, ast.Lt(), held, zero), Const(-1), held) if is_signed else held
    return select(ctx, compare(ctx, ast.Gt(), held, zero), Const(1), below)


@handles(np.where)
def _where(ctx: FunctionState, site: Call) -> Value:
    condition, yes, no = site.bind(ctx, "where", "condition", "x", "y")
    return select(ctx, truth(ctx, condition), yes, no)


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


_OPERATORS: dict[Any, type[ast.operator]] = {
    np.add: ast.Add,
    np.subtract: ast.Sub,
    np.multiply: ast.Mult,
    np.divide: ast.Div,
    np.floor_divide: ast.FloorDiv,
    np.remainder: ast.Mod,
    np.bitwise_and: ast.BitAnd,
    np.bitwise_or: ast.BitOr,
    np.bitwise_xor: ast.BitXor,
    np.left_shift: ast.LShift,
    np.right_shift: ast.RShift,
}
_COMPARISONS: dict[Any, type[ast.cmpop]] = {
    np.less: ast.Lt,
    np.less_equal: ast.LtE,
    np.greater: ast.Gt,
    np.greater_equal: ast.GtE,
    np.equal: ast.Eq,
    np.not_equal: ast.NotEq,
}


_OF_BOOLS = {np.add: LogicalOp.OR, np.multiply: LogicalOp.AND}


def _is_bool(ctx: FunctionState, value: Value) -> bool:
    kind = number_type(ctx, value)
    return isinstance(kind, Scalar) and kind.dtype is BOOL


@handles(*_OPERATORS)
def _operator(ctx: FunctionState, site: Call) -> Value:
    function = site.target
    left, right = site.bind(ctx, function.__name__, "x", "y")
    if function in _OF_BOOLS and all(_is_bool(ctx, v) for v in (left, right)):
        return logical(ctx, _OF_BOOLS[function], truth(ctx, left), truth(ctx, right))
    return binary(ctx, _OPERATORS[function](), left, right, checked=False)


@handles(*_COMPARISONS)
def _comparison(ctx: FunctionState, site: Call) -> Value:
    function = site.target
    left, right = site.bind(ctx, function.__name__, "x", "y")
    if function not in (np.equal, np.not_equal) and (is_complex(ctx, left) or is_complex(ctx, right)):
        return ordered(ctx, function.__name__, site, left, right)
    return compare(ctx, _COMPARISONS[function](), left, right)


@handles(np.negative)
def _negative(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "negative", "x")
    number, kind = typed_number(ctx, value)
    return Negate(number, kind, span=ctx.span)


@handles(np.square)
def _square(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "square", "x")
    return binary(ctx, ast.Pow(), value, Const(2))


@handles(np.logical_and, np.logical_or, np.logical_xor, np.logical_not)
def _np_logical(ctx: FunctionState, site: Call) -> Value:
    function = site.target
    names = ("x",) if function is np.logical_not else ("x", "y")
    values = [truth(ctx, v) for v in site.bind(ctx, f"np.{function.__name__}", *names)]
    if function is np.logical_not:
        return negate(ctx, values[0])
    if function is np.logical_xor:
        return compare(ctx, ast.NotEq(), values[0], values[1])
    return logical(ctx, LogicalOp.AND if function is np.logical_and else LogicalOp.OR, values[0], values[1])


@handles(np.size)
def _np_size(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "size", "x")
    if isinstance(value, ArrayValue):
        return size_of(ctx, value)
    ctx.fail(f"np.size needs an array, not {describe(ctx, value)}")


@handles(np.iinfo, np.finfo)
def _limits(ctx: FunctionState, site: Call) -> Value:
    """Only reached with an argument that is no constant: Python evaluates the others."""
    (value,) = site.bind(ctx, site.target.__name__, "dtype")
    ctx.fail(
        f"np.{site.target.__name__} needs a dtype, not {describe(ctx, value)}",
        kind=KernelValueError,
        hint=f"for example np.{site.target.__name__}(x.dtype).max",
    )
