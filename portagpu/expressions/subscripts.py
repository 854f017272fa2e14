"""Subscripts with arrays: NumPy's rules for what they select and where its axes go.

Integers, slices, new axes and the ellipsis make a view first; what is left are arrays of integers for some of its axes.
Bools are the subscripts of what is true.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from portagpu.errors import OutOfBoundsError, ShapeError, SubscriptTypeError
from portagpu.expressions.apply import apply
from portagpu.expressions.writing import filled
from portagpu.primitives.gathers.gathering import Subscripts, counted, joined
from portagpu.primitives.gathers.sequences import whole_steps
from portagpu.primitives.selections.selection import nonzero
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.checks import host_array
from portagpu.runtime.arrays.creation import operand_array
from portagpu.runtime.arrays.methods.items import gathers
from portagpu.ufuncs.operands import broadcast_shapes

_INDEX = np.dtype(np.int64)


class Selected(NamedTuple):
    """A view, of which ``axes`` axes from ``first`` on are subscripted, joined as one, by ``at``."""

    view: DeviceNDArray
    first: int
    axes: int
    at: Subscripts


def mask_of(x: DeviceNDArray, key: Any) -> DeviceNDArray | None:
    """The device array of bools that alone is the key, of the first axes' extents; None for other keys."""
    if isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    if not isinstance(key, DeviceNDArray) or key.dtype != np.bool_ or not key.ndim or key.context is not x.context:
        return None
    return key if key.shape == x.shape[: key.ndim] else None


def selected(x: DeviceNDArray, key: Any) -> Selected:
    """What a key with arrays selects. Raises `OutOfBoundsError`, `ShapeError`, `ArgumentTypeError`."""
    if not isinstance(key, tuple) and x.ndim:
        only = _item(key)
        if isinstance(only, np.ndarray | DeviceNDArray) and only.dtype != np.bool_:
            return Selected(x, 0, 1, Subscripts.of(only, x.shape[0], x.context))
    items = _expanded([_item(item) for item in (key if isinstance(key, tuple) else (key,))], x.ndim)
    basic: list[Any] = []  # subscripts of the view
    is_array: list[bool] = []  # of each axis of the view
    parts: list[Subscripts] = []
    extents: list[int] = []
    places: list[int] = []  # in the key, of arrays and of integers: as NumPy counts these
    axis = 0
    for place, item in enumerate(items):
        if item is None or isinstance(item, slice):
            basic.append(item)
            is_array.append(False)
            axis += item is not None
            continue
        places.append(place)
        if isinstance(item, int):
            basic.append(item)
            axis += 1
            continue
        for index, extent in _arrays(item, x.shape, axis):
            is_new = extent is None
            basic.append(None if is_new else slice(None))
            is_array.append(True)
            extents.append(1 if extent is None else extent)
            parts.append(Subscripts.of(index, extents[-1], x.context))
            axis += not is_new
    view = x._view(tuple(basic))
    together = places[-1] - places[0] == len(places) - 1
    before = sum(item is None or isinstance(item, slice) for item in items[: places[0]]) if together else 0
    others = [n for n, found in enumerate(is_array) if not found]
    arrays = [n for n, found in enumerate(is_array) if found]
    order = [*others[:before], *arrays, *others[before:]]
    if order != list(range(len(order))):
        view = view.transpose(order)
    try:
        shape = broadcast_shapes([part.array.shape for part in parts])
    except ShapeError as error:  # an IndexError of NumPy's
        raise OutOfBoundsError(f"subscripts do not belong together: {error.message}") from None
    return Selected(view, before, len(parts), joined(parts, extents, shape))


