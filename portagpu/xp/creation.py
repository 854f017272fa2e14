"""Creation functions of the array API standard."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, DTypeError, MemoryNotSharedError, NumberRangeError, ShapeError
from portagpu.expressions.apply import apply, convert
from portagpu.expressions.writing import broadcast, chosen, filled
from portagpu.primitives.gathers.sequences import band, steps, whole_steps
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.checks import assignable, host_array
from portagpu.runtime.arrays.creation import from_dlpack as _from_dlpack
from portagpu.runtime.arrays.creation import operand_array, to_device
from portagpu.runtime.arrays.layout import checked_dtype, checked_shape, strides_as
from portagpu.runtime.execution.context import Context
from portagpu.ufuncs.operands import array_of, arrays_of
from portagpu.xp.devices import context_on

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

_INT = np.dtype(np.int64)
_NUMBERS = (bool, int, float, complex, np.generic)
_FAR = 2**62  # beyond all diagonals
_MOST_INT = 2**63 - 1


def default_float(context: Context) -> np.dtype[Any]:
    """float64, or float32 on devices without it."""
    return np.dtype(np.float64 if context.capabilities.fp64 else np.float32)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> DeviceNDArray:
    """``start``, ``start + step`` ... before ``stop``: of int64 for whole numbers, else of the default float dtype."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ShapeError("the step of arange is not 0")
    context = context_on(device)
    are_whole = all(isinstance(x, int | np.integer) for x in (start, stop, step))
    if are_whole:
        count = len(range(int(start), int(stop), int(step)))
    else:
        count = max(0, math.ceil((stop - start) / step))
    kind = (_INT if are_whole else default_float(context)) if dtype is None else checked_dtype(dtype)
    if kind.kind not in "iuf":
        raise DTypeError(f"arange makes real numbers, not {kind}")
    if are_whole and kind.kind in "iu":
        return whole_steps(count, int(start), int(step), kind, context)
    computed = default_float(context).type
    first, second = computed(start), computed(start + step)
    return steps(count, first, second - first, kind, context)


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> DeviceNDArray:
    """``num`` numbers at equal distances from ``start`` to ``stop``, which is the last one with ``endpoint``."""
    context = context_on(device)
    real = default_float(context)
    is_complex = isinstance(start, complex) or isinstance(stop, complex)
    computed = np.result_type(real, np.complex64) if is_complex else real
    kind = computed if dtype is None else checked_dtype(dtype)
    if is_complex and kind.kind != "c":
        raise DTypeError(f"complex numbers cannot become {kind}")
    if isinstance(num, bool) or not hasattr(num, "__index__") or num < 0:
        raise ShapeError(f"num= is a non-negative integer, not {num!r}")
    gaps = num - 1 if endpoint else num
    number = computed.type
    first, last = number(start), number(stop)
    step = (last - first) / number(gaps) if gaps > 0 else last - first
    made = steps(num, first, step, computed, context, stop=last if endpoint and num > 1 else None)
    if kind.kind in "iu":
        whole = apply(np.floor, made)
        return convert(whole if kind.itemsize == 8 else convert(whole, _INT), kind)  # integers wrap, floats may not
    return made if kind == computed else convert(made, kind)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> DeviceNDArray:
    """A device array of an array of any library, of numbers, or of nested sequences of numbers.

    Without ``copy``, memory of a device is shared, and what is in memory of the host is copied: `from_dlpack` shares
    that, too. ``copy=False`` raises where it takes a copy, `MemoryNotSharedError`.
    """
    kind = None if dtype is None else checked_dtype(dtype)
    there = operand_array(obj)
    if there is not None:
        return _converted(there, kind, device, copy)
    if copy is False:
        raise MemoryNotSharedError(
            "host memory becomes a device array only by a copy",
            hint="leave copy=False away, or share memory with a CPU by xp.from_dlpack(x, copy=False)",
        )
    first = _device_array_in(obj) if isinstance(obj, list | tuple) else None
    context = first.context if first is not None and device is None else context_on(device)
    if first is not None:
        obj = _on_host(obj)
    host = host_array(obj)
    if kind is None and _is_of_python(obj):
        kind = {"f": default_float(context), "c": np.result_type(default_float(context), np.complex64)}.get(
            host.dtype.kind
        )
    if kind is not None and host.dtype != kind:  # of numbers NumPy may have made floats that hold less than these
        host = assignable(obj, kind, host.shape) if _is_of_python(obj) else host.astype(kind)
    if host.dtype.kind == "O":
        raise ArgumentTypeError(f"{type(obj).__name__} is no array of numbers")
    return to_device(host, context=context) if host.ndim else to_device(host.copy(), context=context)


