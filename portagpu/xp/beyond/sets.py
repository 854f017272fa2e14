"""NumPy's functions of sets: sorted different elements of two arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import primitives
from portagpu.expressions.apply import apply
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
    own = first if assume_unique else primitives.unique(first).values
    found: DeviceNDArray = own[sets.isin(own, second, invert=invert)]
    return found


def _intersection(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    if return_indices:
        first, second = (primitives.unique(x, indices=True) for x in _flat(ar1, ar2))
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
    assert found is not None
    return found


def _digitize(x: Any, bins: Any, right: bool = False) -> DeviceNDArray:
    """Numbers of the bins, whose edges rise or fall: which, is read from the device."""
    values, edges = _flat_but_shaped(x, bins)
    side = "left" if right else "right"
    if edges.size > 1 and bool(apply(np.less, edges[-1:], edges[:1]).item()):
        found = primitives.searchsorted(edges._view(slice(None, None, -1)).copy(), values, side=side)
        return apply(np.subtract, edges.size, found)
    return primitives.searchsorted(edges, values, side=side)


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
