"""Lowering of `cmath`, and of NumPy's functions of complex numbers."""

from __future__ import annotations

import ast
import cmath
from collections.abc import Callable

import numpy as np

from portagpu.frontend.core.conditions import logical
from portagpu.frontend.core.convert import as_number, convert, describe, float_type, number_type
from portagpu.frontend.core.operators import binary
from portagpu.frontend.core.registry import Call, call_library, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Condition, Const, Value
from portagpu.frontend.library.complex_functions import FUNCTIONS, complex_exp_of_cmath, polar, rect
from portagpu.frontend.operations.complex_numbers import is_complex, make, parts_of
from portagpu.ir.nodes import LogicalOp, Operation
from portagpu.ir.types import BOOLEAN, Scalar


def as_complex(ctx: FunctionState, value: Value) -> Value:
    """A number as a complex one: the functions of `cmath` take real numbers, too."""
    if not isinstance(number_type(ctx, value), Scalar):
        ctx.fail(f"a number is needed here, not {describe(ctx, value)}")
    return as_number(ctx, value) if is_complex(ctx, value) else make(ctx, value, Const(0.0))


def _function(name: str) -> Callable[[FunctionState, Call], Value]:
    def handler(ctx: FunctionState, site: Call) -> Value:
        if name == "log":
            value, base = site.bind(ctx, "cmath.log", "z", base=Const(None))
            result = call_library(ctx, FUNCTIONS[name], site, as_complex(ctx, value))
            if isinstance(base, Const) and base.value is None:
                return result
            bottom = call_library(ctx, FUNCTIONS[name], site, as_complex(ctx, base))
            return binary(ctx, ast.Div(), result, bottom)
        (value,) = site.bind(ctx, f"cmath.{name}", "z")
        function = complex_exp_of_cmath if name == "exp" else FUNCTIONS[name]
        return call_library(ctx, function, site, as_complex(ctx, value))

    return handler


for _name in FUNCTIONS:
    if hasattr(cmath, _name) and _name != "exp2":
        handles(getattr(cmath, _name))(_function(_name))


@handles(cmath.phase)
@handles(np.angle, foldable=False)  # NumPy's of small integers is a float16
def _phase(ctx: FunctionState, site: Call) -> Value:
    value, degrees = site.bind(ctx, "phase", "z", deg=Const(False))
    x, y = parts_of(ctx, as_complex(ctx, value))
    kind = float_type(ctx, x)
    angle = Operation("atan2", (convert(ctx, y, kind), convert(ctx, x, kind)), kind, span=ctx.span)
    if not isinstance(degrees, Const):
        ctx.fail("`deg` must be a constant")
    return Operation("degrees", (angle,), kind, span=ctx.span) if degrees.value else angle


@handles(cmath.polar)
def _polar(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "cmath.polar", "z")
    return call_library(ctx, polar, site, as_complex(ctx, value))


@handles(cmath.rect)
def _rect(ctx: FunctionState, site: Call) -> Value:
    length, angle = site.bind(ctx, "cmath.rect", "r", "phi")
    pair = as_number(ctx, make(ctx, length, angle))  # both in one type
    return call_library(ctx, rect, site, *parts_of(ctx, pair))


def classify(ctx: FunctionState, name: str, value: Value) -> Condition:
    """``isnan``, ``isinf`` (of either part) or ``isfinite`` (of both) of a complex number."""
    tests = [
        Operation(name, (as_number(ctx, p),), BOOLEAN, span=ctx.span) for p in parts_of(ctx, as_complex(ctx, value))
    ]
    return logical(ctx, LogicalOp.AND if name == "isfinite" else LogicalOp.OR, tests[0], tests[1])


@handles(cmath.isnan, cmath.isinf, cmath.isfinite)
def _classify(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, site.target.__name__, "z")
    return classify(ctx, site.target.__name__, value)