def _converted(x: DeviceNDArray, kind: Any, device: Any, copy: bool | None) -> DeviceNDArray:
    where = x.context if device is None else context_on(device)
    if where is not x.context:
        if copy is False:
            raise MemoryNotSharedError("an array on another device cannot be had without a copy")
        x, copy = to_device(x.copy_to_host(), context=where), None
    if kind is not None and kind != x.dtype:
        if copy is False:
            raise MemoryNotSharedError(f"{x.dtype} becomes {kind} only by a copy", hint="leave copy=False away")
        return convert(x, kind)
    return x.copy() if copy else x


def _is_of_python(obj: Any) -> bool:
    return isinstance(obj, bool | int | float | complex | list | tuple)


def _device_array_in(obj: Any) -> DeviceNDArray | None:
    """The first device array in nested sequences."""
    for item in obj:
        if type(item) not in _NUMBERS:
            found = _device_array_in(item) if isinstance(item, list | tuple) else operand_array(item)
            if found is not None:
                return found
    return None


def _on_host(obj: Any) -> Any:
    if isinstance(obj, list | tuple):
        return [_on_host(item) for item in obj]
    found = operand_array(obj)
    return obj if found is None else found.copy_to_host()


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> DeviceNDArray:
    """A device array of what has ``__dlpack__``: of its memory where the device can use it, else of a copy.

    ``device``: of the array; what is in host memory is shared with, or copied to it. ``copy``: True for a copy in any
    case, False for none. Raises `MemoryNotSharedError` where that takes one, or kernels cannot use the memory.
    """
    where = None if device is None else context_on(device)
    made = _from_dlpack(x, context=where, copy=copy)
    is_shared = made is x or made.base is not None
    return _converted(made, None, device, copy if is_shared else None)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> DeviceNDArray:
    """An uninitialised array."""
    context = context_on(device)
    return device_array(_shape(shape), default_float(context) if dtype is None else dtype, context=context)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> DeviceNDArray:
    """An uninitialised array of the shape and dtype of another."""
    like = array_of(x)
    there = like.context if device is None else context_on(device)
    kind = like.dtype if dtype is None else checked_dtype(dtype)
    return device_array(like.shape, kind, strides_as(like, kind), context=there)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> DeviceNDArray:
    """An array of one number, or of an array that broadcasts to a shape."""
    context = context_on(device)
    if dtype is not None:
        kind = checked_dtype(dtype)
    elif isinstance(fill_value, DeviceNDArray):
        kind = fill_value.dtype
    elif type(fill_value) is int:
        kind = _INT if fill_value <= _MOST_INT else np.dtype(np.uint64)
    else:
        kinds: dict[type, np.dtype[Any]] = {bool: np.dtype(bool), float: default_float(context)}
        kinds[complex] = np.result_type(default_float(context), np.complex64)
        kind = kinds.get(type(fill_value)) or host_array(fill_value).dtype
    return filled_with(fill_value, _shape(shape), kind, context)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> DeviceNDArray:
    """An array of one number, or of an array that broadcasts, of the shape and dtype of another."""
    like = array_of(x)
    there = like.context if device is None else context_on(device)
    kind = like.dtype if dtype is None else checked_dtype(dtype)
    return filled_with(fill_value, like.shape, kind, there, strides_as(like, kind))


