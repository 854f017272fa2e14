"""Different elements of an array, with how often each occurs, where first, and which each element is."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.primitives.gathers.gather import gathered
from portagpu.primitives.scans.scanning import inclusive_scan
from portagpu.primitives.selections.compaction import Compaction
from portagpu.primitives.selections.run_lengths import lengths_between
from portagpu.primitives.sorts.complex_keys import complex_order
from portagpu.primitives.sorts.ordering import Kind, Order, order_of, ordered
from portagpu.primitives.sorts.radix_request import Request
from portagpu.primitives.sorts.radix_sort import sort_rows
from portagpu.primitives.sorts.rows import as_bits, contiguous
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream
from portagpu.ufuncs.kernel_source import launch
from portagpu.ufuncs.operands import array_of


class Unique(NamedTuple):
    """What `unique` gives: sorted values; int64: the first place of each, which value each element is, how often."""

    values: DeviceNDArray
    indices: DeviceNDArray | None
    inverse: DeviceNDArray | None
    counts: DeviceNDArray | None


class Facts(NamedTuple):
    """How elements are compared (None: as complex numbers)."""

    order: Order | None
    equal_nan: bool


@cuda.jit(device=True)
def is_nan(x, facts: cuda.constexpr):
    """Whether an element is NaN."""
    if facts.order is None:
        return x.real != x.real or x.imag != x.imag
    if facts.order.kind is Kind.FLOAT:
        return (x & (facts.order.sign - 1)) > facts.order.infinity
    if facts.order.kind is Kind.DATE:
        return x == facts.order.sign
    return False


@cuda.jit
def mark_first(elements, flags, facts: cuda.constexpr):
    """``flags[i]``: whether a sorted element differs from the one before it."""
    i = cuda.grid(1)
    if i < elements.size:
        x, before = elements[i], elements[max(i - 1, 0)]
        if i == 0:
            flags[i] = True
        elif is_nan(x, facts):
            flags[i] = not (facts.equal_nan and is_nan(before, facts))
        elif facts.order is None:
            flags[i] = x.real != before.real or x.imag != before.imag
        else:
            flags[i] = ordered(x, facts.order) != ordered(before, facts.order)


@cuda.jit
def store_ranks(places, ranks, inverse):
    """``ranks``, counted from 1, of sorted elements go to where these came from."""
    i = cuda.grid(1)
    if i < places.size:
        inverse[places[i]] = ranks[i] - 1


def unique(
    x: Any,
    /,
    *,
    indices: bool = False,
    inverse: bool = False,
    counts: bool = False,
    equal_nan: bool = True,
    stream: Stream | int = 0,
) -> Unique:
    """The different elements of an array, in their order, and what is asked for beside them.

    With ``equal_nan`` all NaN are one element. The host waits for the number of elements. Raises `DTypeError` for
    elements without order.
    """
    x = array_of(x)
    facts = Facts(None if x.dtype.kind == "c" else order_of(x.dtype), bool(equal_nan))
    laid = contiguous(x)
    context = x.context
    with context.unsettled:
        elements, places = _sorted(laid, facts, indices or inverse, stream)
        flags = device_array(elements.size, np.bool_, context=context)
        if elements.size:
            launch(mark_first, elements.size, None, stream, (elements, flags, facts), context)
        firsts = Compaction(flags, stream)
        values = firsts.values(elements)
        return Unique(
            values if values.dtype == x.dtype else values.view(x.dtype),
            firsts.values(places) if indices else None,
            _inverse(flags, places, x.shape, stream) if inverse else None,
            lengths_between(firsts.numbers(), elements.size, stream) if counts else None,
        )


def _inverse(flags: DeviceNDArray, places: DeviceNDArray, shape: tuple[int, ...], stream: Any) -> DeviceNDArray:
    """Which of the different elements each one is: how many began up to its place among the sorted ones."""
    ranks = inclusive_scan(flags, dtype=np.int32 if flags.size < 2**31 else np.int64, stream=stream)
    inverse = device_array(flags.size, np.int64, context=flags.context)
    if flags.size:
        launch(store_ranks, flags.size, None, stream, (places, ranks, inverse), flags.context)
    return inverse.reshape(shape)


def _sorted(x: DeviceNDArray, facts: Facts, indexed: bool, stream: Any) -> tuple[DeviceNDArray, DeviceNDArray]:
    """Sorted elements, as unsigned integers or complex numbers, and where each was; no places unless ``indexed``."""
    flat = x.reshape(-1)
    none = device_array(0, np.int64, context=x.context)
    if facts.order is None:
        if not x.size:
            return flat, none
        places = complex_order(x, x.size, False, stream)
        return gathered(flat, places, x.size, x.size, stream), places
    bits = as_bits(flat)
    if not x.size:
        return bits, none
    found = sort_rows(Request(keys=bits, length=x.size, order=facts.order, indexed=indexed, stream=stream))
    assert found.keys is not None
    return found.keys, none if found.moved is None else found.moved
