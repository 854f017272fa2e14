"""Shapes, strides and dtypes of arrays."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.errors import DTypeError, OutOfMemoryError, ShapeError, ShapeTypeError
from portagpu.types import record_layout


class Flags(dict[str, bool]):
    """Contiguity and write flags as items, and as attributes in lower case. Raises AttributeError for others."""

    def __getattr__(self, name: str) -> bool:
        if name.isupper() or name.upper() not in self:
            raise AttributeError(f"device arrays have the flags {', '.join(map(str.lower, self))}, not {name!r}")
        return self[name.upper()]


def address_of(array: np.ndarray[Any, Any]) -> int:
    """Where a host array begins."""
    return int(array.__array_interface__["data"][0])


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Whether elements lie in C order without gaps; where there are none, they do."""
    expected = itemsize
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != expected:
            return 0 in shape
        expected *= extent
    return True


def layout_of(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> str:
    """The order of the elements: "C", "F", or "A" for anything else."""
    if is_contiguous(shape, strides, itemsize):
        return "C"
    if is_contiguous(shape[::-1], strides[::-1], itemsize):
        return "F"
    return "A"


def alignment_of(
    shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any], offset: int, layout: str
) -> int:
    """Bytes to which the elements are aligned, for arrays that kernels address by bytes; 0 for all others.

    Those are records, and elements that start or step at bytes that are no multiple of their size.
    """
    if record_layout.record_of(dtype) is None and not (
        offset % dtype.itemsize or any(s % dtype.itemsize for s in strides)
    ):
        return 0
    steps = strides if layout == "A" else (dtype.itemsize,) * min(len(shape), 1)
    return record_layout.alignment_of(offset, *steps)


def check_order(order: Any, orders: str = "CF") -> None:
    """Raise `ShapeError` unless an order is one of ``orders``."""
    if not isinstance(order, str) or order not in tuple(orders):
        *first, last = map(repr, orders)
        raise ShapeError(f"order must be {', '.join(first)} or {last}, not {order!r}")


def strides_of(shape: tuple[int, ...], dtype: np.dtype[Any], order: str) -> tuple[int, ...]:
    """Strides of a contiguous array."""
    check_order(order)
    strides, step = [], dtype.itemsize
    for extent in reversed(shape) if order == "C" else shape:
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides)) if order == "C" else tuple(strides)


def strides_like(
    shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, wanted: int | None = None
) -> tuple[int, ...]:
    """Strides without gaps whose axes are in the order of other strides, as `numpy.empty_like` chooses them.

    ``wanted``: bytes of an element, by default as many as ``itemsize``, of which the others are.
    """
    axes: Sequence[int] = range(len(shape))
    if not is_contiguous(shape, strides, itemsize):  # then axes of length one may have any strides
        axes = sorted(axes, key=lambda a: (-abs(strides[a]), a))
    result, step = [0] * len(shape), itemsize if wanted is None else wanted
    for axis in reversed(axes):
        result[axis] = step
        step *= max(shape[axis], 1)
    return tuple(result)


def strides_as(x: Any, dtype: np.dtype[Any], order: str = "K", shape: Any = None) -> tuple[int, ...] | None:
    """Strides of a new array like ``x``, a device array, in one of NumPy's orders; None for C order.

    ``shape``: the new array's, where it has another.
    """
    if shape is not None and order in ("A", "K"):
        order = "F" if x.layout == "F" and len(checked_shape(shape)) == x.ndim else "C"
    extents = x.shape if shape is None else checked_shape(shape)
    if order == "F" or (order == "A" and x.layout == "F"):
        strides = strides_of(extents, dtype, "F")
    elif order == "K" and x.layout != "C":
        strides = strides_like(extents, x.strides, x.itemsize, dtype.itemsize)
    else:
        if order not in ("A", "K"):
            check_order(order)
        return None
    return None if is_contiguous(extents, strides, dtype.itemsize) else strides


def memory_order(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[int, ...] | None:
    """Axes in the order of an array's memory, that of the longest steps first; None for C order."""
    axes = tuple(sorted(range(len(shape)), key=lambda a: (-abs(strides[a]), a)))
    if axes == tuple(range(len(shape))) or is_contiguous(shape, strides, itemsize):
        return None
    return axes


def inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes one of axes."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def without_axes(
    shape: tuple[int, ...], strides: tuple[int, ...], axes: Collection[int], itemsizes: tuple[int, int]
) -> tuple[int, ...] | None:
    """Strides in order K of what is left of an array where axes go; None for C order.

    ``itemsizes``: bytes of an element of the array, and of the result.
    """
    own, wanted = itemsizes
    whole = strides_in_order_k(shape, ((shape, strides),), own)
    if whole is None:
        return None
    kept = [n for n in range(len(shape)) if n not in axes]
    extents = tuple(shape[n] for n in kept)
    found = strides_like(extents, tuple(whole[n] for n in kept), own, wanted)
    return None if is_contiguous(extents, found, wanted) else found


_Layouts = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]


@lru_cache(4096)
def strides_in_order_k(shape: tuple[int, ...], operands: _Layouts, itemsize: int) -> tuple[int, ...] | None:
    """Strides without gaps of the result of operands in order K, as `numpy.nditer` allocates it; None for C order.

    ``operands``: their shapes and strides, which broadcast to ``shape``.
    """
    steps = []
    for own, strides in operands:
        walked = (None if n == 1 or not s else abs(s) for n, s in zip(own, strides, strict=True))
        steps.append((*(None for _ in range(len(shape) - len(own))), *walked))
    order = _sorted_axes(range(len(shape)), [tuple(None if s is None else -s for s in own) for own in steps])
    return _gapless(shape, order, itemsize)


