"""Lowering of Python's builtins."""

from __future__ import annotations

import ast
import builtins
import math
import operator
from collections.abc import Callable

import numpy as np

from portagpu.dtypes import BOOL, Kind
from portagpu.errors import KernelValueError
from portagpu.frontend.arrays.attributes import shape_of
from portagpu.frontend.core.conditions import logical
from portagpu.frontend.core.convert import as_number, common_type, convert, describe, number_type, truth, typed_number
from portagpu.frontend.core.operators import binary, fold, is_narrow
from portagpu.frontend.core.registry import Call, call_library, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import (
    ArrayValue,
    Condition,
    Const,
    EnumerateValue,
    PlacesValue,
    RangeValue,
    TupleValue,
    Value,
    ZipValue,
    constants,
)
from portagpu.frontend.library.array_builtins import of_array
from portagpu.frontend.library.integer_functions import power_modulo
from portagpu.frontend.library.operands import integer_result, scalar
from portagpu.frontend.operations.complex_numbers import modulus
from portagpu.frontend.operations.environment import tuple_items
from portagpu.ir.nodes import LogicalOp, Operation
from portagpu.ir.types import PYINT, PYINT_NARROW, Scalar
from portagpu.package_stamp import is_of_package


@handles(len)
def _len(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "len", "x")
    if isinstance(value, ArrayValue) and value.ndim:
        return shape_of(ctx, value)[0]
    if isinstance(value, TupleValue):
        return Const(len(value.items))
    ctx.fail(f"{describe(ctx, value)} has no len()")


@handles(range, foldable=False)
def _range(ctx: FunctionState, site: Call) -> Value:
    if site.keywords or not 1 <= len(site.args) <= 3:
        ctx.fail("range takes one to three arguments: range(stop), range(start, stop) or range(start, stop, step)")
    bounds = tuple(_bound(ctx, value) for value in site.args)
    names_dtype = len(bounds) > 1 and isinstance(bounds[0], Const) and isinstance(bounds[0].value, np.integer)
    if not names_dtype:
        by_one = len(bounds) < 3 or (isinstance(bounds[2], Const) and bounds[2].value in (-1, 1))
        bounds = tuple(_python_integer(ctx, v, narrow=by_one) for v in bounds)  # other steps may lead beyond 32 bits
    values = constants(bounds)
    if values is not None and all(type(v) is int for v in values):
        if len(values) == 3 and values[2] == 0:
            ctx.fail("range's step must not be zero")
        return Const(range(*values))
    start: Value = bounds[0] if len(bounds) > 1 else Const(0)
    stop = bounds[1] if len(bounds) > 1 else bounds[0]
    step = bounds[2] if len(bounds) > 2 else Const(1)
    if isinstance(step, Const) and step.value == 0:
        ctx.fail("range's step must not be zero")
    return RangeValue(start, stop, step)


def _bound(ctx: FunctionState, value: Value) -> Value:
    """An argument of `range`. Floats lose their fraction, as in the original: programs say ``range(n / 2)``."""
    kind = number_type(ctx, value)
    if not isinstance(kind, Scalar) or kind.dtype.is_complex:
        ctx.fail(
            f"range needs integers, not {describe(ctx, value)}",
            hint="convert with int(x), or use `//` for division",
        )
    if not kind.dtype.is_inexact:
        return value
    if isinstance(value, Const) and math.isfinite(value.value):
        return Const(int(value.value))
    return convert(ctx, value, PYINT, explicit=True)


def _python_integer(ctx: FunctionState, value: Value, *, narrow: bool = True) -> Value:
    """An integer as one of Python's, whose sums and products do not wrap around where those of its dtype do.

    Those of 64 bits stay: Python's integers have no more. ``narrow``: 32 bits are enough for those that they hold. The
    package's own kernels count in the dtype of their sizes, which the launch chooses so that nothing wraps around.
    """
    kind = number_type(ctx, value)
    if not isinstance(kind, Scalar) or kind.weak or is_of_package(ctx.source.function):
        return value
    if isinstance(value, Const):
        return Const(int(value.value))
    if kind.dtype.size == 8:
        return value
    fits = narrow and np.can_cast(kind.dtype.numpy, np.int32)
    return convert(ctx, value, PYINT_NARROW if fits else PYINT, explicit=True)


@handles(enumerate, foldable=False)
def _enumerate(ctx: FunctionState, site: Call) -> Value:
    iterable, start = site.bind(ctx, "enumerate", "iterable", start=Const(0))
    return EnumerateValue(iterable, _python_integer(ctx, start))


@handles(zip, foldable=False)
def _zip(ctx: FunctionState, site: Call) -> Value:
    for keyword in site.keywords:
        if keyword != "strict":
            ctx.fail(f"zip got an unexpected argument `{keyword}`", hint="call it as zip(a, b, strict=False)")
    strict = site.keywords.get("strict")
    lengths = {len(v.items) for v in site.args if isinstance(v, TupleValue)}
    lengths |= {len(v.value) for v in site.args if isinstance(v, Const) and isinstance(v.value, tuple | range)}
    if isinstance(strict, Const) and strict.value and len(lengths) > 1:  # lengths of arrays are not known here
        ctx.fail(f"zip(strict=True) of {' and '.join(map(str, sorted(lengths)))} items", kind=KernelValueError)
    return ZipValue(site.args)


@handles(np.ndindex, foldable=False)
def _ndindex(ctx: FunctionState, site: Call) -> Value:
    extents = site.args
    if site.keywords:
        ctx.fail("np.ndindex takes no keywords", hint="call it as np.ndindex(a.shape) or np.ndindex(n, m)")
    if len(extents) == 1 and number_type(ctx, extents[0]) is None:
        extents = tuple_items(ctx, extents[0])
    return PlacesValue(tuple(_python_integer(ctx, extent) for extent in extents))


