"""Calls: dispatch to device functions, Python's builtins, `math`, NumPy and the intrinsics of the dialect."""

from __future__ import annotations

import ast
import builtins
import difflib
import inspect
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from portagpu import dtypes
from portagpu.dialect.names import Intrinsic, VectorMaker
from portagpu.dtypes import BFLOAT16, DType
from portagpu.errors import KernelTypeError, UnsupportedSyntaxError
from portagpu.frontend.core.convert import as_number, constant, convert, describe, number_type
from portagpu.frontend.core.operators import fold
from portagpu.frontend.core.registry import FOLDABLE, INTRINSICS, METHODS, NUMBER_METHODS, ON_ARRAYS, TABLE, Call
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import (
    ArrayValue,
    Const,
    FunctionValue,
    MethodValue,
    OptionalValue,
    TupleValue,
    Value,
    constants,
    is_expr,
)
from portagpu.frontend.source.callables import DeviceCallable, PythonFunction, undecorated
from portagpu.ir.nodes import MakeVector, Operation
from portagpu.ir.types import INT, PYINT_NARROW, WARP, Scalar, Vector


def takes_optional(function: Value) -> bool:
    """Whether a callee's parameters may be None on some paths and numbers on others."""
    if isinstance(function, FunctionValue):
        return True
    target = function.value if isinstance(function, Const) else None
    return isinstance(target, DeviceCallable) and target.is_device_function and not target.declared


def call(ctx: FunctionState, site: Call) -> Value:
    """Lower a call."""
    function = site.function
    if isinstance(function, MethodValue):
        if isinstance(function.owner, ArrayValue) and function.name in METHODS:
            return METHODS[function.name](ctx, function.owner, site)
        if function.name in NUMBER_METHODS and number_type(ctx, function.owner) is not None:
            return NUMBER_METHODS[function.name](ctx, function.owner, site)
        ctx.fail(f"the method `{function.name}` cannot be called in a kernel", kind=UnsupportedSyntaxError)
    if isinstance(function, FunctionValue):
        return ctx.program.lower_call(ctx, function.function.of(function), site)
    if not isinstance(function, Const):
        ctx.fail(f"{describe(ctx, function)} cannot be called")
    target = function.value
    if isinstance(target, Intrinsic):
        return _intrinsic(ctx, target, site)
    if isinstance(target, VectorMaker):
        return make_vector(ctx, target, site)
    if isinstance(target, DeviceCallable):
        return ctx.program.lower_call(ctx, target, site)
    foreign = undecorated(target)
    if foreign is not target:
        return ctx.program.lower_call(ctx, PythonFunction(foreign), site)
    try:
        handler = TABLE.get(target)
    except TypeError:
        handler = None
    constant = all(isinstance(a, Const) for a in (*site.args, *site.keywords.values()))
    if constant and _is_number_method(target):
        return _fold(ctx, target, site)
    if isinstance(target, np.ufunc) and any(isinstance(a, ArrayValue) for a in (*site.args, *site.keywords.values())):
        return ON_ARRAYS[np.ufunc](ctx, site)
    if handler is not None:
        if constant and target in FOLDABLE and not _raises(target, site) and not _chooses_a_dtype(target, site):
            return _fold(ctx, target, site)
        return handler(ctx, site)
    if isinstance(target, type) and issubclass(target, tuple) and hasattr(target, "_fields"):
        return _namedtuple(ctx, target, site)
    dtype = None if isinstance(target, str) else dtypes.parse(target)
    if dtype is not None:
        if constant and not isinstance(target, np.dtype) and dtype is not BFLOAT16 and not _wraps(dtype, site):
            return _fold(ctx, target, site)
        (value,) = site.bind(ctx, dtype.name, "x")
        return convert(ctx, value, Scalar(dtype), explicit=True)
    _unknown(ctx, target, constant, site)


def _is_number_method(target: Any) -> bool:
    """Whether this is a method of a constant, such as ``(1 + 2j).conjugate``."""
    owner = getattr(target, "__self__", None)
    return isinstance(owner, int | float | complex | np.number) and target.__name__ in NUMBER_METHODS


def _chooses_a_dtype(target: Any, site: Call) -> bool:
    """Whether Python's result has another dtype than that of variables: for `min` and `max` that of one argument, where
    variables meet in one of all, and for `round` with digits NumPy's, where variables give an int64."""
    values = constants(site.args) or []
    if target is round:
        return len(values) + len(site.keywords) == 2 and isinstance(values[0], np.integer)
    if target is not min and target is not max:
        return False
    if len(values) == 1 and isinstance(values[0], tuple):
        values = list(values[0])
    return any(isinstance(value, np.generic) for value in values)