def filled_with(
    value: Any, shape: tuple[int, ...], dtype: np.dtype[Any], context: Context, strides: tuple[int, ...] | None = None
) -> DeviceNDArray:
    """An array of a number, or of an array that broadcasts, cast as `numpy.full` casts it; put off.

    Floats become integers whatever they are, with NumPy's warning. Raises `ShapeError`, `DTypeError`,
    `NumberRangeError`.
    """
    if not isinstance(value, _NUMBERS):
        array = value if isinstance(value, DeviceNDArray) else host_array(value)
        return broadcast(array, shape, dtype, context, strides)
    if dtype.kind in "biu" and isinstance(value, (int, float)):
        try:
            value = np.full((), value, dtype)[()]
        except OverflowError as error:
            raise NumberRangeError(f"cannot assign this {type(value).__name__} to {dtype}: {error}") from error
    return filled(shape, value, dtype, context, strides)


def _shape(shape: Any) -> tuple[int, ...]:
    return checked_shape(shape if isinstance(shape, Sequence) or not hasattr(shape, "__index__") else int(shape))


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> DeviceNDArray:
    """An array of ones."""
    return full(shape, 1, dtype=default_float(context_on(device)) if dtype is None else dtype, device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> DeviceNDArray:
    """An array of ones, of the shape and dtype of another."""
    return full_like(x, 1, dtype=dtype, device=device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> DeviceNDArray:
    """An array of zeros."""
    return full(shape, 0, dtype=default_float(context_on(device)) if dtype is None else dtype, device=device)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> DeviceNDArray:
    """An array of zeros, of the shape and dtype of another."""
    return full_like(x, 0, dtype=dtype, device=device)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> DeviceNDArray:
    """A matrix with ones on its ``k``-th diagonal, counted upwards, and zeros elsewhere."""
    context = context_on(device)
    rows, columns = checked_shape((n_rows, n_rows if n_cols is None else n_cols))
    kind = default_float(context) if dtype is None else checked_dtype(dtype)
    return band(rows, columns, int(k), int(k), kind, context)


def tril(x: Any, /, *, k: int = 0) -> DeviceNDArray:
    """The matrices of the last two axes with zeros above the ``k``-th diagonal."""
    return _triangle(x, -_FAR, int(k))


def triu(x: Any, /, *, k: int = 0) -> DeviceNDArray:
    """The matrices of the last two axes with zeros below the ``k``-th diagonal."""
    return _triangle(x, int(k), _FAR)


def _triangle(value: Any, low: int, high: int) -> DeviceNDArray:
    x = array_of(value)
    if x.ndim < 2:
        raise ShapeError(f"a matrix has two axes, this array {x.ndim}", hint="reshape it first")
    mask = band(x.shape[-2], x.shape[-1], low, high, np.dtype(bool), x.context)
    return chosen(mask, x, x.dtype.type(0))


def check_indexing(indexing: Any) -> None:
    """Whether it is an order of the first two axes of grids. Raises `ShapeError`."""
    if indexing not in ("xy", "ij"):
        raise ShapeError(f"indexing is 'xy' or 'ij', not {indexing!r}")


def meshgrid(*arrays: Any, indexing: str = "xy", copy: bool = True) -> tuple[DeviceNDArray, ...]:
    """Arrays of the coordinates of a grid whose axes have these coordinates: "xy" (columns first) or "ij".

    Without ``copy`` they are read-only views.
    """
    check_indexing(indexing)
    given = arrays_of(arrays)
    if any(x.ndim > 1 for x in given):
        raise ShapeError("meshgrid takes arrays of one axis")
    order = list(range(len(given)))
    if indexing == "xy" and len(given) > 1:
        order[:2] = [1, 0]
    shape = [0] * len(given)
    for x, axis in zip(given, order, strict=True):
        shape[axis] = x.size
    made = []
    for x, axis in zip(given, order, strict=True):
        along = x.reshape(*(x.size if n == axis else 1 for n in range(len(given))))
        view = along.broadcast_to(tuple(shape))
        made.append(view.copy() if copy else view)
    return tuple(made)
