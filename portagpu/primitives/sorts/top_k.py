"""The largest or smallest elements: a threshold is found digit by digit, and what is not beyond it is sorted."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.dispatch import ready
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.primitives.selections.compaction import Compaction
from portagpu.primitives.sorts.ordering import Order, order_of, ordered
from portagpu.primitives.sorts.radix_plan import DIGITS, WIDTH
from portagpu.primitives.sorts.radix_request import Request, has_tiles
from portagpu.primitives.sorts.radix_sort import sort_rows
from portagpu.primitives.sorts.rows import Rows, checked_axis
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream
from portagpu.ufuncs.kernel_source import launch
from portagpu.ufuncs.operands import array_of

_LONG = 2**15  # elements of a row from which a threshold is looked for
_SHARE = 8  # elements of a row for each that is wanted, at least
_ROUNDS = 8  # blocks for each compute unit
_THREADS = 256


class Search(NamedTuple):
    """The order, and a block's threads."""

    order: Order
    threads: int


@cuda.jit
def start_search(state, counts, wanted):
    """``state``: the digits that the threshold begins with, and how many elements are wanted among those."""
    i = cuda.grid(1)
    if i < DIGITS:
        counts[i] = 0
    if i == 0:
        state[0] = 0
        state[1] = wanted


@cuda.jit
def count_candidates(keys, state, counts, shift, plan: cuda.constexpr):
    """Count the digits at ``shift`` of the elements that have the threshold's digits above."""
    key_type, bits = plan.order.key, plan.order.bits
    prefix = key_type(state[0])
    above = shift + WIDTH
    if plan.threads == 1:
        bins = cuda.local.array(DIGITS, np.int32)
    else:
        bins = cuda.shared.array(DIGITS, np.int32)
    t = cuda.threadIdx.x
    for d in range(t, DIGITS, plan.threads):
        bins[d] = 0
    cuda.syncthreads()
    share = (keys.size + cuda.gridDim.x - 1) // cuda.gridDim.x
    begin = cuda.blockIdx.x * share
    for i in range(begin + t, min(begin + share, keys.size), plan.threads):
        key = ordered(keys[i], plan.order)
        if above >= bits or (key >> key_type(above % bits)) == (prefix >> key_type(above % bits)):
            d = np.int32((key >> key_type(shift)) & (DIGITS - 1))
            if plan.threads == 1:
                bins[d] += 1
            else:
                cuda.atomic.add(bins, d, 1)
    cuda.syncthreads()
    for d in range(t, DIGITS, plan.threads):
        if bins[d] != 0:
            cuda.atomic.add(counts, d, counts.dtype.type(bins[d]))


@cuda.jit
def choose_digit(state, counts, shift):
    """The threshold's next digit: that of the last element that is wanted. By one thread."""
    left = state[1]
    d = 0
    while d < DIGITS - 1 and left > np.uint64(counts[d]):
        left -= np.uint64(counts[d])
        d += 1
    state[0] |= np.uint64(d) << np.uint64(shift)
    state[1] = left
    for k in range(DIGITS):
        counts[k] = 0


@cuda.jit
def mark_candidates(keys, state, flags, order: cuda.constexpr):
    """``flags[i]``: whether an element does not come behind the threshold."""
    i = cuda.grid(1)
    if i < keys.size:
        flags[i] = ordered(keys[i], order) <= order.key(state[0])


@cuda.jit
def first_of_rows(source, target, length, taken):
    """The first ``taken`` elements of rows of ``length``."""
    i = cuda.grid(1)
    if i < target.size:
        target[i] = source[i // taken * length + i % taken]


def top_k(
    x: Any, k: int, /, *, axis: int = -1, largest: bool = True, stream: Stream | int = 0
) -> tuple[DeviceNDArray, DeviceNDArray]:
    """The ``k`` largest or smallest elements along an axis, in their order, and their places, int64.

    Of equal elements the first ones are taken. NaN is larger than all numbers. Raises `ShapeError` for more elements
    than there are, `DTypeError` for elements without order, which complex numbers are here.
    """
    x = array_of(x)
    try:
        wanted = operator.index(k)
    except TypeError as error:
        raise ArgumentTypeError(f"k is a number of elements, not {k!r}") from error
    rows = Rows(x, checked_axis(axis, x.ndim))
    if not 0 <= wanted <= rows.length:
        raise ShapeError(f"{wanted} elements are wanted of {rows.length}")
    order = order_of(x.dtype, descending=bool(largest))
    with x.context.unsettled:
        bits = rows.bits()
        if rows.count == 1 and rows.length >= _LONG and 0 < wanted <= rows.length // _SHARE:
            keys, places = _selected(bits, wanted, order, stream)
        else:
            found = sort_rows(Request(keys=bits, length=max(rows.length, 1), order=order, indexed=True, stream=stream))
            assert found.keys is not None and found.moved is not None
            keys, places = (_first(one, rows, wanted, stream) for one in (found.keys, found.moved))
        return rows.restored(keys, x.dtype, wanted), rows.restored(places, places.dtype, wanted)


def _first(source: DeviceNDArray, rows: Rows, wanted: int, stream: Any) -> DeviceNDArray:
    if wanted == rows.length:
        return source
    target = device_array(rows.count * wanted, source.dtype, context=source.context)
    if target.size:
        launch(first_of_rows, target.size, None, stream, (source, target, rows.length, wanted), source.context)
    return target


def _selected(keys: DeviceNDArray, wanted: int, order: Order, stream: Any) -> tuple[DeviceNDArray, DeviceNDArray]:
    """The first elements of a long row: with all that equal the last of them, which a stable sort puts behind."""
    context, caps = keys.context, keys.context.capabilities
    blocks = caps.compute_units * (_ROUNDS if has_tiles(caps) else 2)
    plan = Search(order, _THREADS if has_tiles(caps) else 1)
    state = device_array(2, np.uint64, context=context)
    counts = device_array(DIGITS, np.int32 if keys.size < 2**31 else np.int64, context=context)
    launch(start_search, DIGITS, None, stream, (state, counts, wanted), context)
    for shift in range(order.bits - WIDTH, -1, -WIDTH):
        ready.launch(count_candidates, blocks, plan.threads, (keys, state, counts, shift, plan), stream)
        ready.launch(choose_digit, 1, 1, (state, counts, shift), stream)
    flags = device_array(keys.size, np.bool_, context=context)
    launch(mark_candidates, keys.size, None, stream, (keys, state, flags, order), context)
    candidates = Compaction(flags, stream)
    found, places = candidates.values(keys), candidates.numbers()
    request = Request(keys=found, length=found.size, order=order, values=places.view(np.uint64), stream=stream)
    moved = sort_rows(request)
    assert moved.keys is not None and moved.moved is not None
    return moved.keys[:wanted].copy(), moved.moved.view(np.int64)[:wanted].copy()