@handles(np.ndenumerate, foldable=False)
def _ndenumerate(ctx: FunctionState, site: Call) -> Value:
    (array,) = site.bind(ctx, "np.ndenumerate", "arr")
    if not isinstance(array, ArrayValue):
        ctx.fail(f"np.ndenumerate takes an array, not {describe(ctx, array)}")
    return PlacesValue(shape_of(ctx, array), array)


@handles(tuple)
def _tuple(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "tuple", "x")
    return TupleValue(tuple_items(ctx, value))


@handles(int)
def _int(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "int", "x")
    return convert(ctx, scalar(ctx, value), integer_result(ctx, value), explicit=True)


@handles(float)
def _float(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "float", "x")
    return convert(ctx, scalar(ctx, value), ctx.program.py_float, explicit=True)


@handles(bool, np.bool_, operator.truth)
def _bool(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "bool", "x")
    return truth(ctx, scalar(ctx, value))


@handles(abs, operator.abs, np.abs, np.absolute, np.fabs, math.fabs)
def _abs(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "abs", "x")
    number, kind = typed_number(ctx, value)
    if kind.dtype.is_complex:
        if site.target in (math.fabs, np.fabs):
            ctx.fail(f"fabs needs a real number, not {describe(ctx, value)}", hint="use abs(x)")
        return modulus(ctx, number)
    if site.target in (math.fabs, np.fabs) and not kind.dtype.is_float:
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
            if isinstance(values[0], ArrayValue):
                return of_array(ctx, name, site, values[0])
            values = tuple_items(ctx, values[0])
        if site.keywords or not values:
            ctx.fail(f"{name} needs at least one number and no keywords")
        result = values[0]
        for value in values[1:]:
            if isinstance(result, Const) and isinstance(value, Const):
                result = _constant_extreme(ctx, name, result, value)
                continue
            kind = common_type(ctx, result, value)
            if kind.dtype.is_complex:
                ctx.fail(f"{name} of complex numbers, which have no order", hint="compare abs(x), x.real or x.imag")
            if kind == PYINT and is_narrow(ctx, result) and is_narrow(ctx, value):
                kind = PYINT_NARROW
            kind = PYINT if kind.dtype is BOOL else kind
            result = Operation(name, (convert(ctx, result, kind), convert(ctx, value, kind)), kind, span=ctx.span)
        return result

    return handler


def _constant_extreme(ctx: FunctionState, name: str, one: Const, other: Const) -> Const:
    """One of two constants, in the dtype in which variables of their types meet: Python keeps that of the one."""
    chosen = fold(ctx, getattr(builtins, name), one.value, other.value, what=f"{name} of constants")
    if not any(isinstance(value.value, np.generic) for value in (one, other)):
        return chosen
    kind = common_type(ctx, one, other)
    for value in (one, other):
        convert(ctx, value, kind)  # refuses what does not fit
    if kind.dtype is BOOL:
        return Const(int(chosen.value))
    if isinstance(kind, Scalar) and kind.weak:
        return Const(float(chosen.value) if kind.dtype.kind is Kind.FLOAT else int(chosen.value))
    return Const(kind.dtype.numpy.type(chosen.value))


handles(min)(_extreme("min"))
handles(max)(_extreme("max"))


@handles(pow, np.power, foldable=True)
def _pow(ctx: FunctionState, site: Call) -> Value:
    left, right, modulus = site.bind(ctx, "pow", "x", "y", mod=Const(None))
    if isinstance(modulus, Const) and modulus.value is None:
        return binary(ctx, ast.Pow(), left, right)
    kind = common_type(ctx, left, modulus)
    if kind.dtype.is_inexact or common_type(ctx, right, modulus).dtype.is_inexact:
        ctx.fail("pow with a modulus needs integers")
    numbers = (convert(ctx, left, kind), as_number(ctx, right), convert(ctx, modulus, kind))
    return call_library(ctx, power_modulo, site, *numbers)


@handles(divmod, np.divmod)
def _divmod(ctx: FunctionState, site: Call) -> Value:
    left, right = site.bind(ctx, "divmod", "x", "y")
    held = [v if isinstance(v, Const) else ctx.temp(as_number(ctx, v)) for v in (left, right)]
    return TupleValue((binary(ctx, ast.FloorDiv(), held[0], held[1]), binary(ctx, ast.Mod(), held[0], held[1])))


@handles(sum)
def _sum(ctx: FunctionState, site: Call) -> Value:
    values, total = site.bind(ctx, "sum", "tuple", start=Const(0))
    if isinstance(values, ArrayValue):
        return of_array(ctx, "sum", site, values, total)
    for value in tuple_items(ctx, values):
        total = binary(ctx, ast.Add(), total, value)
    return total


@handles(math.prod)
def _prod(ctx: FunctionState, site: Call) -> Value:
    values, total = site.bind(ctx, "math.prod", "tuple", start=Const(1))
    for value in tuple_items(ctx, values):
        total = binary(ctx, ast.Mult(), total, value)
    return total


@handles(any, all)
def _any_all(ctx: FunctionState, site: Call) -> Value:
    (values,) = site.bind(ctx, "any/all", "tuple")
    is_any = site.target is any
    if isinstance(values, ArrayValue):
        return of_array(ctx, "any" if is_any else "all", site, values)
    result: Condition = Const(not is_any)
    for value in tuple_items(ctx, values):
        result = logical(ctx, LogicalOp.OR if is_any else LogicalOp.AND, result, truth(ctx, value))
    return result


@handles(np.dtype)
def _dtype(ctx: FunctionState, site: Call) -> Value:
    ctx.fail("np.dtype takes constants in a kernel", hint='write the name of the type: np.dtype("float32")')
