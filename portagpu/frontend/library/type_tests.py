"""`isinstance` and `type`: decided at compile time, as every value has one type."""

from __future__ import annotations

import ast
import types
from typing import Any

import numpy as np

from portagpu.dialect.names import VectorMaker
from portagpu.dtypes import BOOL, INT64
from portagpu.errors import KernelValueError
from portagpu.frontend.core.convert import describe, number_type
from portagpu.frontend.core.registry import Call, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, TupleValue, Value
from portagpu.frontend.operations.comparisons import compare
from portagpu.ir.types import Element, Scalar, Vector


@handles(isinstance, foldable=False)
def _isinstance(ctx: FunctionState, site: Call) -> Value:
    value, wanted = site.bind(ctx, "isinstance", "x", "class_or_tuple")
    return Const(any(_is_of(ctx, value, cls) for cls in _classes(ctx, wanted)))


@handles(type, foldable=False)
def _type(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "type", "x")
    if isinstance(value, Const):
        return Const(type(value.value))
    kind = number_type(ctx, value)
    if isinstance(kind, Scalar):
        return Const(_python_type(kind) if kind.weak or kind.dtype is BOOL else kind.dtype.numpy.type)
    if isinstance(value, ArrayValue):
        return Const(np.void if value.record is not None else np.ndarray)
    if isinstance(value, TupleValue) and not value.fields:
        return Const(tuple)
    ctx.fail(f"the type of {describe(ctx, value)} is no Python class", hint="compare with isinstance(x, ...)")


def _python_type(kind: Scalar) -> type:
    if kind.dtype is BOOL:
        return bool
    return complex if kind.dtype.is_complex else float if kind.dtype.is_float else int


@handles(np.isnat, foldable=False)
def _isnat(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "np.isnat", "x")
    if number_type(ctx, value) != Scalar(INT64):
        ctx.fail(f"np.isnat takes a date or a span of time, not {describe(ctx, value)}")
    return compare(ctx, ast.Eq(), value, Const(np.int64(-(2**63))))


def _classes(ctx: FunctionState, wanted: Value) -> list[Any]:
    """The classes that `isinstance` is asked for: one, a tuple, or a union."""
    if isinstance(wanted, TupleValue):
        return [cls for item in wanted.items for cls in _classes(ctx, item)]
    given = wanted.value if isinstance(wanted, Const) else None
    if isinstance(given, tuple | types.UnionType):
        items = given if isinstance(given, tuple) else given.__args__
        return [cls for item in items for cls in _classes(ctx, Const(item))]
    if isinstance(given, type | VectorMaker):
        return [given]
    ctx.fail(
        f"isinstance takes a class or a tuple of classes, not {describe(ctx, wanted)}",
        hint="write isinstance(x, (int, np.integer)), isinstance(x, np.ndarray) and the like",
    )


def _is_of(ctx: FunctionState, value: Value, cls: Any) -> bool:
    kind = number_type(ctx, value)
    if isinstance(cls, VectorMaker):
        return isinstance(kind, Vector) and (kind.dtype, kind.lanes) == (cls.dtype, cls.lanes)
    if kind is not None:
        return _number_is_of(kind, cls) or (isinstance(value, Const) and isinstance(value.value, cls))
    if isinstance(value, Const):
        return isinstance(value.value, cls)
    if isinstance(value, ArrayValue):
        return issubclass(np.void if value.record is not None else np.ndarray, cls)
    if isinstance(value, TupleValue):
        fields = getattr(cls, "_fields", None)
        return issubclass(tuple, cls) or (issubclass(cls, tuple) and fields == value.fields != ())
    return False


def _number_is_of(kind: Element, cls: type) -> bool:
    """As in the original, numbers of every width are instances of Python's class, and Python's of NumPy's."""
    if not isinstance(kind, Scalar):
        return False
    return issubclass(kind.dtype.numpy.type, cls) or issubclass(_python_type(kind), cls)


@handles(np.iinfo, np.finfo)
def _limits(ctx: FunctionState, site: Call) -> Value:
    """Only reached with an argument that is no constant: Python evaluates the others."""
    (value,) = site.bind(ctx, site.target.__name__, "dtype")
    ctx.fail(
        f"np.{site.target.__name__} needs a dtype, not {describe(ctx, value)}",
        kind=KernelValueError,
        hint=f"for example np.{site.target.__name__}(x.dtype).max",
    )
