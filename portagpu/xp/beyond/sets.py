"""NumPy's functions of sets: sorted different elements of two arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import primitives
from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import functions
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.xp import indexing, manipulation, sets
from portagpu.xp.conversion import array_of


def _flat(*values: Any) -> list[DeviceNDArray]:
    context = next((x.context for x in values if isinstance(x, DeviceNDArray)), None)
    return [array_of(x, context).ravel() for x in values]


def _union(ar1: Any, ar2: Any) -> DeviceNDArray:
    return primitives.unique(manipulation.concat(_flat(ar1, ar2))).values


def _within(ar1: Any, ar2: Any, assume_unique: bool, *, invert: bool) -> DeviceNDArray:
    first, second = _flat(ar1, ar2)
    if not invert:
        first = first.astype(np.result_type(first.dtype, second.dtype), copy=False)
    own = first if assume_unique else primitives.unique(first).values
    found: DeviceNDArray = own[sets.isin(own, second, invert=invert)]
    return found


def _intersection(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    if return_indices:
        arrays = _flat(ar1, ar2)
        kind = np.result_type(*(x.dtype for x in arrays))
        first, second = (primitives.unique(x.astype(kind, copy=False), indices=True) for x in arrays)
        assert first.indices is not None and second.indices is not None
        both = sets.isin(first.values, second.values), sets.isin(second.values, first.values)
        return first.values[both[0]], first.indices[both[0]], second.indices[both[1]]
    found = _within(ar1, ar2, assume_unique, invert=False)
    return primitives.sort(found) if assume_unique else found


def _difference(ar1: Any, ar2: Any, assume_unique: bool = False) -> DeviceNDArray:
    return _within(ar1, ar2, assume_unique, invert=True)


def _exclusive(ar1: Any, ar2: Any, assume_unique: bool = False) -> DeviceNDArray:
    parts = [_within(ar1, ar2, assume_unique, invert=True), _within(ar2, ar1, assume_unique, invert=True)]
    return primitives.sort(manipulation.concat(parts))


def _lexsort(keys: Any, axis: int = -1) -> DeviceNDArray:
    """Places in the order of the last key, then the one before it: each sort is stable, from the first key on."""
    found: DeviceNDArray | None = None
    for key in keys:
        along = array_of(key)
        if found is None:
            found = primitives.argsort(along, axis=axis)
            continue
        order = primitives.argsort(indexing.take_along_axis(along, found, axis=axis), axis=axis)
        found = indexing.take_along_axis(found, order, axis=axis)
    if found is None:
        raise ArgumentTypeError("lexsort takes one key at least")
    return found


def _digitize(x: Any, bins: Any, right: bool = False) -> DeviceNDArray:
    """Numbers of the bins, whose edges rise or fall: which, is read from the device."""
    values, edges = _flat_but_shaped(x, bins)
    if values.dtype.kind == "c":
        raise DTypeError("bins of complex numbers have no order", hint="np.digitize(x.real, bins)")
    side = "left" if right else "right"
    ways = _ways(edges) if edges.ndim == 1 and edges.size > 1 else 0
    if ways == 3:
        raise ShapeError("the edges of bins neither rise nor fall", hint="sort them")
    if ways == 2:
        found = primitives.searchsorted(edges._view(slice(None, None, -1)).copy(), values, side=side)
        return apply(np.subtract, edges.size, found)
    return primitives.searchsorted(edges, values, side=side)


def _ways(edges: DeviceNDArray) -> int:
    """1 where an edge is larger than the one before it, 2 where one is smaller, and the sum of both."""
    before, behind = edges._view(slice(None, -1)), edges._view(slice(1, None))
    larger = apply(np.less, before, behind)
    smaller = apply(np.multiply, apply(np.less, behind, before).astype(np.uint8), 2)
    return int(functions.reduce(np.bitwise_or, apply(np.bitwise_or, larger, smaller), None).item())


def _flat_but_shaped(x: Any, bins: Any) -> tuple[DeviceNDArray, DeviceNDArray]:
    context = next((a.context for a in (x, bins) if isinstance(a, DeviceNDArray)), None)
    values, edges = array_of(x, context), array_of(bins, context)
    kind = np.result_type(values.dtype, edges.dtype)
    return values.astype(kind, copy=False), edges.astype(kind, copy=False)


_ASSUMING = frozenset({"assume_unique"})
register("union1d", _union, frozenset())
register("intersect1d", _intersection, _ASSUMING | {"return_indices"})
register("setdiff1d", _difference, _ASSUMING)
register("setxor1d", _exclusive, _ASSUMING)
register("lexsort", _lexsort, frozenset({"axis"}))
register("digitize", _digitize, frozenset({"right"}))
for _name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
    register(_name, getattr(sets, _name), frozenset())
