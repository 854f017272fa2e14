"""NumPy's functions of subscripts on the device, and bits of bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, ArgumentValueError, DTypeError, OutOfBoundsError, ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import functions
from portagpu.primitives.gathers.gathering import normal_axis
from portagpu.primitives.selections.selection import flatnonzero
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.numpy_dispatch import call, register
from portagpu.xp.conversion import along, array_of, arrays_of, context_of_any

_INDEX, _BYTE = np.dtype(np.int64), np.dtype(np.uint8)


def _ix(*args: Any) -> tuple[DeviceNDArray, ...]:
    """Subscripts that select what all of them have in common: each along an axis of its own."""
    found = []
    for n, x in enumerate(arrays_of(args)):
        if x.ndim != 1:
            raise ShapeError(f"ix_ takes arrays of one axis, not of {x.ndim}")
        if not x.size and not isinstance(args[n], DeviceNDArray):  # an empty list has no dtype
            x = x.astype(_INDEX)
        chosen = flatnonzero(x) if x.dtype == np.bool_ else x
        found.append(chosen.reshape(*(1,) * n, -1, *(1,) * (len(args) - n - 1)))
    return tuple(found)


def _checked(numbers: DeviceNDArray, extent: int, mode: str) -> DeviceNDArray:
    """Subscripts within an axis. The host waits for those that may be outside ("raise")."""
    if mode == "wrap":
        return apply(np.remainder, numbers, extent)
    if mode == "clip":
        return apply(np.minimum, apply(np.maximum, numbers, 0), extent - 1)
    if mode != "raise":
        raise ArgumentTypeError(f"mode is 'raise', 'wrap' or 'clip', not {mode!r}")
    outside = apply(np.logical_or, apply(np.less, numbers, 0), apply(np.greater_equal, numbers, extent))
    if numbers.size and bool(functions.reduce(np.logical_or, outside, None)):
        raise OutOfBoundsError(f"a subscript is out of bounds for an axis of {extent} elements")
    return numbers


def _whole(x: DeviceNDArray) -> DeviceNDArray:
    if x.dtype.kind not in "iub":
        raise ArgumentTypeError(f"subscripts are integers, not {x.dtype}", hint="convert them: i.astype(np.int64)")
    return x.astype(_INDEX, copy=False)


def _ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> DeviceNDArray:
    """The places in C or Fortran order of elements with these subscripts."""
    extents = [int(n) for n in (dims if hasattr(dims, "__len__") else (dims,))]
    parts = list(multi_index)
    modes = list(mode) if isinstance(mode, tuple) else [mode] * len(extents)
    if len(parts) != len(extents) or order not in ("C", "F"):
        raise ShapeError(f"{len(parts)} subscripts are not those of {len(extents)} axes in order 'C' or 'F'")
    steps = [math.prod(extents[n + 1 :] if order == "C" else extents[:n]) for n in range(len(extents))]
    found: Any = 0
    context = context_of_any(*parts)
    for x, extent, step, how in zip(parts, extents, steps, modes, strict=True):
        numbers = _checked(_whole(array_of(x, context)), extent, how)
        found = apply(np.add, found, apply(np.multiply, numbers, step))
    return found  # type: ignore[no-any-return]


def _unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[DeviceNDArray, ...]:
    """The subscripts of elements that have these places in C or Fortran order."""
    if order not in ("C", "F"):
        raise ArgumentValueError(f"order is 'C' or 'F', not {order!r}")
    extents = [int(n) for n in (shape if hasattr(shape, "__len__") else (shape,))]
    rest = _checked(_whole(array_of(indices)), math.prod(extents), "raise")
    found: list[DeviceNDArray] = []
    for extent in extents if order == "F" else reversed(extents):
        found.append(apply(np.remainder, rest, extent))
        rest = apply(np.floor_divide, rest, extent)
    return tuple(found if order == "F" else reversed(found))


def _order(bitorder: str) -> np.ndarray[Any, Any]:
    if bitorder not in ("big", "little"):
        raise ArgumentValueError(f"bitorder is 'big' or 'little', not {bitorder!r}")
    places = np.arange(8, dtype=np.uint8)
    return places[::-1].copy() if bitorder == "big" else places


def _packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> DeviceNDArray:
    """Eight elements of an axis as the bits of a byte: whether they are true. What is missing at the end is 0."""
    x = array_of(a)
    if x.dtype.kind not in "biu":
        raise DTypeError(f"packbits takes bools and integers, not {x.dtype}")
    shifts = _order(bitorder)
    if axis is None:
        x, axis = x.ravel(), 0
    at = normal_axis(axis, x.ndim)
    missing = -x.shape[at] % 8
    truth = apply(np.not_equal, x, 0)
    if missing:
        truth = call("pad", truth, [(0, missing if n == at else 0) for n in range(x.ndim)])
    bits = call("moveaxis", truth, at, -1)
    eights = bits.copy().reshape(*bits.shape[:-1], bits.shape[-1] // 8, 8)
    parts = apply(np.left_shift, eights.astype(_BYTE), array_of(shifts, x.context))
    found: DeviceNDArray = call("moveaxis", functions.reduce(np.bitwise_or, parts, -1), -1, at)
    return found


def _unpackbits(a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> DeviceNDArray:
    """The bits of bytes along an axis, each as a byte that is 0 or 1."""
    x = array_of(a)
    if x.dtype != _BYTE:
        raise DTypeError(f"unpackbits takes uint8, not {x.dtype}")
    shifts = array_of(_order(bitorder), x.context)
    if axis is None:
        x, axis = x.ravel(), 0
    at = normal_axis(axis, x.ndim)
    beside = x.reshape(*x.shape[: at + 1], 1, *x.shape[at + 1 :])
    shifts = shifts.reshape(8, *(1,) * (x.ndim - at - 1))
    bits = apply(np.bitwise_and, apply(np.right_shift, beside, shifts), np.uint8(1))
    found = bits.reshape(*x.shape[:at], x.shape[at] * 8, *x.shape[at + 1 :])
    if count is None:
        return found
    if -count > found.shape[at]:
        raise ArgumentValueError(f"count= leaves {-count} of {found.shape[at]} bits out")
    kept = found[along(at, slice(None, count))]
    if count > found.shape[at]:
        kept = call("pad", kept, [(0, count - found.shape[at] if n == at else 0) for n in range(x.ndim)])
    return kept  # type: ignore[no-any-return]


register("ix_", _ix, frozenset())
register("ravel_multi_index", _ravel_multi_index, frozenset({"mode", "order"}))
register("unravel_index", _unravel_index, frozenset({"shape", "order"}))
register("packbits", _packbits, frozenset({"axis", "bitorder"}))
register("unpackbits", _unpackbits, frozenset({"axis", "count", "bitorder"}))
