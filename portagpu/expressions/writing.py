"""Elements that are written: numbers, arrays and expressions, to new memory or into an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import DTypeError, NumberRangeError, ShapeError
from portagpu.expressions.applied import Applied, as_operand, keep
from portagpu.expressions.apply import as_operands, convert, lazy_array, result_of
from portagpu.expressions.evaluation import evaluate
from portagpu.expressions.node import Node
from portagpu.expressions.operations import conversion, operation
from portagpu.expressions.stores import write
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.checks import assignable, check_writable, host_array
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.arrays.creation import operand_array, to_device
from portagpu.runtime.arrays.layout import strides_like
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.current import current_stream

_TRUTH = np.dtype(bool)
_EASY: dict[type, str] = {bool: "biufc", int: "iufc", float: "fc", complex: "c"}  # kinds that hold them
NUMBERS = "biufc"
"""Kinds of dtypes that kernels of expressions copy as they are."""
_NUMBERS = (bool, int, float, complex, np.number, np.bool_)


def filled(
    shape: tuple[int, ...],
    number: Any,
    dtype: np.dtype[Any],
    context: Context,
    strides: tuple[int, ...] | None = None,
) -> DeviceNDArray:
    """An array of one number, which is put off: expressions that take it need no memory for it.

    ``strides``: of an array without gaps that is not in C order.
    """
    key = filled, shape, dtype, strides
    applied: Applied | None = context.applied.get(key)
    if applied is None:
        applied = keep(key, Applied(context, conversion(dtype), shape, True, strides))
    return lazy_array(Node(context, applied.operation, (as_operand(number_of(number, dtype)),), shape, None, applied))


def broadcast(
    value: Any, shape: tuple[int, ...], dtype: np.dtype[Any], context: Context, strides: tuple[int, ...] | None = None
) -> DeviceNDArray:
    """A new array that repeats the elements of an array, cast to a dtype; put off. Raises as `assign`."""
    operands = as_operands((_fitting(as_source(value, dtype, context), shape),))[0]
    return lazy_array(Node(context, conversion(dtype), operands, shape, strides=strides))


def chosen(condition: Any, x: Any, y: Any) -> DeviceNDArray:
    """``x`` where the condition is true, else ``y``: all broadcast, dtypes are promoted as NumPy does."""
    operands, kinds, shape, context = as_operands((condition, x, y))
    dtype = promoted(kinds[1:], (x, y))
    operands = tuple(_of(value, kind) for value, kind in zip(operands, (_TRUTH, dtype, dtype), strict=True))
    return lazy_array(result_of(context, operation("where", (_TRUTH, dtype, dtype), dtype), operands, shape))


def promoted(kinds: Any, values: tuple[Any, ...]) -> np.dtype[Any]:
    """The dtype that NumPy gives operands with kinds as of `as_operands`. Raises `NumberRangeError`."""
    try:  # Python's numbers adapt to the others' dtype
        return np.result_type(*(x if isinstance(kind, type) else kind for kind, x in zip(kinds, values, strict=True)))
    except OverflowError as error:
        raise NumberRangeError(f"no dtype holds these operands: {error}") from error


def _of(value: Any, dtype: np.dtype[Any]) -> Any:
    """An operand as it is chosen: Python's numbers become the dtype's or are refused, as by NumPy since 2.5."""
    return as_operand(number_of(value, dtype)) if isinstance(value, int | float | complex) else value


def part(x: DeviceNDArray, name: str, dtype: np.dtype[Any]) -> DeviceNDArray:
    """An attribute of each element: ".real" or ".imag"."""
    operands, kinds, shape, context = as_operands((x,))
    return lazy_array(result_of(context, operation(name, (kinds[0],), dtype), operands, shape))


def assign(target: DeviceNDArray, value: Any, where: DeviceNDArray | None = None) -> None:
    """``target[...] = value``: a number or a device array that broadcasts, converted whatever it holds.

    ``where``: bools; other elements stay. Raises `ShapeError`, `DTypeError` for complex numbers to become real.
    """
    check_writable(target)
    dtype, shape, context = target.dtype, target.shape, target.context
    if type(value) not in _EASY and (there := operand_array(value)) is not None:
        value = there
    if isinstance(value, DeviceNDArray):
        if value.dtype.kind == "c" and dtype.kind != "c":
            raise DTypeError(f"cannot assign {value.dtype} to {dtype}", hint="assign its .real or .imag")
        if value.context is not context:
            value = to_device(value.copy_to_host(), context=context)
        value = _fitting(value, shape)
        operand = as_operands((value,))[0][0]
    else:
        operand = number_of(value, dtype)
    if not target.size:
        return
    node = _converted(operand, dtype, shape, context)
    if where is not None:
        mask = as_operands((where, target))[0][0]
        node = Node(context, operation("where", (_TRUTH, dtype, dtype), dtype), (mask, node, target), shape)
    write(node, target, value if isinstance(value, DeviceNDArray) else None)


def _converted(operand: Any, dtype: np.dtype[Any], shape: tuple[int, ...], context: Context) -> Node:
    return Node(context, conversion(dtype), (as_operand(operand),), shape)


def place(target: DeviceNDArray, value: DeviceNDArray) -> None:
    """Write an array, which broadcasts, into a part of new memory: nothing that is put off reads what was there."""
    context = target.context
    if not target.size:
        return
    with context.unsettled:
        if value.deferred is None and value.dtype == target.dtype:
            source = value._broadcast(target.shape)
            if target.dtype.kind not in NUMBERS or target.align or is_one_copy(source, target):
                copy_strided(source, target, current_stream(context))
                return
        operand = as_operands((value,))[0][0]
        evaluate(_converted(operand, target.dtype, target.shape, context), into=target)


def is_one_copy(source: DeviceNDArray, target: DeviceNDArray) -> bool:
    """Whether elements lie alike and side by side, so that the driver copies them as bytes."""
    return source.layout == target.layout and source.layout != "A"


def rolled(x: DeviceNDArray, shifts: tuple[int, ...]) -> DeviceNDArray | None:
    """An array's elements moved along each axis as along a ring; put off, so that expressions read them where they are.

    None for elements that kernels do not know as they are.
    """
    if x.dtype.kind not in NUMBERS:
        return None
    source, first = x, tuple(-by % extent if extent else 0 for by, extent in zip(shifts, x.shape, strict=True))
    node = None if x.deferred is None else x.deferred.node  # type: ignore[attr-defined]
    if node is not None and node.result is None and node.shifts is not None:
        source = node.operands[0]
        first = tuple((a + b) % max(n, 1) for a, b, n in zip(first, node.shifts, x.shape, strict=True))
    source.buffer  # noqa: B018 - its elements are read more than once
    if source.align:
        return None
    strides = None if x.layout == "C" else strides_like(x.shape, x.strides, x.itemsize)
    return lazy_array(Node(x.context, conversion(x.dtype), (source,), x.shape, first, strides=strides))


def number_of(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number as a NumPy scalar of a dtype. Raises `DTypeError`, `NumberRangeError` where the dtype cannot hold it."""
    if type(value) in _EASY and dtype.kind in _EASY[type(value)]:
        try:
            return dtype.type(value)
        except OverflowError as error:
            raise NumberRangeError(f"cannot assign this {type(value).__name__} to {dtype}: {error}") from error
    return assignable(value, dtype, ())[()]


