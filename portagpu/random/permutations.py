"""Random orders: where elements of a permutation come from.

Few elements, up to 512, are ordered by random keys of 64 bits. Of more, each place is mapped to another by a keyed
bijection of the next power of two, Feistel's network (Luby and Rackoff 1988), again until it is one of the places: no
sort, no exchange between threads, and a part of a permutation costs no more than that part.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.dispatch import ready
from portagpu.random.filling import Place
from portagpu.random.philox import block_at
from portagpu.random.thread_shares import grid_of, share_of_thread
from portagpu.runtime.arrays.array import DeviceNDArray

MOST_ORDERED = 512
"""Lengths up to which elements are ordered by keys."""
_ROUNDS = 6  # each changes both halves
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_MULTIPLY_0, _MULTIPLY_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)


class Order(NamedTuple):
    """``is_mapped``: by the bijection. ``is_each``: each row has an order of its own. ``is_moved``: elements are
    stored, not places. ``chunked``: a thread has neighbouring elements.
    """

    is_mapped: bool
    is_each: bool
    is_moved: bool
    chunked: bool = False


class Extents(NamedTuple):
    """Rows of ``length``, of each of which ``taken`` elements are drawn, with ``inner`` elements from one to the next.

    The bijection is one of ``low`` and ``high`` bits.
    """

    length: Any
    taken: Any
    inner: Any
    low: Any = np.uint32(0)
    high: Any = np.uint32(0)


@cuda.jit(device=True)
def _mixed(half, key):
    """A random function of 32 bits under a key of 32."""
    product = np.uint64(half ^ key) * _MULTIPLY_0
    product = np.uint64(np.uint32(product >> _HALF) ^ np.uint32(product) ^ key) * _MULTIPLY_1
    return np.uint32(product >> _HALF) ^ np.uint32(product)


@cuda.jit(device=True)
def _mapped(value, keys, low_bits, high_bits):
    """A bijection of integers of ``low_bits + high_bits`` bits, at most 62."""
    k0, k1, k2, k3 = keys
    low_mask = np.uint32((_ONE << np.uint64(low_bits)) - _ONE)
    high_mask = np.uint32((_ONE << np.uint64(high_bits)) - _ONE)
    low = np.uint32(value) & low_mask
    high = np.uint32(value >> np.uint64(low_bits))
    for turn in cuda.unroll(range(_ROUNDS)):
        low ^= _mixed(high, k0 if turn % 2 == 0 else k2) & low_mask
        high ^= _mixed(low, k1 if turn % 2 == 0 else k3) & high_mask
        k0 += _WEYL_0
        k1 += _WEYL_1
        k2 += _WEYL_0
        k3 += _WEYL_1
    return np.uint64(high) << np.uint64(low_bits) | np.uint64(low)


@cuda.jit
def draw_in_order(target, source, places, place, extents, plan: cuda.constexpr):
    """Element ``k`` of a row is that at the place which the row's permutation has at ``k``."""
    length, taken, inner = extents.length, extents.taken, extents.inner
    first, end = share_of_thread(target.size, plan.chunked)
    for i in range(first, end):
        line = i // inner
        outer, k = line // taken, line % taken
        row = np.int64(0)
        if plan.is_each:
            row = outer * inner + i % inner
        if plan.is_mapped:
            keys = block_at(place.start + np.uint64(row), place.stream, np.uint32(0), place.key)
            found = _mapped(np.uint64(k), keys, extents.low, extents.high)
            while found >= np.uint64(length):
                found = _mapped(found, keys, extents.low, extents.high)
            at = np.int64(found)
        else:
            at = np.int64(places[row * length + k])
        if plan.is_moved:
            target[i] = source[(outer * length + at) * inner + i % inner]
        else:
            target[i] = at


@cuda.jit
def order_by_keys(places, keys, length, chunked: cuda.constexpr):
    """``places[row * length + r]``: the place of a row's key of rank ``r``, for one key or neighbouring ones."""
    first, end = share_of_thread(keys.size, chunked)
    for i in range(first, end):
        begin = i // length * length
        key = keys[i]
        rank = 0
        for j in range(begin, i):
            rank += 1 if keys[j] <= key else 0
        for j in range(i + 1, begin + length):
            rank += 1 if keys[j] < key else 0
        places[begin + rank] = i - begin


@cuda.jit
def find_shares(places, numbers, sums, chunked: cuda.constexpr):
    """The first place whose ascending sum is above a number, the last one where none is."""
    begin, end = share_of_thread(numbers.size, chunked)
    for i in range(begin, end):
        first, last = np.int64(0), np.int64(sums.size - 1)
        while first < last:
            middle = (first + last) // 2
            if sums[middle] > numbers[i]:
                last = middle
            else:
                first = middle + 1
        places[i] = first


@cuda.jit
def gather_lines(target, source, places, extents, chunked: cuda.constexpr):
    """``target[outer, k, inner] = source[outer, places[k], inner]``."""
    first, end = share_of_thread(target.size, chunked)
    for i in range(first, end):
        line = i // extents.inner
        outer, k = line // extents.taken, line % extents.taken
        target[i] = source[(outer * extents.length + places[k]) * extents.inner + i % extents.inner]


def extents_of(length: int, taken: int, inner: int) -> Extents:
    """Extents with the bits of the bijection."""
    bits = max(2, (length - 1).bit_length())
    low = bits // 2
    rows = np.int64(max(1, length)), np.int64(max(1, taken)), np.int64(max(1, inner))
    return Extents(*rows, np.uint32(low), np.uint32(bits - low))


def drawn_in_order(
    target: DeviceNDArray,
    source: DeviceNDArray | None,
    places: DeviceNDArray | None,
    place: Place,
    extents: Extents,
    *,
    is_each: bool,
    stream: Any,
) -> None:
    """Fill an array of one axis; ``places``: permutations of rows, where they are not mapped."""
    plan = Order(places is None, is_each, source is not None)
    grid, threads, chunked = grid_of(target)
    nothing = target  # stands where nothing is read
    arguments = (nothing if source is None else source, nothing if places is None else places)
    ready.launch(
        draw_in_order, grid, threads, (target, *arguments, place, extents, plan._replace(chunked=chunked)), stream
    )
