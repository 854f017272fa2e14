"""NumPy's stream of `numpy.random.Philox`, on a device: Philox4x64-10."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.random import conversions as bits
from portagpu.random.bit_generator import sequence_of
from portagpu.random.philox import philox4x64
from portagpu.random.targets import Target, real_dtype
from portagpu.random.thread_shares import grid_of, share_of_thread
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import current_context

_END = 2**256
_LOW = 2**64 - 1


class Numbers(NamedTuple):
    """What words become: themselves, or uniform numbers; ``per_word`` of each."""

    dtype: Any
    per_word: int
    chunked: bool = False


@cuda.jit
def fill_from_reference(out, counter, key, skipped, plan: cuda.constexpr):
    """Numbers of the words behind the first ``skipped`` numbers of a block; a thread has a block or neighbouring ones.

    ``counter``: four uint64 of the first block, whose lowest words do not overflow into the fourth.
    """
    width = 4 * plan.per_word
    blocks = (out.size + skipped + width - 1) // width
    first, end = share_of_thread(blocks, plan.chunked)
    for block in range(first, end):
        c0 = counter[0] + np.uint64(block)
        c1 = counter[1] + (np.uint64(1) if c0 < counter[0] else np.uint64(0))
        c2 = counter[2] + (np.uint64(1) if c1 < counter[1] else np.uint64(0))
        c3 = counter[3] + (np.uint64(1) if c2 < counter[2] else np.uint64(0))
        words = philox4x64((c0, c1, c2, c3), key)
        for k in cuda.unroll(range(4)):
            low, high = np.uint32(words[k]), np.uint32(words[k] >> np.uint64(32))
            for half in cuda.unroll(range(plan.per_word)):
                at = np.int64(block) * width + (k * plan.per_word + half) - skipped
                if at >= 0 and at < out.size:
                    if plan.per_word == 2:
                        out[at] = bits.uniform_float32(low if half == 0 else high)
                    elif plan.dtype is np.float64:
                        out[at] = bits.uniform_float64(low, high)
                    else:
                        out[at] = words[k]


class Philox4x64:
    """Philox4x64-10 with the words, and the uniform numbers, of `numpy.random.Philox`, bit by bit.

    ``seed``, ``counter`` and ``key`` are NumPy's: the counter has 256 bits, the key 128. Raises `ArgumentTypeError`,
    `ArgumentValueError`.
    """

    def __init__(self, seed: Any = None, *, counter: int = 0, key: int | None = None) -> None:
        if key is None:
            low, high = (int(word) for word in sequence_of(seed).generate_state(2, np.uint64))
            key = high << 64 | low
        self._lock = threading.Lock()
        self._key = np.uint64(key & _LOW), np.uint64(key >> 64 & _LOW)
        self._counter = counter
        self._word = 4 * (counter + 1)  # the counter is raised before a block is made
        self._has_half = False

    def random_raw(self, size: Any = None) -> DeviceNDArray:
        """Words of 64 bits. Raises `ShapeError`."""
        return self._drawn(size, Numbers(np.uint64, 1))

    def random(self, size: Any = None, dtype: Any = None) -> DeviceNDArray:
        """The numbers of ``numpy.random.Generator(numpy.random.Philox(seed)).random(size, dtype)``.

        Of float32 each word gives two. What an odd count of them leaves of a word is the next number where the next
        call is for float32, too, and is left out otherwise. Raises `ShapeError`, `DTypeError`.
        """
        kind = real_dtype(dtype, current_context())
        return self._drawn(size, Numbers(kind.type, 1 if kind.itemsize == 8 else 2))

    def advance(self, delta: int) -> Philox4x64:
        """Leave out as many blocks, and what is left of the last one; this bit generator."""
        with self._lock:
            self._word = 4 * (-(-self._word // 4) + int(delta))
            self._has_half = False
        return self

    def jumped(self, jumps: int = 1) -> Philox4x64:
        """A bit generator 2**128 blocks further, for each of the jumps."""
        made = Philox4x64(key=int(self._key[1]) << 64 | int(self._key[0]))
        made._word = self._word + 4 * 2**128 * jumps
        return made

    def _drawn(self, size: Any, plan: Numbers) -> DeviceNDArray:
        target = Target(current_context(), size, np.dtype(plan.dtype), None)
        count = target.array.size
        with self._lock:
            first = plan.per_word * self._word
            if self._has_half and plan.per_word == 2:
                first -= 1
            end = first + count
            self._word, odd = -(-end // plan.per_word), end % plan.per_word
            self._has_half = bool(odd)
        block, skipped = divmod(first, 4 * plan.per_word)
        counter = tuple(np.uint64(block % _END >> shift & _LOW) for shift in (0, 64, 128, 192))

        def fill(flat: DeviceNDArray) -> None:
            if count:
                grid, threads, chunked = grid_of(flat)
                arguments = (counter, self._key, np.int64(skipped), plan._replace(chunked=chunked))
                fill_from_reference[grid, threads](flat, *arguments)

        return target.filled(fill)
