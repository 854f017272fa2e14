"""Manipulation functions of the array API standard: other shapes, orders and arrangements of elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from portagpu.dispatch.repeated import repeated
from portagpu.errors import ArgumentTypeError, MemoryNotSharedError, NotContiguousError, ShapeError, ShapeTypeError
from portagpu.expressions.writing import place, rolled
from portagpu.primitives.gathers.gathering import Subscripts, along_axis, gather, normal_axis
from portagpu.primitives.gathers.joining import MOST_ELEMENTS, MOST_PARTS, fits, join
from portagpu.primitives.selections.repeats import numbers_of_repeats
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.arrays.layout import checked_shape, inverse, memory_order, strides_like, strides_of_joined
from portagpu.runtime.arrays.numpy_dispatch import call
from portagpu.ufuncs import operands
from portagpu.ufuncs.operands import array_of, arrays_of

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]


def broadcast_to(x: Any, /, shape: tuple[int, ...]) -> DeviceNDArray:
    """A read-only view of a broadcast shape."""
    return array_of(x).broadcast_to(shape)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to; () of none.

    Raises `ShapeError` where they do not, and `ShapeTypeError` for what is no shape.
    """
    return operands.broadcast_shapes([checked_shape(shape) for shape in shapes])


def broadcast_arrays(*arrays: Any) -> tuple[DeviceNDArray, ...]:
    """Read-only views of the shape that all broadcast to."""
    found = arrays_of(arrays)
    shape = operands.broadcast_shapes([x.shape for x in found])
    return tuple(x if x.shape == shape else x.broadcast_to(shape) for x in found)


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> DeviceNDArray:
    """Arrays one behind the other along an axis, or, with None, all their elements; of the promoted dtype."""
    parts = _arrays(arrays)
    if axis is None:
        parts, axis = [x.ravel() for x in parts], 0
    first = parts[0]
    if not first.ndim:
        raise ShapeError("0-d arrays cannot be put one behind the other", hint="use stack")
    at = normal_axis(axis, first.ndim)
    rest = (*first.shape[:at], *first.shape[at + 1 :])
    order, is_c = None, True
    for x in parts:
        if x.ndim != first.ndim or (*x.shape[:at], *x.shape[at + 1 :]) != rest:
            raise ShapeError(f"arrays of shapes {first.shape} and {x.shape} cannot be joined along axis {at}")
        if x.layout != "C":
            is_c = False
    if not is_c:
        order = _order_of(parts, at)
    if order is not None:
        parts, at = [x.transpose(order) for x in parts], order.index(at)
    if _are_few(parts):
        found = repeated((concat, at), parts, lambda: _concatenated(parts, at))
    else:
        found = _concatenated(parts, at)
    return found if order is None else found.transpose(inverse(order))


def _order_of(parts: Sequence[DeviceNDArray], axis: int) -> tuple[int, ...] | None:
    """The order of the axes of arrays that are joined, that of the longest steps first; None for C order."""
    shape = list(parts[0].shape)
    shape[axis] = max(2, sum(x.shape[axis] for x in parts))
    strides = strides_of_joined(tuple(shape), tuple((x.shape, x.strides) for x in parts), 1)
    return None if strides is None else memory_order(tuple(shape), strides, 1)


def _are_few(parts: Sequence[DeviceNDArray]) -> bool:
    """Whether parts can be joined by one launch, as far as can be seen at once."""
    return len(parts) <= MOST_PARTS and all(x.deferred is None and x.size <= MOST_ELEMENTS for x in parts)


def _concatenated(parts: Sequence[DeviceNDArray], axis: int) -> DeviceNDArray:
    shape = parts[0].shape
    total = sum(x.shape[axis] for x in parts)
    out = _new((*shape[:axis], total, *shape[axis + 1 :]), parts)
    filled = [x for x in parts if x.size]
    if fits(filled, out):
        join(filled, [math.prod(x.shape[axis:]) for x in filled], out)
        return out
    start = 0
    for x in parts:
        place(out._view((slice(None),) * axis + (slice(start, start + x.shape[axis]),)), x)
        start += x.shape[axis]
    return out


def stack(arrays: Sequence[Any], /, *, axis: int = 0) -> DeviceNDArray:
    """Arrays of one shape along a new axis."""
    parts = _arrays(arrays)
    shape = parts[0].shape
    is_c = True
    for x in parts:
        if x.shape != shape:
            raise ShapeError("arrays that are stacked have one shape", hint="use concat")
        if x.layout != "C":
            is_c = False
    at = normal_axis(axis, len(shape) + 1)
    if not is_c:
        return concat([x._view((*(slice(None),) * at, None, Ellipsis)) for x in parts], axis=at)
    if _are_few(parts):
        return repeated((stack, at), parts, lambda: _stacked(parts, at))
    return _stacked(parts, at)


