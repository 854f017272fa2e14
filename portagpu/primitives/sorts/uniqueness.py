"""Different elements of an array, with how often each occurs, where first, and which each element is."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.primitives.gathers.gather import gathered
from portagpu.primitives.sorts.complex_keys import complex_order
from portagpu.primitives.sorts.ordering import Kind, Order, order_of, ordered
from portagpu.primitives.sorts.radix_request import Request
from portagpu.primitives.sorts.radix_sort import sort_rows
from portagpu.primitives.sorts.rows import as_bits, contiguous
from portagpu.primitives.sorts.taken import Counted, Selection
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
    """How elements are compared (None: as complex numbers), and what is wanted of them."""

    order: Order | None
    equal_nan: bool
    indices: bool
    inverse: bool
    counts: bool


class Found(NamedTuple):
    """What kernels read and write: sorted elements with their places, and results."""

    elements: Any
    places: Any
    values: Any
    indices: Any
    inverse: Any
    begins: Any


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


@cuda.jit(device=True)
def is_first(data, i, facts: cuda.constexpr):
    """Whether a sorted element differs from the one before it."""
    if i == 0:
        return True
    x, before = data.elements[i], data.elements[i - 1]
    if is_nan(x, facts):
        return not (facts.equal_nan and is_nan(before, facts))
    if facts.order is None:
        return x.real != before.real or x.imag != before.imag
    return ordered(x, facts.order) != ordered(before, facts.order)


@cuda.jit(device=True)
def store(data, i, place, is_taken, facts: cuda.constexpr):
    """Store a different element, and which one each element is."""
    if is_taken:
        data.values[place] = data.elements[i]
        if facts.indices:
            data.indices[place] = data.places[i]
        if facts.counts:
            data.begins[place] = i
    if facts.inverse:
        data.inverse[data.places[i]] = place if is_taken else place - 1


@cuda.jit
def counts_kernel(begins, counts, size):
    """How many elements there are from where a value begins to where the next one does."""
    i = cuda.grid(1)
    if i < counts.size:
        end = begins[i + 1] if i + 1 < counts.size else size
        counts[i] = end - begins[i]


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
    facts = Facts(None if x.dtype.kind == "c" else order_of(x.dtype), bool(equal_nan), indices, inverse, counts)
    laid = contiguous(x)
    context = x.context
    with context.unsettled:
        elements, places = _sorted(laid, facts, stream)
        kind, size = elements.dtype, elements.size
        inverses = device_array(x.shape, np.int64, context=context) if inverse else None
        spare = elements
        empty = Found(elements, spare if places is None else places, spare, spare, spare, spare)
        counted = Counted(context, empty, size, Selection(is_first, store, facts), stream) if size else None
        total = 0 if counted is None else counted.total
        values = device_array(total, kind, context=context)
        first = device_array(total, np.int64, context=context) if indices else None
        begins = device_array(total, np.int64, context=context) if counts else None
        if counted is not None:
            counted.store(
                empty._replace(
                    values=values,
                    indices=spare if first is None else first,
                    inverse=spare if inverses is None else inverses.reshape(-1),
                    begins=spare if begins is None else begins,
                )
            )
        often = None
        if begins is not None:
            often = device_array(total, np.int64, context=context)
            if total:
                launch(counts_kernel, total, None, stream, (begins, often, size), context)
        return Unique(values if kind == x.dtype else values.view(x.dtype), first, inverses, often)


def _sorted(x: DeviceNDArray, facts: Facts, stream: Any) -> tuple[DeviceNDArray, DeviceNDArray | None]:
    """Sorted elements, as unsigned integers or complex numbers, and their places where these are asked for."""
    flat = x.reshape(-1)
    if facts.order is None:
        if not x.size:
            return flat, None
        places = complex_order(x, x.size, False, stream)
        return gathered(flat, places, x.size, x.size, stream), places
    bits = as_bits(flat)
    if not x.size:
        return bits, None
    request = Request(
        keys=bits, length=x.size, order=facts.order, indexed=facts.indices or facts.inverse, stream=stream
    )
    found = sort_rows(request)
    assert found.keys is not None
    return found.keys, found.moved
