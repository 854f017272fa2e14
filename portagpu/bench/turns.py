"""Timing in turns: each implementation repeats its product for a while, then the next one does.

On NumPy arrays each product is waited for and timed by itself. On device arrays, where calls return before the product
is done, a turn is a batch of calls back to back, enough for 50 ms, and one wait at the end: the time of a call is what
a user sees who enqueues products one after the other, whether the device or the launches limit it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

Product = Callable[[], None]  # computes the product once and waits for it

ROUNDS = 5
SHORT_ROUNDS = 15  # of short products: what others do to the cores lasts longer than a turn
BACK_TO_BACK_ROUNDS = 9
PAUSE_SECONDS = 0.15  # before a turn: BLAS libraries let their threads spin for some 0.1 s after a product
_SHORT_SECONDS = 0.05
_TURN_SECONDS = 0.08
_MAX_TURN_REPEATS = 40
_BACK_TO_BACK_SECONDS = 0.05
_MAX_CALLS = 20_000
_WARM_UP = 8  # a turn's calls over those that come before it, untimed


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A product that is ready to be computed again and again: enqueue it, wait for all, take the result to the host."""

    enqueue: Callable[[], Any]
    wait: Callable[[], Any] = lambda: None
    fetch: Callable[[], Any] | None = None

    def product(self) -> None:
        """One product, waited for."""
        self.enqueue()
        self.wait()


class Player(Protocol):
    """Takes turns: computes its product for a while and tells the seconds that each took."""

    def turn(self) -> list[float]:
        """One turn."""


def take_turn(product: Product) -> list[float]:
    """Seconds of each repetition, after the pause: as many as fit into a turn, at least one."""
    time.sleep(PAUSE_SECONDS)
    times: list[float] = []
    begin = time.perf_counter()
    while not times or (time.perf_counter() - begin < _TURN_SECONDS and len(times) < _MAX_TURN_REPEATS):
        started = time.perf_counter()
        product()
        times.append(time.perf_counter() - started)
    return times


class OneByOne:
    """A player whose products are waited for and timed one by one."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def turn(self) -> list[float]:
        """Seconds of each product."""
        return take_turn(self._call.product)


class BackToBack:
    """A player that enqueues its products back to back and waits once; see the module's text."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._calls = 0

    def turn(self) -> list[float]:
        """Seconds of a call, on average."""
        if not self._calls:
            self._calls = self._enough()
        for _ in range(max(1, self._calls // _WARM_UP)):
            self._call.enqueue()
        self._call.wait()
        return [self._seconds(self._calls) / self._calls]

    def _seconds(self, calls: int) -> float:
        enqueue = self._call.enqueue
        begin = time.perf_counter()
        for _ in range(calls):
            enqueue()
        self._call.wait()
        return time.perf_counter() - begin

    def _enough(self) -> int:
        """Calls that take 50 ms together."""
        self._call.product()
        calls = 1
        while calls < _MAX_CALLS:
            seconds = self._seconds(calls)
            if seconds >= _BACK_TO_BACK_SECONDS:
                break
            calls = min(_MAX_CALLS, max(2 * calls, int(calls * 1.1 * _BACK_TO_BACK_SECONDS / max(seconds, 1e-9))))
        return calls


def play(players: list[Player], rounds: int, short_rounds: int | None = None) -> list[list[float]]:
    """Seconds of each player's products, all rounds in one list; see `play_rounds`."""
    return [[one for turn in turns for one in turn] for turns in play_rounds(players, rounds, short_rounds)]


def play_rounds(players: list[Player], rounds: int, short_rounds: int | None = None) -> list[list[list[float]]]:
    """Seconds of each player's products, round by round; every other round is played in the opposite order.

    ``short_rounds`` are played in place of ``rounds``, if given, where the first player's products turn out to be
    short.
    """
    times: list[list[list[float]]] = [[] for _ in players]
    order = list(range(len(players)))
    number = 0
    while number < rounds:
        for index in order if number % 2 == 0 else reversed(order):
            times[index].append(players[index].turn())
        number += 1
        if number == 1 and short_rounds is not None and statistics.median(times[0][0]) < _SHORT_SECONDS:
            rounds = short_rounds
    return times


__all__ = ["BACK_TO_BACK_ROUNDS", "PAUSE_SECONDS", "ROUNDS", "SHORT_ROUNDS", "BackToBack", "Call", "OneByOne"]
__all__ += ["Player", "Product", "play", "play_rounds", "take_turn"]
