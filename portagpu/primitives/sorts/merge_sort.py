"""Merge sort by any comparison: runs are sorted by a thread each, then merged in pairs by all threads.

A thread finds where its share of a merged pair begins by the merge path: O. Green, R. McColl, D. Bader, "GPU Merge
Path", ICS 2012.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import KernelTypeError
from portagpu.primitives.sorts.rows import Rows, checked_axis
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream
from portagpu.ufuncs.kernel_source import launch
from portagpu.ufuncs.operands import array_of


class Merge(NamedTuple):
    """The comparison, and elements that a thread sorts, or stores when it merges."""

    before: Any
    run: int


@cuda.jit
def sort_runs(source, keys, places, length, plan: cuda.constexpr):
    """Sort runs of rows of ``length`` elements by insertion, a thread each."""
    shares = (length + plan.run - 1) // plan.run
    i = cuda.grid(1)
    if i < source.size // length * shares:
        origin = i // shares * length
        begin = origin + i % shares * plan.run
        for k in range(begin, min(begin + plan.run, origin + length)):
            key = source[k]
            at = k
            while at > begin and plan.before(key, keys[at - 1]):
                keys[at] = keys[at - 1]
                places[at] = places[at - 1]
                at -= 1
            keys[at] = key
            places[at] = k - origin


@cuda.jit
def merge_runs(keys, places, merged, merged_places, length, width, plan: cuda.constexpr):
    """Merge neighbouring runs of ``width`` sorted elements; a thread stores as many as a first run had."""
    shares = (length + plan.run - 1) // plan.run
    i = cuda.grid(1)
    if i < keys.size // length * shares:
        origin = i // shares * length
        end = origin + length
        target = origin + i % shares * plan.run
        first = origin + (target - origin) // (2 * width) * (2 * width)
        second = min(first + width, end)
        last = min(first + 2 * width, end)
        diagonal = target - first
        low, high = max(0, diagonal - (last - second)), min(diagonal, second - first)
        while low < high:
            middle = (low + high) >> 1
            if plan.before(keys[second + diagonal - 1 - middle], keys[first + middle]):
                high = middle
            else:
                low = middle + 1
        a, b = first + low, second + diagonal - low
        for k in range(target, min(target + plan.run, end)):
            takes_a = a < second
            if takes_a and b < last:
                takes_a = not plan.before(keys[b], keys[a])
            at = a if takes_a else b
            merged[k] = keys[at]
            merged_places[k] = places[at]
            a += 1 if takes_a else 0
            b += 0 if takes_a else 1


def merge_sort(
    x: Any, before: Callable[[Any, Any], Any], /, *, axis: int = -1, stream: Stream | int = 0
) -> tuple[DeviceNDArray, DeviceNDArray]:
    """A sorted copy of an array along an axis, and the places, int64, that its elements come from.

    ``before(a, b)``: a function, or a device function, that says whether element ``a`` comes before ``b``: a strict
    weak order, as C++ asks of ``std::sort``. Elements may be records. Equal ones keep their order.
    """
    function: Any = before
    if not isinstance(before, Dispatcher):
        if not callable(before):
            raise KernelTypeError(
                f"merge_sort takes a function of two elements, not {type(before).__name__}",
                hint="write @cuda.jit(device=True) before it",
            )
        function = cuda.jit(before, device=True)
    x = array_of(x)
    rows = Rows(x, checked_axis(axis, x.ndim))
    context = x.context
    run = 32 if context.capabilities.is_serial else 8
    plan = Merge(function, run)
    with context.unsettled:
        source = rows.array.reshape(-1)
        keys, other = (device_array(source.size, x.dtype, context=context) for _ in range(2))
        places, other_places = (device_array(source.size, np.int64, context=context) for _ in range(2))
        if source.size:
            shares = rows.count * -(-rows.length // run)
            launch(sort_runs, shares, None, stream, (source, keys, places, rows.length, plan), context)
            width = run
            while width < rows.length:
                args = (keys, places, other, other_places, rows.length, width, plan)
                launch(merge_runs, shares, None, stream, args, context)
                keys, other, places, other_places = other, keys, other_places, places
                width *= 2
        return rows.restored(keys, x.dtype), rows.restored(places, places.dtype)
