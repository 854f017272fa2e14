"""Python's builtins, the `math` module and NumPy's elementwise functions inside kernels."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.dtypes import BOOL
from portagpu.frontend.calls import Call, handles
from portagpu.frontend.convert import (
    as_number,
    common_type,
    constant,
    convert,
    describe,
    float_type,
    number_type,
    truth,
)
from portagpu.frontend.expressions import tuple_items
from portagpu.frontend.operators import binary, compare, is_narrow, logical, negate, select
from portagpu.frontend.state import FunctionState
from portagpu.frontend.subscripts import size_of
from portagpu.frontend.values import ArrayValue, Const, EnumerateValue, RangeValue, TupleValue, Value, ZipValue
from portagpu.ir.nodes import Binary, BinaryOp, LogicalOp, Negate, Operation
from portagpu.ir.types import BOOLEAN, PYINT, PYINT_NARROW, Element, Scalar, Vector

# builtins ---------------------------------------------------------------------------------------------------------


@handles(len)
def _len(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "len", "x")
    if isinstance(value, ArrayValue) and value.ndim:
        return value.shape[0]
    if isinstance(value, TupleValue):
        return Const(len(value.items))
    ctx.fail(f"{describe(ctx, value)} has no len()")  # type: ignore[arg-type]


@handles(range, foldable=False)
def _range(ctx: FunctionState, site: Call) -> Value:
    if site.keywords or not 1 <= len(site.args) <= 3:
        ctx.fail("range takes one to three arguments: range(stop), range(start, stop) or range(start, stop, step)")
    for value in site.args:
        kind = number_type(ctx, value)
        if not isinstance(kind, Scalar) or kind.dtype.is_float:
            ctx.fail(
                f"range needs integers, not {describe(ctx, value)}",
                hint="convert with int(x), or use `//` for division",
            )
    if all(isinstance(a, Const) for a in site.args):
        values = [a.value for a in site.args]  # type: ignore[union-attr]
        if all(type(v) is int for v in values):
            if len(values) == 3 and values[2] == 0:
                ctx.fail("range's step must not be zero")
            return Const(range(*values))
    start: Value = site.args[0] if len(site.args) > 1 else Const(0)
    stop = site.args[1] if len(site.args) > 1 else site.args[0]
    step = site.args[2] if len(site.args) > 2 else Const(1)
    if isinstance(step, Const) and step.value == 0:
        ctx.fail("range's step must not be zero")
    return RangeValue(start, stop, step)


@handles(enumerate, foldable=False)
def _enumerate(ctx: FunctionState, site: Call) -> Value:
    iterable, start = site.bind(ctx, "enumerate", "iterable", optional=("start",))
    assert iterable is not None
    return EnumerateValue(iterable, start or Const(0))


@handles(zip, foldable=False)
def _zip(ctx: FunctionState, site: Call) -> Value:
    return ZipValue(site.args)


@handles(tuple)
def _tuple(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "tuple", "x")
    return TupleValue(tuple_items(ctx, value))  # type: ignore[arg-type]


@handles(int)
def _int(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "int", "x")
    return convert(ctx, _scalar(ctx, value), _integer_result(ctx, value), explicit=True)


def _scalar(ctx: FunctionState, value: Value | None) -> Value:
    assert value is not None
    if not isinstance(number_type(ctx, value), Scalar):
        ctx.fail(f"a number is needed here, not {describe(ctx, value)}")
    return value


def _integer_result(ctx: FunctionState, value: Value | None) -> Scalar:
    assert value is not None
    return PYINT_NARROW if is_narrow(ctx, value) else PYINT


@handles(float)
def _float(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "float", "x")
    return convert(ctx, _scalar(ctx, value), ctx.program.py_float, explicit=True)


@handles(bool, np.bool_)
def _bool(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "bool", "x")
    return truth(ctx, _scalar(ctx, value))


@handles(abs, np.abs, np.absolute, np.fabs, math.fabs)
def _abs(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "abs", "x")
    number = as_number(ctx, value)  # type: ignore[arg-type]
    kind: Element = number.type  # type: ignore[assignment]
    if site.function.value in (math.fabs, np.fabs) and not kind.dtype.is_float:  # type: ignore[union-attr]
        kind = ctx.program.py_float
        number = convert(ctx, number, kind)
    if kind.dtype is BOOL:
        return convert(ctx, number, PYINT)
    if np.dtype(kind.dtype.name).kind == "u":
        return number
    return Operation("fabs" if kind.dtype.is_float else "iabs", (number,), kind, span=ctx.span)


def _extreme(name: str) -> Callable[[FunctionState, Call], Value]:
    def handler(ctx: FunctionState, site: Call) -> Value:
        values = site.args
        if len(values) == 1:
            values = tuple_items(ctx, values[0])
        if site.keywords or not values:
            ctx.fail(f"{name} needs at least one number and no keywords")
        result = values[0]
        for value in values[1:]:
            if isinstance(result, Const) and isinstance(value, Const):
                result = Const(getattr(builtins, name)(result.value, value.value))
                continue
            kind = common_type(ctx, result, value)
            if kind == PYINT and is_narrow(ctx, result) and is_narrow(ctx, value):
                kind = PYINT_NARROW
            kind = PYINT if kind.dtype is BOOL else kind
            result = Operation(name, (convert(ctx, result, kind), convert(ctx, value, kind)), kind, span=ctx.span)
        return result

    return handler


handles(min)(_extreme("min"))
handles(max)(_extreme("max"))


@handles(round)
def _round(ctx: FunctionState, site: Call) -> Value:
    value, digits = site.bind(ctx, "round", "x", optional=("ndigits",))
    kind = float_type(ctx, _scalar(ctx, value))
    assert value is not None
    if digits is None or (isinstance(digits, Const) and digits.value is None):
        if number_type(ctx, value) != kind:
            return convert(ctx, value, _integer_result(ctx, value))
        rounded = Operation("rint", (convert(ctx, value, kind),), kind, span=ctx.span)
        return convert(ctx, rounded, PYINT, explicit=True)
    if not isinstance(digits, Const):
        ctx.fail("round's second argument must be a constant")
    scale = constant(ctx, 10.0 ** int(digits.value), kind)
    scaled = Binary(BinaryOp.MUL, convert(ctx, value, kind), scale, kind, span=ctx.span)
    return Binary(BinaryOp.DIV, Operation("rint", (scaled,), kind, span=ctx.span), scale, kind, span=ctx.span)


@handles(pow, np.power, foldable=True)
def _pow(ctx: FunctionState, site: Call) -> Value:
    left, right = site.bind(ctx, "pow", "x", "y")
    return binary(ctx, ast.Pow(), left, right)  # type: ignore[arg-type]


@handles(divmod)
def _divmod(ctx: FunctionState, site: Call) -> Value:
    left, right = site.bind(ctx, "divmod", "x", "y")
    held = [ctx.temp(v) if not isinstance(v, Const) else v for v in (left, right)]  # type: ignore[arg-type]
    return TupleValue((binary(ctx, ast.FloorDiv(), held[0], held[1]), binary(ctx, ast.Mod(), held[0], held[1])))


@handles(sum)
def _sum(ctx: FunctionState, site: Call) -> Value:
    values, start = site.bind(ctx, "sum", "tuple", optional=("start",))
    total: Value = start or Const(0)
    for value in tuple_items(ctx, values):  # type: ignore[arg-type]
        total = binary(ctx, ast.Add(), total, value)
    return total


@handles(any, all)
def _any_all(ctx: FunctionState, site: Call) -> Value:
    (values,) = site.bind(ctx, "any/all", "tuple")
    is_any = site.function.value is any  # type: ignore[union-attr]
    result: Value = Const(not is_any)
    for value in tuple_items(ctx, values):  # type: ignore[arg-type]
        result = logical(ctx, LogicalOp.OR if is_any else LogicalOp.AND, result, truth(ctx, value))
    return result


# math and NumPy -----------------------------------------------------------------------------------------------------

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
    "floor": (np.floor,),
    "ceil": (np.ceil,),
    "trunc": (np.trunc,),
    "rint": (np.rint,),
}
_BINARY: dict[str, tuple[Any, ...]] = {
    "atan2": (math.atan2, np.arctan2),
    "copysign": (math.copysign, np.copysign),
    "fmod": (math.fmod,),
    "hypot": (math.hypot, np.hypot),
    "pow": (math.pow,),
    "remainder": (math.remainder,),
    "nextafter": (getattr(math, "nextafter", None), np.nextafter),
}


def _float_function(name: str) -> Callable[[FunctionState, Call], Value]:
    def handler(ctx: FunctionState, site: Call) -> Value:
        if name == "log" and len(site.args) == 2:
            top, bottom = (_log(ctx, v) for v in site.args)
            return binary(ctx, ast.Div(), top, bottom)
        (value,) = site.bind(ctx, name, "x")
        assert value is not None
        found = number_type(ctx, value)
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
        kind = common_type(ctx, left, right)  # type: ignore[arg-type]
        if not kind.dtype.is_float:
            kind = ctx.program.py_float
        return Operation(name, (convert(ctx, left, kind), convert(ctx, right, kind)), kind, span=ctx.span)  # type: ignore[arg-type]

    return handler


for _table, _make in ((_UNARY, _float_function), (_BINARY, _float_function_2)):
    for _name, _functions in _table.items():
        handles(*(f for f in _functions if f is not None))(_make(_name))


def _to_integer(name: str) -> Callable[[FunctionState, Call], Value]:
    def handler(ctx: FunctionState, site: Call) -> Value:
        (value,) = site.bind(ctx, name, "x")
        kind = float_type(ctx, _scalar(ctx, value))
        assert value is not None
        if number_type(ctx, value) != kind:
            return convert(ctx, value, _integer_result(ctx, value))
        return convert(ctx, Operation(name, (value,), kind, span=ctx.span), PYINT, explicit=True)  # type: ignore[arg-type]

    return handler


for _name in ("floor", "ceil", "trunc"):
    handles(getattr(math, _name))(_to_integer(_name))


@handles(math.isnan, np.isnan, math.isinf, np.isinf, math.isfinite, np.isfinite)
def _classify(ctx: FunctionState, site: Call) -> Value:
    name: str = site.function.value.__name__  # type: ignore[union-attr]
    (value,) = site.bind(ctx, name, "x")
    kind = number_type(ctx, _scalar(ctx, value))
    assert kind is not None and value is not None
    if not kind.dtype.is_float:
        return Const(name == "isfinite")
    return Operation(name, (as_number(ctx, value),), BOOLEAN, span=ctx.span)


@handles(np.minimum, np.maximum, np.fmin, np.fmax)
def _np_extreme(ctx: FunctionState, site: Call) -> Value:
    name: str = site.function.value.__name__  # type: ignore[union-attr]
    left, right = site.bind(ctx, name, "x", "y")
    kind = common_type(ctx, left, right)  # type: ignore[arg-type]
    plain = {"minimum": "min", "maximum": "max", "fmin": "min", "fmax": "max"}[name]
    operation = name if kind.dtype.is_float else plain
    return Operation(operation, (convert(ctx, left, kind), convert(ctx, right, kind)), kind, span=ctx.span)  # type: ignore[arg-type]


@handles(np.sign)
def _sign(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "sign", "x")
    kind = number_type(ctx, _scalar(ctx, value))
    assert isinstance(kind, Scalar) and value is not None
    held = ctx.temp(as_number(ctx, value))
    zero = Const(0)
    below = select(ctx, compare(ctx, ast.Lt(), held, zero), Const(-1), held)
    return select(ctx, compare(ctx, ast.Gt(), held, zero), Const(1), below)


@handles(np.where)
def _where(ctx: FunctionState, site: Call) -> Value:
    condition, yes, no = site.bind(ctx, "where", "condition", "x", "y")
    return select(ctx, truth(ctx, condition), yes, no)  # type: ignore[arg-type]


@handles(math.ldexp, np.ldexp)
def _ldexp(ctx: FunctionState, site: Call) -> Value:
    value, exponent = site.bind(ctx, "ldexp", "x", "i")
    kind = float_type(ctx, value)  # type: ignore[arg-type]
    power = convert(ctx, exponent, PYINT_NARROW)  # type: ignore[arg-type]
    return Operation("ldexp", (convert(ctx, value, kind), power), kind, span=ctx.span)  # type: ignore[arg-type]


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


@handles(*_OPERATORS)
def _operator(ctx: FunctionState, site: Call) -> Value:
    function = site.function.value  # type: ignore[union-attr]
    left, right = site.bind(ctx, function.__name__, "x", "y")
    return binary(ctx, _OPERATORS[function](), left, right)  # type: ignore[arg-type]


@handles(*_COMPARISONS)
def _comparison(ctx: FunctionState, site: Call) -> Value:
    function = site.function.value  # type: ignore[union-attr]
    left, right = site.bind(ctx, function.__name__, "x", "y")
    return compare(ctx, _COMPARISONS[function](), left, right)  # type: ignore[arg-type]


@handles(np.negative)
def _negative(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "negative", "x")
    number = as_number(ctx, value)  # type: ignore[arg-type]
    return Negate(number, number.type, span=ctx.span)  # type: ignore[arg-type]


@handles(np.square)
def _square(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "square", "x")
    return binary(ctx, ast.Pow(), value, Const(2))  # type: ignore[arg-type]


@handles(np.logical_and, np.logical_or, np.logical_not)
def _np_logical(ctx: FunctionState, site: Call) -> Value:
    function = site.function.value  # type: ignore[union-attr]
    values = [truth(ctx, v) for v in site.args]
    if function is np.logical_not:
        return negate(ctx, values[0])
    return logical(ctx, LogicalOp.AND if function is np.logical_and else LogicalOp.OR, values[0], values[1])


@handles(np.size)
def _np_size(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "size", "x")
    if isinstance(value, ArrayValue):
        return size_of(ctx, value)
    ctx.fail(f"np.size needs an array, not {describe(ctx, value)}")  # type: ignore[arg-type]
