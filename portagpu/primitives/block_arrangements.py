"""Sorts, selections and run lengths of the threads of a block: device functions that kernels call.

All threads of the block call them, along x. What is passed as memory are shared arrays with an element for each thread:
what they held is gone, and they may be used again at once.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.primitives.in_kernels import block_inclusive_scan


@cuda.jit(device=True)
def _add(x, y):
    return x + y


@cuda.jit(device=True)
def _merged_place(value, before: cuda.constexpr, keys, width):
    """Where a thread's value stands once its run of ``width`` sorted neighbours is merged with the one beside it.

    Of equal values those of the left run come first: a search in the other run, for each value.
    """
    thread, size = cuda.threadIdx.x, cuda.blockDim.x
    first = thread // (2 * width) * (2 * width)
    middle, last = min(first + width, size), min(first + 2 * width, size)
    is_left = thread < middle
    low = middle if is_left else first
    high = last if is_left else middle
    passed = low
    while low < high:
        at = (low + high) // 2
        goes = False
        if is_left:
            goes = before(keys[at], value)
        else:
            goes = not before(value, keys[at])
        if goes:
            low = at + 1
        else:
            high = at
    own = thread if is_left else thread - (middle - first)
    return own + (low - passed)


@cuda.jit(device=True)
def block_sort(value, before: cuda.constexpr, scratch):
    """The values of a block's threads in order: thread i gets the i-th. Stable.

    ``before``: a device function of two values, whether the first comes before the second. ``scratch``: of the values'
    dtype. Threads without a value pass one that comes after all others.
    """
    return block_sort_by_key(value, None, before, scratch, None)[0]


@cuda.jit(device=True)
def block_sort_by_key(key, item, before: cuda.constexpr, keys, items):
    """As `block_sort`, with an item for each key: thread i gets the i-th key and its item, as a pair.

    ``keys`` and ``items``: shared arrays of their dtypes; None for item and items where there are none.
    """
    thread, size = cuda.threadIdx.x, cuda.blockDim.x
    keys[thread] = key
    cuda.syncthreads()
    width = 1
    while width < size:
        place = _merged_place(key, before, keys, width)
        cuda.syncthreads()
        keys[place] = key
        if items is not None:
            items[place] = item
        cuda.syncthreads()
        key = keys[thread]
        if items is not None:
            item = items[thread]
        width = 2 * width
    cuda.syncthreads()
    return key, item


@cuda.jit(device=True)
def block_select(value, is_chosen, selected, scratch):
    """How many of a block's threads choose their value, in all of them; the values are in ``selected``, in order.

    ``selected``: a shared array of the values' dtype; what is behind the chosen ones is left as it was. ``scratch``: of
    int32.
    """
    upto = block_inclusive_scan(np.int32(1 if is_chosen else 0), _add, scratch)
    total = scratch[cuda.blockDim.x - 1]
    if is_chosen:
        selected[upto - 1] = value
    cuda.syncthreads()
    return total


@cuda.jit(device=True)
def block_run_lengths(value, values, lengths, scratch):
    """How many stretches of equal neighbours a block's values have, in all threads; NaN is equal to none.

    ``values`` gets the value of each stretch, ``lengths``, of int32, how many threads have it. ``scratch``: of int32.
    """
    thread, size = cuda.threadIdx.x, cuda.blockDim.x
    values[thread] = value
    cuda.syncthreads()
    is_first = thread == 0 or values[max(thread - 1, 0)] != value
    # when it is over, all have read what their neighbour has
    number = block_inclusive_scan(np.int32(1 if is_first else 0), _add, scratch)
    total = scratch[size - 1]
    if is_first:
        values[number - 1] = value
        lengths[number - 1] = thread
    cuda.syncthreads()
    begin, end = np.int32(0), np.int32(size)
    if thread < total:
        begin = lengths[thread]
        if thread + 1 < total:
            end = lengths[thread + 1]
    cuda.syncthreads()
    if thread < total:
        lengths[thread] = end - begin
    cuda.syncthreads()
    return total