def _raises(target: Any, site: Call) -> bool:
    """Whether a function of constants raises where the device's has a result, as ``math.sqrt(-1.0)``.

    `math.nextafter` and `math.ulp` of a float32 step by float64's in Python.
    """
    of_python = getattr(target, "__module__", None) in ("math", "cmath")
    if not of_python and not isinstance(target, np.ufunc):
        return False
    args = constants(site.args) or []
    if of_python and target.__name__ in ("nextafter", "ulp") and any(isinstance(a, np.floating) for a in args):
        return True
    try:
        with np.errstate(all="ignore"):
            target(*_numbers(target, args))
    except Exception:  # of a mistake, the device function's lowering reports
        return True
    return False


def _numbers(target: Any, args: list[Any]) -> list[Any]:
    """Arguments of a folded call. Functions of `math` are exact of Python's integers; bools are integers."""
    if isinstance(target, np.ufunc):
        return args
    exact = np.integer | np.bool_ if getattr(target, "__module__", None) == "math" else np.bool_
    return [a.item() if isinstance(a, exact) else a for a in args]


def _wraps(dtype: DType, site: Call) -> bool:
    """Whether an integer wraps around in a conversion, as ``np.uint8(-1)``, where NumPy's own raises on the host."""
    value = site.args[0].value if len(site.args) == 1 and isinstance(site.args[0], Const) else None
    if type(value) is not int or not dtype.is_integer:
        return False
    low, high = dtypes.integer_range(dtype)
    return not low <= value <= high


def _fold(ctx: FunctionState, target: Any, site: Call) -> Value:
    args = constants(site.args) or []
    keywords = {k: v.value for k, v in site.keywords.items() if isinstance(v, Const)}
    name = getattr(target, "__name__", "the call")
    numbers = _numbers(target, args)
    folded = fold(ctx, lambda: target(*numbers, **keywords), what=f"{name}({', '.join(map(repr, args))})")
    if isinstance(target, np.ufunc) and not keywords and _narrow(folded.value, args):
        return fold(ctx, lambda: target(*args, dtype=ctx.program.py_float.dtype.numpy))
    return folded


def _narrow(result: Any, args: list[Any]) -> bool:
    """Whether a function of integers is a float16 or float32 in NumPy and a Python float in kernels."""
    part = result[0] if isinstance(result, tuple) else result
    return isinstance(part, np.float16 | np.float32) and not any(isinstance(a, np.inexact | float) for a in args)


def _intrinsic(ctx: FunctionState, target: Intrinsic, site: Call) -> Value:
    handler = INTRINSICS.get(target.name)
    if handler is None:
        ctx.fail(f"cuda.{target.name} is a value, not a function", hint=f"write cuda.{target.name} without parentheses")
    return handler(ctx, site)


def _namedtuple(ctx: FunctionState, target: Any, site: Call) -> Value:
    defaults = {name: Const(value) for name, value in target._field_defaults.items()}
    required = [name for name in target._fields if name not in defaults]
    return TupleValue(tuple(site.bind(ctx, target.__name__, *required, **defaults)), target._fields)


def _unknown(ctx: FunctionState, target: Any, constant: bool, site: Call) -> NoReturn:
    name = getattr(target, "__qualname__", None) or repr(target)
    module = getattr(target, "__module__", None)
    plain = module in (None, "builtins", "__main__") or getattr(builtins, name, None) is target
    shown = name if plain else f"{module}.{name}"
    hint = _instead(target, name, module)
    if hint is not None:
        ctx.fail(f"`{shown}` cannot be used in a kernel", kind=UnsupportedSyntaxError, hint=hint)
    if callable(target) and hasattr(target, "__code__") and not hasattr(target, "__wrapped__"):
        ctx.fail(
            f"`{shown}` is a plain Python function",
            kind=KernelTypeError,
            hint="decorate it with @cuda.jit(device=True) to call it from kernels",
        )
    if isinstance(target, np.ufunc) or module in ("numpy", "math"):
        similar = _similar(getattr(target, "__name__", ""))
        ctx.fail(
            f"`{shown}` cannot be used in a kernel",
            kind=UnsupportedSyntaxError,
            hint=f"`{similar}` can" if similar else "the math module's functions and NumPy's elementwise ones can",
        )
    if not callable(target):
        ctx.fail(f"{describe(ctx, Const(target))} cannot be called")
    called = site.node.func
    untyped = f"Untyped global name '{called.id}': " if isinstance(called, ast.Name) else ""
    ctx.fail(
        f"{untyped}`{shown}` cannot be called in a kernel",
        kind=UnsupportedSyntaxError,
        hint="kernels call device functions, Python's numeric builtins, math, NumPy's elementwise functions and cuda.*",
    )


