"""CUDA-Python's error texts beside ours, for programs and searches that look for them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import numpy as np

from portagpu import dtypes
from portagpu.frontend.core.convert import describe, number_type
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, TupleValue, Value
from portagpu.frontend.operations.environment import tuple_items
from portagpu.ir.types import Scalar

ENDLESS = "in numba-cuda: cannot type infer runaway recursion"
GROWING = "in numba-cuda: Return type of recursive function does not converge"


def no_implementation(ctx: FunctionState, name: str, arguments: Mapping[str, Value]) -> str:
    """Of a function of ``cuda`` that takes no such arguments, given by keyword."""
    shown = ", ".join(f"{key}={type_name(ctx, value)}" for key, value in arguments.items())
    called = f"{name.rpartition('.')[2]}({shown})"
    function = f"Function(<function {name.removeprefix('cuda.')}>)"
    return f"in numba-cuda: No implementation of function {function} found for signature:\n \n >>> {called}"


def invalid_use(ctx: FunctionState, name: str, values: Sequence[Value]) -> str:
    """Of a device function none of whose signatures fits."""
    given = ", ".join(_unliteral(ctx, value) for value in values)
    return f"in numba-cuda: Invalid use of type(CUDADispatcher(<function {name}>)) with parameters ({given})"


def untyped(ctx: FunctionState, node: ast.AST) -> tuple[str, ...]:
    """Of the variable that a value without a type is assigned to, if there is one."""
    assigned = (n for n in ast.walk(ctx.source.tree) if isinstance(n, ast.Assign) and n.value is node)
    names = [target.id for n in assigned for target in n.targets if isinstance(target, ast.Name)]
    return tuple(f"in numba-cuda: Cannot infer the type of variable '{name}'" for name in names)


def undefined(name: str) -> str:
    """Of a name that has no value."""
    return f"in numba-cuda: NameError: name '{name}' is not defined"


def callee(name: str) -> str:
    """Of a device function in which something is not defined."""
    return f"in numba-cuda: During: resolving callee type: type(CUDADispatcher(<function {name}>))"


def type_name(ctx: FunctionState, value: Value) -> str:
    """The name that numba-cuda's messages have for a value's type."""
    if isinstance(value, Const):
        if isinstance(value.value, bool | int | str):
            return f"Literal[{type(value.value).__name__}]({value.value})"
        dtype = dtypes.parse(value.value) if isinstance(value.value, type | np.dtype | dtypes.Named) else None
        if dtype is not None:
            return f"class({dtype})"
    if isinstance(value, TupleValue) or (isinstance(value, Const) and isinstance(value.value, tuple)):
        names = [type_name(ctx, item) for item in tuple_items(ctx, value)]
        if len(names) > 1 and len(set(names)) == 1:
            return f"UniTuple({names[0]} x {len(names)})"
        return f"Tuple({', '.join(names)})"
    return _unliteral(ctx, value)


def _unliteral(ctx: FunctionState, value: Value) -> str:
    """The same, where constants have the type of their values."""
    if isinstance(value, ArrayValue) and value.record is None:
        return f"array({value.element}, {value.ndim}d, {value.layout.value})"
    kind = number_type(ctx, value)
    if isinstance(kind, Scalar):
        return str(kind.dtype)
    return describe(ctx, value) if kind is None else str(kind)
