"""NumPy's functions that make arrays and take device arrays: ranges between arrays, and ``like=``."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, ArgumentValueError, ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import functions
from portagpu.primitives.gathers.gathering import normal_axis
from portagpu.primitives.gathers.sequences import whole_steps
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.runtime.execution.context import Context
from portagpu.xp import creation, manipulation
from portagpu.xp.conversion import array_of, arrays_of, context_of_any

_INDEX = np.dtype(np.int64)


def _inexact(context: Context, *values: Any) -> np.dtype[Any]:
    """What arrays and numbers of ends have in common, numbers of Python's as they are: of floats or complex numbers."""
    kinds = [x if type(x) in (bool, int, float, complex) else getattr(x, "dtype", np.asarray(x).dtype) for x in values]
    kind = np.result_type(*kinds, 0.0)
    if kind.itemsize > 4 and not context.capabilities.fp64:
        return np.dtype(np.complex64 if kind.kind == "c" else np.float32)
    return kind


def _linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Numbers at equal distances between elements of arrays, along a new axis."""
    first, last = arrays_of((start, stop))
    kind = _inexact(first.context, start, stop)
    first, last = first.astype(kind, copy=False), last.astype(kind, copy=False)
    if num < 0:
        raise ShapeError(f"num= is not negative, as {num} is")
    gaps = num - 1 if endpoint else num
    apart = apply(np.subtract, last, first)
    shape = np.broadcast_shapes(first.shape, last.shape)
    steps = whole_steps(num, 0, 1, _INDEX, first.context).reshape(num, *(1,) * len(shape)).astype(kind)
    step: Any = apply(np.divide, apart, gaps) if gaps > 0 else np.nan
    found = apply(np.add, apply(np.multiply, steps, step if gaps > 0 else apart), first)
    if endpoint and num > 1:
        found[-1, ...] = last
    wanted = kind if dtype is None else np.dtype(dtype)
    if wanted.kind in "iu":
        found = apply(np.floor, found).astype(wanted if wanted.itemsize == 8 else _INDEX)  # integers wrap
    found = found.astype(wanted, copy=False)
    at = normal_axis(axis, found.ndim)
    result = manipulation.moveaxis(found, 0, at) if at else found
    return (result, step) if retstep else result


def _logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> DeviceNDArray:
    context = context_of_any(start, stop, base)
    if np.ndim(base):
        shape = np.broadcast_shapes(np.shape(start), np.shape(stop), np.shape(base))
        start = array_of(start, context).broadcast_to(shape)
        base = array_of(base, context).broadcast_to(shape)
        at = normal_axis(axis, len(shape) + 1)
        base = base.reshape((*shape[:at], 1, *shape[at:]))
    if not isinstance(stop, DeviceNDArray):
        start = array_of(start, context)  # where only the base is one
    found = apply(np.power, base, _linspace(start, stop, num, endpoint, axis=axis))
    return found if dtype is None else found.astype(dtype, copy=False)


def _geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> DeviceNDArray:
    first, last = arrays_of((start, stop))
    kind = np.result_type(first.dtype, last.dtype, creation.default_float(first.context))
    if kind.kind == "c":
        raise ArgumentTypeError("geomspace of device arrays takes real numbers")
    first, last = apply(np.multiply, first, kind.type(1)), apply(np.multiply, last, kind.type(1))
    zeros = apply(np.logical_or, apply(np.equal, first, 0), apply(np.equal, last, 0))
    if bool(functions.reduce(np.logical_or, zeros, None)):
        raise ArgumentValueError("a geometric sequence has no zero", hint="np.linspace has")
    sign = apply(np.sign, first)
    low, high = (apply(np.log10, apply(np.divide, x, sign)) for x in (first, last))
    found = apply(np.multiply, _logspace(low, high, num, endpoint), sign)
    if num > 0:
        found[0, ...] = first
        if num > 1 and endpoint:
            found[-1, ...] = last
    at = normal_axis(axis, found.ndim)
    result = manipulation.moveaxis(found, 0, at) if at else found
    return result if dtype is None else result.astype(dtype, copy=False)


register("linspace", _linspace, frozenset({"num", "endpoint", "retstep", "dtype", "axis", "device"}))
register("logspace", _logspace, frozenset({"num", "endpoint", "base", "dtype", "axis"}))
register("geomspace", _geomspace, frozenset({"num", "endpoint", "dtype", "axis"}))