_MAKERS = frozenset(
    """
    array asarray asanyarray ascontiguousarray empty zeros ones full empty_like zeros_like ones_like full_like arange
    linspace eye identity copy fromiter
    """.split()
)
_STACKS = frozenset(
    {"concatenate", "stack", "hstack", "vstack", "tile", "repeat", "sort", "argsort", "unique", "where"}
)


def _instead(target: Any, name: str, module: str | None) -> str | None:
    """What kernels have in place of functions that cannot be there."""
    owner = getattr(target, "__self__", None)
    if type(owner).__module__ in ("random", "numpy.random.mtrand", "numpy.random._generator") or module == "random":
        return "random numbers come from states: portagpu.cuda.random, e.g. xoroshiro128p_uniform_float32(states, i)"
    if module == "time" or getattr(owner, "__name__", None) == "time":
        return "kernels have no clock: measure with events, cuda.event_elapsed_time(start, end)"
    if module == "numpy" or target is np.array:
        if name in _MAKERS:
            return "use cuda.local.array(shape, dtype) or cuda.shared.array(shape, dtype), and a loop that sets it"
        if name in _STACKS:
            return "kernels make no new arrays: write a loop into an array argument or cuda.local.array(shape, dtype)"
    if target in (list, dict, set, bytearray):
        return "kernels have no such objects: use a tuple, or cuda.local.array(shape, dtype)"
    return None


def _similar(name: str) -> str | None:
    """The function that kernels can call whose name is closest, with its module."""
    known = {str(getattr(k, "__name__", "")): k for k in reversed(TABLE)}
    close = difflib.get_close_matches(name, known, n=1)
    if not close:
        return None
    found = known[close[0]]
    module = "numpy" if isinstance(found, np.ufunc) else getattr(found, "__module__", None)
    return close[0] if module in (None, "builtins") else f"{module}.{close[0]}"


_AXES = "xyz"


def value_of(ctx: FunctionState, name: str) -> Value | None:
    """Value of an intrinsic that is used without a call, such as ``cuda.threadIdx.x``; None if it is a function."""
    group, _, axis = name.partition(".")
    if group in ("threadIdx", "blockIdx", "blockDim", "gridDim") and axis in _AXES:
        return Operation(f"{group}", (constant(ctx, _AXES.index(axis), INT),), PYINT_NARROW, span=ctx.span)
    if name == "laneid":
        return Operation("laneid", (), PYINT_NARROW, span=ctx.span)
    if name == "warpsize":
        return Const(WARP)
    return None


def make_vector(ctx: FunctionState, maker: VectorMaker, site: Call) -> Value:
    """``cuda.float32x4(a, b, c, d)``, ``cuda.float32x4(scalar)``; vectors among the lanes are spliced."""
    kind = Vector(maker.dtype, maker.lanes)
    lane = Scalar(maker.dtype)
    if site.keywords:
        ctx.fail(f"{maker} takes lanes by position")
    if len(site.args) == 1:
        return convert(ctx, site.args[0], kind, explicit=True)
    items = []
    count = 0
    for value in site.args:
        found = number_type(ctx, value)
        if found is None:
            ctx.fail(f"a lane of {maker} must be a number, not {describe(ctx, value)}")
        if isinstance(found, Vector):
            if found.dtype is not maker.dtype:
                ctx.fail(f"{found} cannot be part of {maker}", hint="convert it first")
            items.append(as_number(ctx, value))
            count += found.lanes
        else:
            items.append(convert(ctx, value, lane, explicit=True))
            count += 1
    if count != maker.lanes:
        ctx.fail(f"{maker} needs {maker.lanes} lanes (or one number for all), {count} given")
    return MakeVector(tuple(items), kind, span=ctx.span)


def bind_parameters(ctx: FunctionState, callee: DeviceCallable, site: Call) -> list[Value]:
    """Arguments of a device function in the order of its parameters, with its defaults. Raises `KernelTypeError`."""
    signature = callee.signature
    name, names = callee.__name__, list(signature.parameters)
    try:
        bound = signature.bind(*site.args, **site.keywords)
    except TypeError as error:
        given = len(site.args) + len(site.keywords)
        ctx.fail(
            f"{name}({', '.join(names)}) takes {len(names)} arguments, {given} given: {error}",
            hint=f"call it as {name}({', '.join(names)})",
        )
    return [_bound(bound.arguments, n, p) for n, p in signature.parameters.items()]


def _bound(given: Mapping[str, Any], name: str, parameter: inspect.Parameter) -> Value:
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return TupleValue(tuple(given.get(name, ())))
    return given[name] if name in given else _default(parameter.default)


def _default(value: Any) -> Value:
    kinds = Const | ArrayValue | TupleValue | OptionalValue | FunctionValue
    return value if isinstance(value, kinds) or is_expr(value) else Const(value)