class Elements:
    """The elements that a key selects, of any kind: the shape of what it gives, and where they lie in memory."""

    def __init__(self, x: DeviceNDArray, key: Any) -> None:
        """Raises as `selected`."""
        if gathers(key):
            self._view, self._first, self._count, self._at = selected(x, key)
        else:
            self._view, self._first, self._count = x._view(key), 0, 0
            self._at = Subscripts(filled((), 0, _INDEX, x.context), known=True)
        shape = self._view.shape
        self.shape = (*shape[: self._first], *self._at.array.shape, *shape[self._first + self._count :])

    def places_in(self, memory: DeviceNDArray) -> DeviceNDArray:
        """The subscript of each in memory of one axis, as the array has it: int64 of one axis, in C order.

        What is computed is of the selected elements' number, and not of the array's. Raises `OutOfBoundsError`.
        """
        view, first, behind = self._view, self._first, self._first + self._count
        steps = [step // view.itemsize for step in view.strides]
        places = filled((), (view.offset - memory.offset) // view.itemsize, _INDEX, view.context)
        if self._count:
            taken = _steps_along(self._at, view.shape[first:behind], steps[first:behind])
            places = apply(np.add, places, taken.reshape(*taken.shape, *(1,) * (view.ndim - behind)))
        for n, extent in enumerate(view.shape):
            if extent == 1 or first <= n < behind:
                continue
            after = view.ndim - 1 - n + (self._at.array.ndim - self._count if n < first else 0)
            own = whole_steps(extent, 0, steps[n], _INDEX, view.context)
            places = apply(np.add, places, own.reshape(extent, *(1,) * after))
        return places.broadcast_to(self.shape).ravel()


def _steps_along(at: Subscripts, extents: tuple[int, ...], steps: list[int]) -> DeviceNDArray:
    """The distance in memory of subscripts of several axes, joined as one, from the first element."""
    rest = counted([at], [math.prod(extents)], at.array.shape)
    found = filled((), 0, _INDEX, rest.context)
    for extent, step in zip(reversed(extents[1:]), reversed(steps[1:]), strict=True):
        found = apply(np.add, found, apply(np.multiply, apply(np.remainder, rest, extent), step))
        rest = apply(np.floor_divide, rest, extent)
    return apply(np.add, found, apply(np.multiply, rest, steps[0]))


def _item(item: Any) -> Any:
    """A part of a key: None, Ellipsis, a slice, an int, or an array of bools or integers."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, bool | np.bool_):
        return np.asarray(item)
    if not isinstance(item, np.ndarray | DeviceNDArray):
        try:
            return operator.index(item)
        except TypeError:
            pass
        there = operand_array(item)
        item = host_array(item) if there is None else there
        if not item.size and item.dtype.kind == "f":
            item = item.astype(np.int64)  # an empty list
    if item.dtype.kind not in "iub":
        raise SubscriptTypeError(
            f"device arrays take integers, slices and arrays of integers or bools as indices, not {item.dtype}",
            hint="convert the indices: i.astype(np.int64)",
        )
    return int(item) if not item.ndim and item.dtype.kind != "b" else item


def _expanded(items: list[Any], ndim: int) -> list[Any]:
    """A key that names every axis."""
    used = sum(_axes_of(item) for item in items)
    if used > ndim:
        raise OutOfBoundsError(f"too many indices: {used} for an array of {ndim} axes")
    dots = [n for n, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise OutOfBoundsError("an index has one ellipsis at most")
    at = dots[0] if dots else len(items)
    return [*items[:at], *(slice(None),) * (ndim - used), *items[at + bool(dots) :]]


def _axes_of(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, np.ndarray | DeviceNDArray) and item.dtype == np.bool_ else 1


def _arrays(item: Any, shape: tuple[int, ...], axis: int) -> list[tuple[Any, int | None]]:
    """Arrays of integers with the extents of their axes; None for the new axis that a single bool makes."""
    if item.dtype != np.bool_:
        return [(item, shape[axis])]
    if not item.ndim:
        return [(np.zeros(int(bool(item)), np.int64), None)]
    extents = shape[axis : axis + item.ndim]
    _check_mask(item.shape, extents)
    if isinstance(item, np.ndarray):
        return list(zip(np.nonzero(item), extents, strict=True))
    return [(Subscripts(found, known=True), n) for found, n in zip(nonzero(item), extents, strict=True)]


def _check_mask(mask: tuple[int, ...], extents: tuple[int, ...]) -> None:
    """An extent of 0 stands for any, in NumPy and in the array API standard: nothing is selected then."""
    if any(given not in (0, n) for given, n in zip(mask, extents, strict=True)):
        raise OutOfBoundsError(f"bools of shape {mask} do not index axes of extents {extents}")