def element_of(value: Any, dtype: np.dtype[Any]) -> Any:
    """The same as ``x[i] = value`` converts it: NumPy's scalars, too, are refused out of range.

    Raises as `number_of`.
    """
    return (
        assignable(value, dtype, (), to_elements=True)[()] if isinstance(value, np.generic) else number_of(value, dtype)
    )


def is_number(value: Any) -> bool:
    """Whether a value is a single number on the host."""
    return isinstance(value, _NUMBERS) or (
        isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind != "O"
    )


def as_source(value: Any, dtype: np.dtype[Any], context: Context) -> DeviceNDArray:
    """A value as a device array of a dtype. Raises `DTypeError`, `ArgumentTypeError`."""
    if type(value) not in _EASY and (there := operand_array(value)) is not None:
        value = there
    if isinstance(value, DeviceNDArray):
        if value.dtype.kind == "c" and dtype.kind != "c":
            raise DTypeError(f"cannot assign {value.dtype} to {dtype}", hint="assign its .real or .imag")
        if value.context is not context:
            value = to_device(value.copy_to_host(), context=context)
        return value if value.dtype == dtype else convert(value, dtype)
    host = host_array(value)
    return to_device(assignable(value, dtype, host.shape), context=context)


def _fitting(value: DeviceNDArray, shape: tuple[int, ...]) -> DeviceNDArray:
    """A value that broadcasts to a shape; axes of one element in front of it may go, as in NumPy's assignments."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value.reshape(value.shape[1:])
    try:
        fits = np.broadcast_shapes(value.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"could not broadcast input array from shape {value.shape} into shape {shape}")
    return value