@lru_cache(4096)
def strides_of_joined(shape: tuple[int, ...], operands: _Layouts, itemsize: int) -> tuple[int, ...] | None:
    """Strides of arrays joined along an axis, in the order of theirs, as `numpy.concatenate`'s; None for C order."""
    steps = [tuple(None if n == 1 else abs(s) for n, s in zip(own, strides, strict=True)) for own, strides in operands]
    order = _sorted_axes(range(len(shape) - 1, -1, -1), steps)
    return _gapless(shape, order[::-1], itemsize)


def _sorted_axes(axes: Sequence[int], steps: Sequence[tuple[int | None, ...]]) -> list[int]:
    """Axes by decreasing step, by an insertion sort from the last axis on; ``steps``: of each operand's axes.

    An axis moves before another if its step is larger in every operand that has steps for both (not None). Where no
    operand has, the axis before that is compared next.
    """
    order: list[int] = []
    for axis in reversed(axes):
        at = len(order)
        for n in reversed(range(len(order))):
            pairs = [
                (there, here)
                for own in steps
                if (there := own[order[n]]) is not None and (here := own[axis]) is not None
            ]
            if not pairs:
                continue
            if any(here <= there for there, here in pairs):
                break
            at = n
        order.insert(at, axis)
    return order


def _gapless(shape: tuple[int, ...], order: Sequence[int], itemsize: int) -> tuple[int, ...] | None:
    """Strides of axes in an order, the innermost first; None for C order."""
    result, step = [0] * len(shape), itemsize
    for axis in order:
        result[axis] = step
        step *= max(shape[axis], 1)
    found = tuple(result)
    return None if is_contiguous(shape, found, itemsize) else found


def order_k(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...] | None:
    """Axes in the order in which `numpy.nditer` walks an array in order K, the innermost last; None for C order."""
    found = strides_in_order_k(shape, ((shape, strides),), 1)
    return None if found is None else memory_order(shape, found, 1)


def checked_strides(shape: tuple[int, ...], strides: Any) -> tuple[int, ...]:
    """Strides (bytes, may be negative) as a tuple with one integer for each axis. Raises `ShapeError`."""
    items = (strides,) if isinstance(strides, int | np.integer) else _items(strides)
    if (
        items is None
        or len(items) != len(shape)
        or any(isinstance(s, bool) or not isinstance(s, int | np.integer) for s in items)
    ):
        raise ShapeError(f"strides are one integer (bytes) for each axis of shape {shape}, not {strides!r}")
    return tuple(int(s) for s in items)


def extent_of(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[int, int]:
    """Bytes that the elements span, and the offset of the first: not 0 where a stride is negative.

    Raises `OutOfMemoryError` for more than 63 bits can count.
    """
    if 0 in shape:
        return 0, 0
    steps = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    nbytes = sum(map(abs, steps)) + itemsize
    if nbytes >= 2**63:  # more than drivers can be asked for
        raise OutOfMemoryError(f"shape {shape} needs {nbytes} bytes, more than can be addressed")
    return nbytes, -sum(step for step in steps if step < 0)


_INT = frozenset({int})
_MOST_AXES = 64  # of NumPy's arrays


def checked_shape(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of integers. Raises `ShapeError`, and `ShapeTypeError` for what is no integer."""
    if type(shape) is tuple and _INT.issuperset(map(type, shape)) and min(shape, default=0) >= 0:  # most are
        return _with_few_axes(shape)
    items = (shape,) if isinstance(shape, int | np.integer) else _items(shape)
    if items is None or any(isinstance(n, bool) or not isinstance(n, int | np.integer) for n in items):
        raise ShapeTypeError(f"a shape is made of non-negative integers, not {shape!r}")
    if any(n < 0 for n in items):
        raise ShapeError(f"a shape is made of non-negative integers, not {shape!r}")
    return _with_few_axes(tuple(int(n) for n in items))


def _with_few_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape. Raises `ShapeError` for more axes than NumPy's arrays have."""
    if len(shape) > _MOST_AXES:
        raise ShapeError(f"arrays have at most {_MOST_AXES} axes, not {len(shape)}")
    return shape


def _items(values: Any) -> tuple[Any, ...] | None:
    """The items of a sequence, else None. Text is no sequence of numbers."""
    try:
        return None if isinstance(values, str | bytes) else tuple(values)
    except TypeError:
        return None


_NUMBERS: tuple[Any, ...] = (bool, int, float, complex, *(np.dtype(letter).type for letter in "?bBhHiIlLqQefdFD"))
_DTYPES: dict[Any, np.dtype[Any]] = {kind: np.dtype(kind) for kind in _NUMBERS}


def checked_dtype(dtype: Any) -> np.dtype[Any]:
    """A dtype that a device can hold. Raises `DTypeError`."""
    if type(dtype) is type and dtype in _DTYPES:  # most are
        return _DTYPES[dtype]
    if isinstance(dtype, str | dtypes.Named) and dtypes.parse(dtype) is dtypes.BFLOAT16:
        dtype = dtypes.BFLOAT16.numpy
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError, KeyError) as error:
        raise DTypeError(f"{dtype!r} is no dtype of NumPy's", hint="use np.float32, 'int64' or the like") from error
    if kind.hasobject:
        raise DTypeError(f"{kind} holds Python objects, which cannot be on a device", hint="use a numeric dtype")
    if kind.subdtype is not None or kind.itemsize == 0:
        raise DTypeError(f"{kind} is no dtype of single elements", hint="put its extents into the array's shape")
    return kind
