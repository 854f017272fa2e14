"""What ``__sycl_usm_array_interface__`` says of an array, checked: any object may have one, and say anything by it.

Source: the specification of the interface, `dpctl.memory`, "USM allocations in Python".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import index
from typing import Any, NamedTuple

import numpy as np

from portagpu.backends.sycl.announcement import INTERFACE
from portagpu.errors import ArgumentTypeError, MemoryNotSharedError

_NEEDED = frozenset({"data", "shape", "typestr", "syclobj"})
_KINDS = "biufc"  # of numbers
_MOST_AXES = 64
_ADDRESSES = 2**63  # drivers and kernels count bytes in 64 bits with a sign


class UsmLayout(NamedTuple):
    """Elements of type ``dtype`` in memory that begins at ``address`` and has ``size`` bytes; those of the first
    element begin ``offset`` bytes behind that. Strides are in bytes.
    """

    address: int
    size: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    readonly: bool


def interface(array: Any) -> dict[str, Any]:
    """What the array says, with ``strides`` and ``offset``. Raises `ArgumentTypeError` where that is no interface."""
    try:
        found = getattr(array, INTERFACE)
    except Exception as error:  # a property may raise anything
        raise _unknown(array, f"asking for it fails: {type(error).__name__}: {error}") from error
    if not isinstance(found, dict) or not found.keys() >= _NEEDED:
        raise _unknown(array, f"it is no dict with {', '.join(sorted(_NEEDED))}")
    return {"strides": None, "offset": 0, **found}


def layout(array: Any, facts: dict[str, Any]) -> UsmLayout:
    """Where the elements lie, by what `interface` gave.

    Raises `ArgumentTypeError` for what makes no sense, and elements that are no numbers of this machine,
    `MemoryNotSharedError` for elements without memory.
    """
    dtype = _dtype(array, facts["typestr"])
    try:
        address, readonly = facts["data"]
        place, offset = index(address), index(facts["offset"]) * dtype.itemsize
        shape = tuple(map(index, facts["shape"]))
        given = facts["strides"]
        strides = tuple(_contiguous(shape) if given is None else map(index, given))
        readonly = bool(readonly)
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise _unknown(array, f"data, shape, strides or offset make no sense: {error}") from error
    if len(strides) != len(shape) or len(shape) > _MOST_AXES or any(extent < 0 for extent in shape):
        raise _unknown(array, f"its shape is {shape}, its strides are {strides}")
    steps = tuple(step * dtype.itemsize for step in strides)
    if not all(shape):
        return UsmLayout(max(0, place), 1, 0, _small(array, shape), (0,) * len(shape), dtype, readonly)
    reach = [(extent - 1) * step for extent, step in zip(_small(array, shape), _small(array, steps), strict=True)]
    low = offset + sum(step for step in reach if step < 0)
    high = offset + sum(step for step in reach if step > 0) + dtype.itemsize
    if place <= 0:
        raise MemoryNotSharedError(
            f"{type(array).__name__} has elements, but no memory (its address is {place})", hint="pass another array"
        )
    if place + low <= 0 or place + high >= _ADDRESSES:
        raise _unknown(array, f"its elements reach from {low} to {high} bytes behind its address, {place}")
    first = min(0, low)  # elements may lie before the address: the memory then begins with the lowest
    return UsmLayout(place + first, high - first, offset - first, shape, steps, dtype, readonly)


def _contiguous(shape: tuple[int, ...]) -> Iterator[int]:
    return (math.prod(shape[n + 1 :]) for n in range(len(shape)))


def _small(array: Any, numbers: tuple[int, ...]) -> tuple[int, ...]:
    """The numbers, which kernels count in 64 bits."""
    if any(not -_ADDRESSES < number < _ADDRESSES for number in numbers):
        raise _unknown(array, f"it has {numbers}, which no memory has")
    return numbers


def _dtype(array: Any, typestr: Any) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(typestr)
    except Exception as error:  # NumPy reads some text as Python, whose errors are of many types
        raise _unknown(array, f"its type of elements is {typestr!r}: {error}") from error
    if not isinstance(typestr, str) or found.kind not in _KINDS or not found.isnative:
        raise _unknown(array, f"its type of elements is {typestr!r}, no number that this machine knows")
    return found


def _unknown(array: Any, why: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"{type(array).__name__} has no {INTERFACE} that can be understood: {why}",
        hint="pass a dpnp.ndarray, a NumPy array or a device array",
    )
