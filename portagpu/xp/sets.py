"""Set functions of the array API standard: different elements of an array. Each NaN is different from all others."""

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import primitives
from portagpu.runtime.arrays.array import DeviceNDArray

__all__ = ["unique_all", "unique_counts", "unique_inverse", "unique_values"]


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
