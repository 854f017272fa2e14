"""NumPy's functions that sort and search, on device arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import primitives
from portagpu.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import accumulations, functions
from portagpu.expressions.writing import filled
from portagpu.primitives.gathers.gathering import normal_axis
from portagpu.primitives.gathers.sequences import whole_steps
from portagpu.primitives.sorts.rows import contiguous
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.ufuncs.operands import array_of
from portagpu.xp.indexing import take
from portagpu.xp.manipulation import concat, moveaxis, whole_numbers
from portagpu.xp.sets import isin
from portagpu.xp.sorting import searchsorted

_KINDS = (None, "quicksort", "heapsort", "mergesort", "stable")


def _flat_if_none(a: Any, axis: Any) -> tuple[DeviceNDArray, Any]:
    array = array_of(a)
    return (contiguous(array).reshape(-1), 0) if axis is None else (array, axis)


def _checked(kind: Any, order: Any, *chosen: Any) -> None:
    """``chosen``: values of keywords that say what ``kind=`` does, too."""
    if kind not in _KINDS:
        raise ArgumentTypeError(f"kind= is one of {', '.join(map(repr, _KINDS[1:]))}, not {kind!r}")
    if kind is not None and any(value is not None for value in chosen):
        raise ArgumentValueError("kind= stands beside stable= or descending=", hint="leave kind= out: sorts are stable")
    if order is not None:
        raise DTypeError("order= names fields of records, which have no order here", hint="sort one of the fields")


def _sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: Any = None
) -> DeviceNDArray:
    _checked(kind, order, stable, descending)
    array, at = _flat_if_none(a, axis)
    return primitives.sort(array, axis=at, descending=bool(descending))


def _argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: Any = None
) -> DeviceNDArray:
    _checked(kind, order, stable, descending)
    array, at = _flat_if_none(a, None if not np.ndim(a) and axis in (0, -1) else axis)  # which NumPy lets pass
    return primitives.argsort(array, axis=at, descending=bool(descending))


def _partition(
    a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None, *, descending: Any = None
) -> DeviceNDArray:
    array, at = _parted(a, kth, axis, kind, order)
    return primitives.sort(array, axis=at, descending=bool(descending))  # it is partitioned at every place


def _argpartition(
    a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None, *, descending: Any = None
) -> DeviceNDArray:
    array, at = _parted(a, kth, axis, kind, order)
    return primitives.argsort(array, axis=at, descending=bool(descending))


def _parted(a: Any, kth: Any, axis: Any, kind: Any, order: Any) -> tuple[DeviceNDArray, Any]:
    if kind != "introselect":
        raise ArgumentValueError(f"kind= of partitions is 'introselect', not {kind!r}")
    _checked(None, order)
    array, at = _flat_if_none(a, axis)
    _check_kth(kth, array, at)
    return array, at


def _check_kth(kth: Any, array: DeviceNDArray, axis: int) -> None:
    extent = array.shape[axis] if array.ndim else 0
    for place in whole_numbers(kth, "places"):
        if not array.size:
            continue
        if not -extent <= place < extent:
            raise ShapeError(f"kth={place} is not among {extent} elements")


def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> DeviceNDArray:
    dtype = getattr(a, "dtype", None)
    if type(v) in (int, float) and dtype is not None and dtype.kind == "f" and dtype.itemsize < 8:
        v = _beside(v, dtype, side)
    return searchsorted(a, v, side=side, sorter=sorter)


def _beside(value: float, dtype: np.dtype[Any], side: str) -> Any:
    """The number of fewer bits that stands where a number of Python's does, which NumPy compares in float64."""
    try:
        wanted = np.float64(value)
    except OverflowError:
        wanted = np.float64(np.inf if value > 0 else -np.inf)
    with np.errstate(over="ignore"):
        near = dtype.type(wanted)
    if side == "left":
        return np.nextafter(near, dtype.type(np.inf)) if near < wanted else near
    return np.nextafter(near, dtype.type(-np.inf)) if near > wanted else near


def _unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    array = array_of(ar)
    if axis is not None and array.ndim != 1:
        return _unique_parts(array, axis, return_index, return_inverse, return_counts)
    if axis is not None:
        normal_axis(axis, 1)
    found = primitives.unique(
        array, indices=return_index, inverse=return_inverse, counts=return_counts, equal_nan=equal_nan
    )
    asked = [part for part in found[1:] if part is not None]
    return (found.values, *asked) if asked else found.values


def _unique_parts(x: DeviceNDArray, axis: int, index: bool, inverse: bool, counts: bool) -> Any:
    """The different parts along an axis, in the order of their first elements that differ. NaN equals nothing.

    A stable sort by each element of the parts, from the last on. The host waits for the number of parts.
    """
    at = normal_axis(axis, x.ndim)
    count = x.shape[at]
    if not count:
        nothing = [filled((0,), 0, np.dtype(np.int64), x.context) for asked in (index, inverse, counts) if asked]
        return (x.copy(), *nothing) if nothing else x.copy()
    rows = moveaxis(x, at, 0).copy().reshape(count, -1) if x.size else x.reshape(count, 0)
    keys = apply(np.add, rows, rows.dtype.type(0)) if rows.dtype.kind in "fc" else rows  # -0.0 becomes 0.0
    order = whole_steps(count, 0, 1, np.dtype(np.int64), x.context)
    for n in range(keys.shape[1] - 1, -1, -1):
        column = take(keys._view((slice(None), n)), order, axis=0)
        order = take(order, primitives.argsort(column), axis=0)
    ordered = take(keys, order, axis=0)
    differ = apply(np.not_equal, ordered._view(slice(1, None)), ordered._view(slice(None, -1)))
    marks = filled((count,), True, np.dtype(bool), x.context)
    if count > 1:
        marks[1:] = functions.reduce(np.logical_or, differ, 1) if keys.shape[1] else False
    begins = primitives.flatnonzero(marks)
    first = take(order, begins, axis=0)
    found: list[Any] = [take(x, first, axis=at)]
    if index:
        found.append(first)
    if inverse:
        numbers = apply(np.subtract, accumulations.accumulate(np.add, marks.astype(np.int64)), 1)
        where = device_array(count, np.int64, context=x.context)
        where[order] = numbers
        found.append(where)
    if counts:
        ends = concat([begins[1:], array_of(np.asarray([count]), x.context)])
        found.append(apply(np.subtract, ends, begins))
    return tuple(found) if len(found) > 1 else found[0]


_SORTING = frozenset({"axis", "kind", "order", "stable", "descending"})
_PARTING = frozenset({"axis", "kind", "order", "descending"})
register("sort", _sort, _SORTING)
register("argsort", _argsort, _SORTING)
register("partition", _partition, _PARTING)
register("argpartition", _argpartition, _PARTING)
register("searchsorted", _searchsorted, frozenset({"side", "sorter"}))
register(
    "unique", _unique, frozenset({"return_index", "return_inverse", "return_counts", "axis", "equal_nan", "sorted"})
)


def _isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> DeviceNDArray:
    if kind not in (None, "sort", "table"):
        raise ArgumentValueError(f"kind is 'sort', 'table' or None, not {kind!r}")
    first, second = (np.asarray(x) if type(x) in (float, complex) else x for x in (element, test_elements))
    if kind == "table" and any(
        (getattr(x, "dtype", None) or np.asarray(x).dtype).kind not in "biu" for x in (first, second)
    ):
        raise ArgumentValueError("kind='table' is for bools and integers", hint="leave kind= out")
    return isin(first, second, invert=invert)


register("isin", _isin, frozenset({"assume_unique", "invert", "kind"}))