def _stacked(parts: Sequence[DeviceNDArray], axis: int) -> DeviceNDArray:
    shape = parts[0].shape
    out = _new((*shape[:axis], len(parts), *shape[axis:]), parts)
    if fits(parts, out):
        join(parts, [math.prod(shape[axis:])] * len(parts), out)
        return out
    for n, x in enumerate(parts):
        place(out._view((slice(None),) * axis + (n,)), x)
    return out


def unstack(x: Any, /, *, axis: int = 0) -> tuple[DeviceNDArray, ...]:
    """Views of the parts along an axis, which they do not have."""
    array = array_of(x)
    at = normal_axis(axis, array.ndim)
    return tuple(array._view((slice(None),) * at + (n, Ellipsis)) for n in range(array.shape[at]))


def expand_dims(x: Any, /, axis: Any = 0) -> DeviceNDArray:
    """A view with new axes of one element: at one place or a tuple of them, counted in the result.

    Raises `OutOfBoundsError` for a place that the result does not have, `ShapeError` for one that is named twice.
    """
    found: DeviceNDArray = call("expand_dims", array_of(x), axis)
    return found


def squeeze(x: Any, /, axis: Any) -> DeviceNDArray:
    """A view without axes of one element. Raises `ShapeError` for longer ones."""
    return array_of(x).squeeze(axis)


def permute_dims(x: Any, /, axes: tuple[int, ...]) -> DeviceNDArray:
    """A view with the axes in another order; negative ones count from the last."""
    array = array_of(x)
    if len(axes) != array.ndim:
        raise ShapeError(f"axes {tuple(axes)} are not those of an array of {array.ndim}")
    return array.transpose(tuple(axes))


def moveaxis(x: Any, source: Any, destination: Any, /) -> DeviceNDArray:
    """A view with some axes in other places."""
    found: DeviceNDArray = call("moveaxis", array_of(x), source, destination)
    return found


def flip(x: Any, /, *, axis: Any = None) -> DeviceNDArray:
    """A view with the elements along some axes, or all, in reverse. Raises `ShapeError`."""
    x = array_of(x)
    axes = range(x.ndim) if axis is None else whole_numbers(axis, "axes")
    turned = {normal_axis(n, x.ndim) for n in axes}
    if len(turned) < len(axes):
        raise ShapeError(f"axis {axis!r} names an axis twice")
    found: DeviceNDArray = x._view(
        (*(slice(None, None, -1) if n in turned else slice(None) for n in range(x.ndim)), Ellipsis)
    )
    return found


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None, order: str = "C") -> DeviceNDArray:
    """The elements in another shape: a view where there is one, and else, or with ``copy``, a copy.

    Raises `ShapeError`, and `MemoryNotSharedError` where ``copy`` is False and there is no view.
    """
    try:
        return array_of(x).reshape(shape, order=order, copy=copy)
    except NotContiguousError as error:
        raise MemoryNotSharedError(error.message, hint="leave copy=False away") from None


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> DeviceNDArray:
    """The elements moved along axes, those beyond the last to the front; with axis None in C order of all."""
    x = array_of(x)
    if axis is None:
        return roll(x.ravel(), shift, axis=0).reshape(x.shape)
    axes, shifts = whole_numbers(axis, "axes"), whole_numbers(shift, "shifts")
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    axes = axes * len(shifts) if len(axes) == 1 else axes
    if len(shifts) != len(axes):
        raise ShapeError(f"{len(shifts)} shifts are not those of {len(axes)} axes")
    total = [0] * x.ndim
    for own, n in zip(shifts, axes, strict=True):
        total[normal_axis(n, x.ndim)] += own
    moved = rolled(x, tuple(total))
    if moved is not None:
        return moved
    out = device_array(x.shape, x.dtype, strides_like(x.shape, x.strides, x.itemsize), context=x.context)
    for target, source in _rolled(x.shape, total):
        place(out._view((*target, Ellipsis)), x._view((*source, Ellipsis)))
    return out


def _check_repeats(counts: Any) -> None:
    if not np.can_cast(counts.dtype, np.int64, "safe"):
        raise ArgumentTypeError(f"repeats are whole numbers, not {counts.dtype}")


