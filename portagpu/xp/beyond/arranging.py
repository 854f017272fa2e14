"""NumPy's functions that put elements elsewhere: insertions, deletions, blocks, pieces, other sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DTypeError,
    OutOfBoundsError,
    ShapeError,
    SubscriptTypeError,
)
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions.functions import axes_in
from portagpu.expressions.writing import as_source
from portagpu.primitives.gathers.gathering import Subscripts, gather, normal_axis
from portagpu.primitives.gathers.sequences import whole_steps
from portagpu.primitives.selections.selection import flatnonzero
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.checks import host_array
from portagpu.runtime.arrays.layout import checked_shape, inverse, memory_order
from portagpu.runtime.arrays.numpy_dispatch import call, register
from portagpu.xp import indexing, manipulation
from portagpu.xp.conversion import along, array_of, check_target, context_of_any

_INDEX = np.dtype(np.int64)


def _resize(a: Any, new_shape: Any) -> DeviceNDArray:
    """The elements in C order, again from the first one on where the shape has more."""
    x = array_of(a).ravel()
    shape = checked_shape(new_shape if hasattr(new_shape, "__len__") else (new_shape,))
    size = int(np.prod(shape, dtype=np.int64))
    if size <= x.size:
        found: DeviceNDArray = x[:size].copy().reshape(shape)
        return found
    if not x.size:
        return call("zeros_like", x, shape=shape)  # type: ignore[no-any-return]
    times = whole_steps(size, 0, 1, _INDEX, x.context)
    return gather(x, 0, 1, Subscripts(apply(np.remainder, times, x.size), known=True)).reshape(shape)


def _trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> DeviceNDArray:
    """Without what is 0 at the ends of all axes; ``trim``: "f", the front, and "b", the back."""
    x = array_of(filt)
    ends = trim.lower()
    if ends not in ("f", "b", "fb", "bf"):
        raise ArgumentValueError(f"trim= has the letters f and b, not {trim!r}")
    places = call("nonzero", x) if x.ndim else ()
    key = [slice(None)] * x.ndim
    for at in axes_in(tuple(axis) if isinstance(axis, np.ndarray) and axis.ndim else axis, x.ndim):
        found = places[at]
        if not found.size:
            key[at] = slice(0, 0)
            continue
        low = int(call("min", found).item()) if "f" in ends else 0
        high = int(call("max", found).item()) + 1 if "b" in ends else x.shape[at]
        key[at] = slice(low, high)
    return x._view((*key, Ellipsis))


def _delete(arr: Any, obj: Any, axis: int | None = None) -> DeviceNDArray:
    """The parts along an axis but those that are named: an integer, a slice, integers or bools."""
    x = array_of(arr)
    if axis is None:
        x, axis = x.ravel(), 0
    at = normal_axis(axis, x.ndim)
    extent = x.shape[at]
    gone = obj if isinstance(obj, slice | DeviceNDArray) else _host_indices(obj)
    if not isinstance(gone, slice) and gone.dtype == np.bool_ and gone.shape != (extent,):
        raise ShapeError(f"bools of shape {gone.shape} are not those of {extent} elements")
    order = _order_of_rest(x, at, single=isinstance(gone, slice) or (gone.size == 1 and gone.dtype.kind != "b"))
    if isinstance(gone, DeviceNDArray):
        stay = call("ones_like", x, dtype=bool, shape=(extent,))
        stay[gone] = False
        places = Subscripts(flatnonzero(stay), known=True)
    else:
        stays = np.ones(extent, bool)
        try:
            stays[gone] = False
        except IndexError as error:
            raise OutOfBoundsError(f"axis {at} of an array of shape {x.shape} has no such elements: {error}") from None
        places = Subscripts.of(np.flatnonzero(stays), max(extent, 1), x.context)
    return gather(x.transpose(order), order.index(at), 1, places).transpose(inverse(order))


def _order_of_rest(x: DeviceNDArray, at: int, *, single: bool) -> tuple[int, ...]:
    """The order of the axes that `numpy.delete` gives its result, that of the longest steps first.

    Of what a slice or one integer leaves it is C or Fortran order. What several leave are subscripts to NumPy: their
    axis comes first.
    """
    axes = tuple(range(x.ndim))
    if single:
        return axes[::-1] if x.layout == "F" else axes
    return (at, *(n for n in memory_order(x.shape, x.strides, x.itemsize) or axes if n != at))


def _insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> DeviceNDArray:
    """Values in front of the elements that are named, in a copy."""
    x = array_of(arr, context_of_any(obj, values))
    if axis is None:
        x, axis = x.ravel(), 0
    at = normal_axis(axis, x.ndim)
    extent = x.shape[at]
    places = _places(obj, extent, x.shape)
    source = as_source(values, x.dtype, x.context)
    if places.size == 1:  # as by NumPy: all values go there
        source = source.reshape((*(1,) * (x.ndim - source.ndim), *source.shape))
        if not places.ndim:  # the values' first axis is the one along which they are inserted
            source = source.transpose((*range(1, at + 1), 0, *range(at + 1, source.ndim))) if at else source
        places = np.repeat(places, source.shape[at])
    order = np.argsort(places, kind="stable")
    new = np.empty(places.size, np.int64)
    new[order] = places[order] + np.arange(places.size)
    shape = (*x.shape[:at], extent + places.size, *x.shape[at + 1 :])
    out = device_array(shape, x.dtype, order="F" if x.layout == "F" else "C", context=x.context)
    old = np.setdiff1d(np.arange(shape[at]), new, assume_unique=True)
    if not out.size:
        return out
    out[along(at, old)[:-1]] = x
    out[along(at, new)[:-1]] = source
    return out


def _places(obj: Any, extent: int, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Indices of `numpy.insert`, on the host; 0-d for one integer. Raises `ShapeError`, `SubscriptTypeError`."""
    if isinstance(obj, DeviceNDArray):
        obj = obj.copy_to_host()  # new places follow from them, and the result's shape
    places = np.arange(extent)[obj] if isinstance(obj, slice) else _host_indices(obj)
    if places.ndim != 1 and (places.ndim or places.dtype == bool):
        raise ShapeError(f"places of insertions are one integer, or have one axis, not shape {places.shape}")
    if places.dtype == bool:
        places = np.flatnonzero(places)
    if places.dtype.kind not in "iu":
        raise SubscriptTypeError(f"places are integers, not {places.dtype}")
    if places.size and (places.min() < -extent or places.max() > extent):
        raise OutOfBoundsError(f"nothing is inserted there in an array of shape {shape}: places end at {extent}")
    places = places.astype(np.int64)
    return np.where(places < 0, places + extent, places)


