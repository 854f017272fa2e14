"""What is known when kernels of radix sorts are compiled: the order of keys, what goes with them, blocks and digits."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from portagpu.primitives.sorts.ordering import Order


class Payload(Enum):
    """What moves with the keys."""

    NONE = "nothing"
    INDEX = "their places"  # that are not in memory yet
    ARRAY = "values"


class Plan(NamedTuple):
    """``width`` bits are a digit. Blocks have ``threads`` threads, each with ``items`` keys of a tile; 1 and 0 where a
    thread walks through its keys alone.

    ``value``: the type of values between passes; ``number``: of places and counts, ``word``: of what blocks tell each
    other, unsigned, with two bits to spare.
    """

    order: Order
    payload: Payload
    writes_keys: bool
    width: int
    threads: int
    items: int
    value: Any
    number: Any
    word: Any

    @property
    def digits(self) -> int:
        """How many values a digit has."""
        return 1 << self.width

    @property
    def passes(self) -> int:
        """How many digits a key has."""
        return -(-self.order.bits // self.width)

    @property
    def tile(self) -> int:
        """Keys of a block at a time."""
        return self.threads * self.items

    @property
    def digit_words(self) -> int:
        """Words that hold the digits of a thread's keys of a tile."""
        return -(-self.items // 4)

    @property
    def place(self) -> Any:
        """The unsigned type of the size of ``number``."""
        return np.dtype(f"u{np.dtype(self.number).name}").type

    @property
    def tile_of_values(self) -> int:
        """Values of a block at a time; an array of none would be dynamic."""
        return 1 if self.payload is Payload.NONE else self.tile


DIGITS = 256  # of kernels whose blocks share tiles, which have a thread for each
WIDTH = 8
WARP = 32
_SHARED = 72 * 1024  # bytes of shared memory of a block: so that several blocks run on a unit
_MOST_ITEMS = 16
_MOST_PAIRS = 12  # items that have values


def tile_items(order: Order, value: Any, threads: int, shared: int) -> int:
    """Keys of a thread of a tile, so that the tile and the warps' counters lie in shared memory."""
    element = order.bits // 8 + (0 if value is None else np.dtype(value).itemsize)
    counters = (threads // WARP + 3) * DIGITS * 4
    most = _MOST_ITEMS if value is None else _MOST_PAIRS
    return max(1, min(most, (min(shared, _SHARED) - counters) // (element * threads)))