def _rolled(shape: tuple[int, ...], shifts: list[int]) -> list[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """Where parts of the result come from."""
    pairs: list[tuple[tuple[slice, ...], tuple[slice, ...]]] = [((), ())]
    for extent, shift in zip(shape, shifts, strict=True):
        by = shift % extent if extent else 0
        parts = [(slice(by, None), slice(None, extent - by))] + (
            [(slice(None, by), slice(extent - by, None))] * (by > 0)
        )
        pairs = [((*t, a), (*s, b)) for t, s in pairs for a, b in parts]
    return pairs


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> DeviceNDArray:
    """Each element along an axis several times: a number for all, or an array with one for each of them."""
    repeats = operands.operand(repeats) if hasattr(repeats, "__dlpack__") else repeats
    x = array_of(x, repeats.context if isinstance(repeats, DeviceNDArray) else None)
    x, at = along_axis(x, axis)
    extent = x.shape[at]
    if isinstance(repeats, DeviceNDArray):
        _check_repeats(repeats)
    else:
        counts = np.asarray(repeats)
        if counts.size:
            _check_repeats(counts)
        if counts.size == 1:
            return _repeated(x, int(counts.reshape(())), at)
        repeats = to_device(counts.astype(np.int64), context=x.context)
    if repeats.size == 1:
        return _repeated(x, int(repeats.item()), at)
    if repeats.shape != (extent,):
        raise ShapeError(f"repeats of shape {repeats.shape} are not those of {extent} elements")
    return gather(x, at, 1, Subscripts(numbers_of_repeats(repeats), known=True))


def _repeated(x: DeviceNDArray, times: int, axis: int) -> DeviceNDArray:
    if times < 0:
        raise ShapeError(f"elements are not repeated {times} times")
    front, rest = x.shape[: axis + 1], x.shape[axis + 1 :]
    out = device_array((*front, times, *rest), x.dtype, context=x.context)
    if out.size:
        place(out, x._view((*(slice(None),) * (axis + 1), None, Ellipsis)))
    return out.reshape(*front[:-1], front[-1] * times, *rest)


def tile(x: Any, repetitions: tuple[int, ...], /) -> DeviceNDArray:
    """Copies of an array side by side: how many along each axis."""
    x = array_of(x)
    times = whole_numbers(repetitions, "repetitions")
    ndim = max(x.ndim, len(times))
    times = [1] * (ndim - len(times)) + times
    if any(n < 0 for n in times):
        raise ShapeError(f"arrays are not repeated {tuple(times)} times")
    own = (*(1,) * (ndim - x.ndim), *x.shape)
    if all(n == 1 for n in times):  # keeps the order of the axes
        copied: DeviceNDArray = x.copy("K").reshape(own)
        return copied
    pairs = [n for pair in zip(times, own, strict=True) for n in pair]
    out = device_array(tuple(pairs), x.dtype, context=x.context)
    if out.size:
        ones = [n for extent in own for n in (1, extent)]
        place(out, x.reshape(tuple(ones)))
    return out.reshape(*(a * b for a, b in zip(times, own, strict=True)))


def is_whole(value: Any) -> bool:
    """Whether a value is one integer by its type; every array has ``__index__``, of those only 0-d ones are."""
    return hasattr(value, "__index__") and not getattr(value, "ndim", 0)


def whole_number(value: Any, name: str) -> int:
    """One integer. Raises `ShapeTypeError`."""
    if not is_whole(value):
        raise ShapeTypeError(f"{name} is an integer, not {value!r}")
    return int(value.__index__())


def whole_numbers(values: Any, name: str) -> list[int]:
    """One integer, or several. Raises `ShapeTypeError`."""
    if is_whole(values):
        return [values.__index__()]
    given = None if isinstance(values, str | bytes) or not hasattr(values, "__iter__") else list(values)
    if given is None or not all(hasattr(n, "__index__") for n in given):
        raise ShapeTypeError(f"{name} are integers, not {values!r}")
    return [n.__index__() for n in given]


def _arrays(arrays: Any) -> list[DeviceNDArray]:
    """Arrays as device arrays, at least one, all on the device of the first that is on one."""
    parts = arrays_of(list(arrays))
    if not parts:
        raise ShapeError("at least one array is needed")
    if any(x.context is not parts[0].context for x in parts):
        raise ArgumentTypeError("the arrays are on different devices", hint="copy them to one")
    return parts


def _new(shape: tuple[int, ...], parts: Sequence[DeviceNDArray]) -> DeviceNDArray:
    dtype = parts[0].dtype if len({x.dtype for x in parts}) == 1 else np.result_type(*(x.dtype for x in parts))
    return device_array(shape, dtype, context=parts[0].context)
