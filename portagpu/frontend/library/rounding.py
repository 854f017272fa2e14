"""Lowering of rounding: `round`, `floor`, `ceil` and `trunc` of `math` and NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from portagpu.dtypes import BOOL, integer_range
from portagpu.frontend.core.convert import as_element, as_number, constant, convert, float_type, number_type
from portagpu.frontend.core.registry import Call, call_library, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, Value
from portagpu.frontend.library.float_functions import round_digits, round_to
from portagpu.frontend.library.floats import float_function
from portagpu.frontend.library.integer_functions import round_integer
from portagpu.frontend.library.operands import integer_result, scalar
from portagpu.ir.nodes import Operation
from portagpu.ir.types import PYINT, Scalar


def _rounding(name: str) -> Callable[[FunctionState, Call], Value]:
    """To a whole number of the same dtype: an integer is one already."""
    compute = float_function(name)

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
    return call_library(ctx, round_digits if narrow else round_to, site, number, digits)


def _round_integer(ctx: FunctionState, site: Call, value: Value, digits: Value) -> Value:
    kind = number_type(ctx, value)
    result = convert(ctx, value, integer_result(ctx, value)) if site.target is round else as_number(ctx, value)
    if not isinstance(digits, Const):
        ctx.fail("the digits of a rounded integer must be a constant", hint="round a float: round(float(x), n)")
    if digits.value is None or digits.value >= 0 or kind is None or (kind.dtype is BOOL and site.target is not round):
        return result
    dtype = as_element(result.type).dtype
    power = 10 ** -int(digits.value)
    if power > integer_range(dtype)[1]:
        return constant(ctx, 0, Scalar(dtype))
    step = constant(ctx, power, Scalar(dtype))
    return call_library(ctx, round_integer, site, result, step)