def _host_indices(obj: Any) -> np.ndarray[Any, Any]:
    """Indices of the host as an array; an empty list has integers, an array without elements its own dtype."""
    found = host_array(obj)
    return found if found.size or isinstance(obj, np.ndarray) else found.astype(np.int64)


def _block(arrays: Any) -> DeviceNDArray:
    """Arrays of nested lists side by side: those of the innermost lists along the last axis."""
    depth = _depth(arrays)
    context = context_of_any(*_leaves(arrays))
    ndim = max(depth, *(np.ndim(x) for x in _leaves(arrays)))

    def joined(part: Any, level: int) -> DeviceNDArray:
        if isinstance(part, list):
            return manipulation.concat([joined(x, level + 1) for x in part], axis=ndim - depth + level)
        x = array_of(part, context)
        return x.reshape((*(1,) * (ndim - x.ndim), *x.shape))

    found = joined(arrays, 0)
    return found if isinstance(arrays, list) else found.copy()


def _depth(arrays: Any) -> int:
    if isinstance(arrays, tuple):
        raise ArgumentTypeError("block takes lists of lists of arrays, not tuples", hint="use lists")
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(x) for x in arrays}
    if len(depths) != 1:
        raise ShapeError("the lists of block are nested alike, and none is empty")
    return depths.pop() + 1


def _leaves(arrays: Any) -> list[Any]:
    return [leaf for x in arrays for leaf in _leaves(x)] if isinstance(arrays, list) else [arrays]


def _cut(axis: int, least: int) -> Callable[..., Any]:
    def function(ary: Any, indices_or_sections: Any) -> Any:
        x = array_of(ary)
        if x.ndim < least:
            raise ShapeError(f"an array of {x.ndim} axes is not split along axis {axis}, but of {least} and more")
        return call("split", x, indices_or_sections, axis=0 if x.ndim == 1 else axis)

    return function


def _mask_beside(x: DeviceNDArray, mask: Any) -> DeviceNDArray:
    """A mask of any dtype as bools in an array's shape. Raises `ShapeError` where their sizes differ."""
    check_target(x)
    there = array_of(mask, x.context)
    if there.size != x.size:
        raise ShapeError(f"the mask of shape {there.shape} and the array of shape {x.shape} differ in size")
    return there.astype(bool, copy=False).reshape(x.shape)


def _safe_source(values: Any, x: DeviceNDArray) -> DeviceNDArray:
    """Values in an array's dtype. Raises `DTypeError` for arrays that it does not hold, as NumPy's two functions do."""
    kind = None if isinstance(values, np.generic) else getattr(values, "dtype", None)
    if isinstance(kind, np.dtype) and not np.can_cast(kind, x.dtype):
        raise DTypeError(f"values of {kind} may not fit {x.dtype}", hint=f"values.astype(np.{x.dtype})")
    return as_source(values, x.dtype, x.context)


def _place(arr: DeviceNDArray, mask: Any, vals: Any) -> None:
    """Write the values, one after the other and again from the first, to the elements where the mask is true."""
    where = flatnonzero(_mask_beside(arr, mask))
    source = _safe_source(vals, arr).ravel()
    if not where.size:
        return
    if not source.size:
        raise ShapeError("no values are given for the elements where the mask is true")
    indexing.put(arr, where, source if source.size == where.size else _resize(source, where.size))


def _putmask(a: DeviceNDArray, mask: Any, values: Any) -> None:
    """Write ``values[n]``, counted again from the first, to each element n where the mask is true."""
    where = _mask_beside(a, mask)
    source = _safe_source(values, a)
    if source.size not in (0, 1) and source.shape != a.shape:
        source = _resize(source, a.shape)
    if source.size:
        call("copyto", a, source.reshape(()) if source.size == 1 else source, casting="unsafe", where=where)


register("resize", _resize, frozenset({"new_shape"}))
register("trim_zeros", _trim_zeros, frozenset({"trim", "axis"}))
register("delete", _delete, frozenset({"axis"}))
register("insert", _insert, frozenset({"axis"}))
register("block", _block, frozenset())
for _name, _axis, _least in (("vsplit", 0, 2), ("hsplit", 1, 1), ("dsplit", 2, 3)):
    register(_name, _cut(_axis, _least), frozenset())
register("place", _place, frozenset())
register("putmask", _putmask, frozenset())
