"""NumPy's stream of `numpy.random.Philox`, on a device: Philox4x64-10.

Words of 64 bits come one after the other; what takes 32 bits takes the lower half of a word, and the upper half is kept
for the next such number, whatever comes between.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from portagpu.dispatch import ready
from portagpu.errors import ArgumentTypeError
from portagpu.expressions.apply import apply
from portagpu.primitives.gathers.gathering import Subscripts, gather
from portagpu.primitives.selections.selection import flatnonzero
from portagpu.random.bit_generator import sequence_of
from portagpu.random.discrete import bounds_of
from portagpu.random.reference_kernels import Numbers, fill_from_reference, judging_kernel
from portagpu.random.targets import Target, real_dtype
from portagpu.random.thread_shares import grid_of
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.context import Context, current_context
from portagpu.ufuncs.kernel_source import launch

_END = 2**256
_LOW = 2**64 - 1
_WORDS, _HALVES = Numbers(np.uint64, 1), Numbers(np.uint32, 2)


class Philox4x64:
    """Philox4x64-10 with the words, uniform numbers and integers of `numpy.random.Philox`, bit by bit.

    ``seed``, ``counter`` and ``key`` are NumPy's: the counter has 256 bits, the key 128. Calls of several threads take
    turns. Raises `ArgumentTypeError`, `ArgumentValueError`.
    """

    def __init__(self, seed: Any = None, *, counter: int = 0, key: int | None = None) -> None:
        if key is None:
            low, high = (int(word) for word in sequence_of(seed).generate_state(2, np.uint64))
            key = high << 64 | low
        self._lock = threading.Lock()
        self._key = np.uint64(key & _LOW), np.uint64(key >> 64 & _LOW)
        self._word = 4 * (counter + 1)  # the counter is raised before a block is made
        self._kept: int | None = None  # the word whose upper half is the next number of 32 bits

    def random_raw(self, size: Any = None) -> DeviceNDArray:
        """Words of 64 bits. Raises `ShapeError`."""
        return self._drawn(size, _WORDS)

    def random(self, size: Any = None, dtype: Any = None) -> DeviceNDArray:
        """The numbers of ``numpy.random.Generator(numpy.random.Philox(seed)).random(size, dtype)``.

        Of float32 each word gives two. Raises `ShapeError`, `DTypeError`.
        """
        kind = real_dtype(dtype, current_context())
        return self._drawn(size, Numbers(kind.type, 1 if kind.itemsize == 8 else 2))

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> DeviceNDArray:
        """The numbers of ``numpy.random.Generator(numpy.random.Philox(seed)).integers(low, high, size, dtype)``.

        Where words may be refused, so that it depends on them which word is whose number, more are made than needed,
        and those that are taken are selected: the host waits for their places. Bounds are numbers.
        Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `ArgumentValueError`.
        """
        begin, span, kind = bounds_of(low, high, dtype, endpoint)
        if not isinstance(span, int):
            raise ArgumentTypeError(
                "the bounds of integers of NumPy's stream are numbers, not arrays", hint="default_rng().integers(...)"
            )
        context = current_context()
        target = Target(context, size, kind, None)
        if span == 1:  # nothing is drawn
            target.array.fill(begin)
            return target.array
        width = 1 if kind.kind == "b" else 8 * kind.itemsize
        if width == 64 and span <= 2**32:
            width = 32
        count = target.array.size
        if count:
            with self._lock:
                target.array.reshape(-1).copy_to_device(self._bounded(count, begin, span, width, kind, context))
        return target.array

    def advance(self, delta: int) -> Philox4x64:
        """Leave out as many blocks, and what is left of the last one; this bit generator."""
        with self._lock:
            self._word = 4 * (-(-self._word // 4) + int(delta))
            self._kept = None
        return self

    def jumped(self, jumps: int = 1) -> Philox4x64:
        """A bit generator 2**128 blocks further, for each of the jumps."""
        made = Philox4x64(key=int(self._key[1]) << 64 | int(self._key[0]))
        made._word = self._word + 4 * 2**128 * jumps
        return made

    def _drawn(self, size: Any, plan: Numbers) -> DeviceNDArray:
        target = Target(current_context(), size, np.dtype(plan.dtype), None)
        with self._lock:
            word, kept = self._word, self._kept
            self._take(target.array.size, plan.per_word)

        return target.filled(lambda flat: self._fill(flat, plan, word, kept))

    def _take(self, count: int, per_word: int) -> None:
        """Go on by numbers of which a word has one or two."""
        if per_word == 1:
            self._word += count
            return
        if self._kept is not None and count:
            self._kept, count = None, count - 1
        self._word += -(-count // 2)
        if count % 2:
            self._kept = self._word - 1

    def _fill(self, flat: DeviceNDArray, plan: Numbers, word: int, kept: int | None) -> None:
        """Numbers of the words from one on, the first of what is kept of another."""
        if plan.per_word == 2 and kept is not None and flat.size:
            if kept + 1 == word:
                self._launch(flat, plan, 2 * word - 1)
                return
            self._launch(flat._view(slice(0, 1)), plan, 2 * kept + 1)
            flat = flat._view(slice(1, None))
        self._launch(flat, plan, plan.per_word * word)

    def _launch(self, flat: DeviceNDArray, plan: Numbers, first: int) -> None:
        if not flat.size:
            return
        block, skipped = divmod(first, 4 * plan.per_word)
        counter = tuple(np.uint64(block % _END >> shift & _LOW) for shift in (0, 64, 128, 192))
        grid, threads, chunked = grid_of(flat)
        arguments = counter, self._key, np.int64(skipped), plan._replace(chunked=chunked)
        ready.launch(fill_from_reference, grid, threads, (flat, *arguments))

    def _bounded(
        self, count: int, begin: int, span: int, width: int, kind: np.dtype[Any], context: Context
    ) -> DeviceNDArray:
        """So many numbers of Lemire's method, of words of ``width`` bits, and the state behind them."""
        least = 2**width % span
        share = 1 - least / 2**width  # of the words that are taken
        wanted = count if not least else int(count / share + 8 * (count**0.5 + 8))
        while True:
            words = self._words(wanted, width, context)
            with context.unsettled:
                out = device_array(wanted, kind, context=context)
                taken = device_array(wanted, np.bool_, context=context)
                numbers = np.uint64(begin % 2**64), np.uint64(span % 2**64), np.uint64(least)
                launch(judging_kernel(width), wanted, None, 0, (words, out, taken, *numbers), context)
            if not least:
                self._use(count, width)
                return out
            places = flatnonzero(taken)
            if places.size >= count:
                self._use(int(places[count - 1]) + 1, width)
                return gather(out, 0, 1, Subscripts(places[:count], known=True))
            wanted = 2 * wanted

    def _words(self, count: int, width: int, context: Context) -> DeviceNDArray:
        """The next words of some bits, or more of them: small ones are the parts of 32 bits, from the lowest on."""
        plan = _WORDS if width == 64 else _HALVES
        each = max(1, 32 // width)
        made = device_array(-(-count // each), plan.dtype, context=context)
        with context.unsettled:
            self._fill(made, plan, self._word, self._kept)
        if width == 1:
            shifts = apply(np.right_shift, made.view(np.uint8).reshape(-1, 1), _bit_numbers(context))
            return apply(np.bitwise_and, shifts, np.uint8(1)).reshape(-1)
        return made if width >= 32 else made.view(np.dtype(f"uint{width}"))

    def _use(self, count: int, width: int) -> None:
        """Go on by words of some bits: of small ones the rest of the last 32 bits is left out."""
        self._take(-(-count * width // 32) if width < 64 else count, 1 if width == 64 else 2)


def _bit_numbers(context: Context) -> DeviceNDArray:
    made = device_array(8, np.uint8, context=context)
    made.copy_to_device(np.arange(8, dtype=np.uint8))
    return made
