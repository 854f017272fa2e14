"""Set functions of the array API standard: different elements of an array. Each NaN is different from all others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import primitives
from portagpu.expressions.apply import apply, convert
from portagpu.expressions.reductions import functions
from portagpu.expressions.writing import filled
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.xp.conversion import array_of, arrays_of
from portagpu.xp.indexing import take
from portagpu.xp.sorting import searchsorted

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAll(NamedTuple):
    """Different elements, where each is first, which of them each element is, and how often each occurs."""

    values: DeviceNDArray
    indices: DeviceNDArray
    inverse_indices: DeviceNDArray
    counts: DeviceNDArray


class UniqueCounts(NamedTuple):
    """Different elements, and how often each occurs."""

    values: DeviceNDArray
    counts: DeviceNDArray


class UniqueInverse(NamedTuple):
    """Different elements, and which of them each element is."""

    values: DeviceNDArray
    inverse_indices: DeviceNDArray


def unique_all(x: Any, /) -> UniqueAll:
    """`numpy.unique_all`: the different elements with their first places, the inverse, and counts."""
    found = primitives.unique(x, indices=True, inverse=True, counts=True, equal_nan=False)
    assert found.indices is not None and found.inverse is not None and found.counts is not None
    return UniqueAll(found.values, found.indices, found.inverse, found.counts)


def unique_counts(x: Any, /) -> UniqueCounts:
    """`numpy.unique_counts`: the different elements, and how often each occurs."""
    found = primitives.unique(x, counts=True, equal_nan=False)
    assert found.counts is not None
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Any, /) -> UniqueInverse:
    """`numpy.unique_inverse`: the different elements, and which of them each element of the array is."""
    found = primitives.unique(x, inverse=True, equal_nan=False)
    assert found.inverse is not None
    return UniqueInverse(found.values, found.inverse)


def unique_values(x: Any, /) -> DeviceNDArray:
    """`numpy.unique_values`: the different elements, in their order."""
    return primitives.unique(x, equal_nan=False).values


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> DeviceNDArray:
    """For each element of ``x1`` whether one of ``x2`` equals it, which NaN never does; ``invert``: whether none does.

    Numbers of Python count as what they are, and integers of all dtypes, as in `equal`. An array ``x2`` is sorted, then
    each element searched for.
    """
    if _is_number(x2) and not _is_number(x1):
        return apply(np.not_equal if invert else np.equal, array_of(x1), x2)
    if _is_number(x1) and not _is_number(x2):
        found = functions.reduce(np.logical_or, apply(np.equal, array_of(x2), x1), None)
        return apply(np.logical_not, found) if invert else found
    first, second = arrays_of([x1, x2])
    if not second.size:
        return filled(first.shape, invert, np.dtype(bool), first.context)
    common = np.result_type(first.dtype, second.dtype)
    if common.kind != "f" or first.dtype.kind == "f" or second.dtype.kind == "f":
        return _is_among(first, second.ravel(), common, invert)
    # 64 bits with a sign, and without: floats, which both promote to, do not tell neighbours apart
    signed = second.dtype.kind == "i"
    there = apply(np.less_equal, first, np.iinfo(second.dtype).max) if signed else apply(np.greater_equal, first, 0)
    found = _is_among(convert(first, second.dtype), second.ravel(), second.dtype, False)
    found = apply(np.logical_and, found, there)
    return apply(np.logical_not, found) if invert else found


def _is_number(value: Any) -> bool:
    return type(value) in (bool, int, float, complex)


def _is_among(first: DeviceNDArray, second: DeviceNDArray, common: np.dtype[Any], invert: bool) -> DeviceNDArray:
    if common.kind in "fc":  # -0.0, which the order has before 0.0, becomes 0.0
        first, second = apply(np.add, first, common.type(0)), apply(np.add, second, common.type(0))
    table = primitives.sort(second)
    flat = first.ravel()
    nearest = take(table, searchsorted(table, flat), axis=0, mode="clip")
    return apply(np.not_equal if invert else np.equal, flat, nearest).reshape(first.shape)
