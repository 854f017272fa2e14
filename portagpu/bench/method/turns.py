"""Timing in turns: each implementation repeats its call for a while, then the next one does.

On NumPy arrays each call is waited for and timed by itself. On device arrays, where calls return before the work is
done, a sample is a batch of calls back to back, and one wait at the end: the time of a call is what a user sees who
enqueues one after the other, whether the device or the launches limit it. With cold caches each call is timed by
itself, with its launch and the wait.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from portagpu.bench.method.plan import FULL, Method

Product = Callable[[], None]  # computes the product once and waits for it

Clock = Callable[[Callable[[], None], Callable[[], object]], float]
"""``clock(enqueue, wait)``: seconds between two of the device's own events, before and after the work that ``enqueue``
gives it; it returns after ``wait``."""

_MOST_CALLS = 100_000
_MOST_SAMPLES = 40  # of a turn
_LEAST_SECONDS = 0.001  # of a sample
_SHORT_QUEUE = 50  # calls that are enqueued before a wait
_LEAST_CALLS = 4  # of a batch, and the time of a call up to which there are so many
_SHORT_SECONDS = 0.1
_WARM_UP = 8  # a turn's calls over those that come before it, untimed


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call that is ready to be made again and again.

    ``enqueue`` it, ``wait`` for all, ``fetch`` the result to the host; ``clock``: see `Clock`.
    ``flush``: fills the device's caches with other data, and waits, where that is to be done by the same library: a GPU
    changes between those of two libraries for a tenth of a millisecond. ``parts``: how many of what is told a call has,
    as loads of a chase, where one by itself is too short to be timed; times are those of a part.
    """

    enqueue: Callable[[], Any]
    wait: Callable[[], Any] = lambda: None
    fetch: Callable[[], Any] | None = None
    clock: Clock | None = None
    flush: Callable[[], object] | None = None
    parts: int = 1

    def product(self) -> None:
        """One call, waited for."""
        self.enqueue()
        self.wait()


class Player(Protocol):
    """Takes turns: makes its call for a while and tells the seconds that each took.

    One that has an attribute ``is_steady``, and that is true, needs no warm-up: each of its samples is a new process.
    """

    def turn(self) -> list[float]:
        """One turn."""


def take_turn(product: Product, method: Method = FULL) -> list[float]:
    """Seconds of a call by samples, after the pause: as many as fit into a turn, at least one.

    Calls shorter than a millisecond are timed several together, each waited for.
    """
    time.sleep(method.pause_seconds)
    times: list[float] = []
    calls = 1
    begin = time.perf_counter()
    while not times or (time.perf_counter() - begin < method.round_seconds and len(times) < _MOST_SAMPLES):
        started = time.perf_counter()
        for _ in range(calls):
            product()
        seconds = time.perf_counter() - started
        if seconds < _LEAST_SECONDS and calls < _MOST_CALLS:  # not a sample yet
            calls = min(_MOST_CALLS, max(2 * calls, math.ceil(calls * 1.1 * _LEAST_SECONDS / max(seconds, 1e-9))))
            continue
        times.append(seconds / calls)
    return times


class OneByOne:
    """A player whose calls are waited for one by one."""

    def __init__(self, call: Call, method: Method = FULL, look: Callable[[], object] = lambda: None) -> None:
        self._call, self._method, self._look = call, method, look

    def turn(self) -> list[float]:
        """Seconds of each sample."""
        times = take_turn(self._call.product, self._method)
        self._look()
        return [seconds / self._call.parts for seconds in times]


class BackToBack:
    """A player that enqueues a batch of calls back to back and waits once; see the module's text.

    ``look`` is called while the device computes calls that are not timed.
    """

    def __init__(self, call: Call, method: Method = FULL, look: Callable[[], object] = lambda: None) -> None:
        self._call, self._method, self._look = call, method, look
        self.calls = 0  # of a batch

    def turn(self) -> list[float]:
        """Seconds of a call, on average, by batches."""
        if not self.calls:
            self.calls = self._enough()
        for _ in range(max(1, self.calls // _WARM_UP)):
            self._call.enqueue()
        self._look()
        self._call.wait()
        times: list[float] = []
        spent = 0.0
        while not times or (spent < self._method.round_seconds and len(times) < _MOST_SAMPLES):
            seconds = self.seconds(self.calls)
            spent += seconds
            if seconds < _LEAST_SECONDS and self.calls < _MOST_CALLS:  # no sample: what they were counted by was slow
                self.calls = min(_MOST_CALLS, max(2 * self.calls, self._enough()))
                continue
            times.append(seconds / self.calls / self._call.parts)
        return times

    def seconds(self, calls: int) -> float:
        """What so many calls take together."""
        enqueue = self._call.enqueue
        begin = time.perf_counter()
        for _ in range(calls):
            enqueue()
        self._call.wait()
        return time.perf_counter() - begin

    def _enough(self) -> int:
        """Calls that fill a sample."""
        begin = time.perf_counter()
        self._call.product()
        wanted = self._method.sample_seconds
        calls = _LEAST_CALLS if time.perf_counter() - begin < _SHORT_SECONDS else 1
        while calls < _MOST_CALLS:
            seconds = self.seconds(calls)
            if seconds >= wanted:
                break
            calls = min(_MOST_CALLS, max(2 * calls, math.ceil(calls * 1.1 * wanted / max(seconds, 1e-9))))
        return calls


class Enqueued:
    """A player that tells how long calls take to return, while the device's queue is kept short.

    After some calls it waits, which is not counted, so that none of them waits for room in the queue.
    """

    def __init__(self, call: Call, method: Method = FULL, look: Callable[[], object] = lambda: None) -> None:
        self._call, self._method, self._look = call, method, look

    def turn(self) -> list[float]:
        """Seconds of a call, on average, by samples."""
        self._batch()
        self._look()
        times: list[float] = []
        began = time.perf_counter()
        while not times or (time.perf_counter() - began < self._method.round_seconds and len(times) < _MOST_SAMPLES):
            times.append(self._sample())
        return times

    def _sample(self) -> float:
        spent, batches = 0.0, 0
        while not batches or (spent < self._method.sample_seconds and batches < _MOST_CALLS // _SHORT_QUEUE):
            spent += self._batch()
            batches += 1
        return spent / batches / _SHORT_QUEUE / self._call.parts

    def _batch(self) -> float:
        """What the calls of a short queue take together; the wait for them comes after the clock is read."""
        enqueue = self._call.enqueue
        begin = time.perf_counter()
        for _ in range(_SHORT_QUEUE):
            enqueue()
        seconds = time.perf_counter() - begin
        self._call.wait()
        return seconds


def waited(call: Call, method: Method = FULL, look: Callable[[], object] = lambda: None) -> OneByOne:
    """A player whose calls are waited for one by one, without a pause before each turn."""
    return OneByOne(call, replace(method, pause_seconds=0.0), look)


class Cold:
    """A player whose every call comes after ``flush``, which fills the caches with other data."""

    def __init__(
        self, call: Call, flush: Callable[[], object], method: Method = FULL, look: Callable[[], object] = lambda: None
    ) -> None:
        self._call, self._flush, self._method, self._look = call, flush, method, look

    def turn(self) -> list[float]:
        """Seconds of each call, with its launch and the wait."""
        times: list[float] = []
        began = time.perf_counter()
        least = -(-self._method.least_samples // self._method.least_rounds)
        while len(times) < least or (
            time.perf_counter() - began < self._method.round_seconds and len(times) < _MOST_SAMPLES
        ):
            self._flush()
            begin = time.perf_counter()
            self._call.product()
            times.append((time.perf_counter() - begin) / self._call.parts)
        self._look()
        return times


__all__ = ["BackToBack", "Call", "Clock", "Cold", "Enqueued", "OneByOne", "Player", "Product", "take_turn", "waited"]
