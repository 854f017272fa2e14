"""Rounds of turns, until every implementation's time is known well enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from portagpu.bench.method.plan import FULL, Method
from portagpu.bench.method.statistics import Samples, relative_error
from portagpu.bench.method.turns import Player
from portagpu.errors import PortaGPUError

FAILURES = (PortaGPUError, MemoryError, RuntimeError, ImportError)
"""What implementations raise: peers RuntimeError."""


@dataclass(slots=True)
class Timed:
    """An implementation's samples, which rule ended them, and what it raised."""

    rounds: list[tuple[float, ...]] = field(default_factory=list)
    stopped: str = ""
    failure: BaseException | None = None

    @property
    def samples(self) -> Samples:
        """Seconds of a call, by rounds."""
        return tuple(self.rounds)

    def is_known(self, method: Method) -> bool:
        """Whether there are samples enough, and their relative standard error is small."""
        if self.failure is not None:
            return True
        error = relative_error(self.samples)
        return self.has_enough(method) and error is not None and error <= method.target

    def has_enough(self, method: Method) -> bool:
        """Whether there are samples enough."""
        enough = len(self.rounds) >= method.least_rounds and sum(map(len, self.rounds)) >= method.least_samples
        return enough or self.failure is not None


def warm_up(player: Player, method: Method = FULL) -> None:
    """Let it run until two turns in a row are nearly alike, or the time for it is over."""
    if getattr(player, "is_steady", False):
        return
    begin, before = time.perf_counter(), 0.0
    while time.perf_counter() - begin < method.warm_up_seconds:
        turn = player.turn()
        now = sorted(turn)[len(turn) // 2]
        if before and abs(now - before) <= method.steady * now:
            return
        before = now


def play(
    players: list[Player],
    method: Method = FULL,
    progress: Callable[[int], object] = lambda number: None,
    begin: Callable[[], object] = lambda: None,
) -> list[Timed]:
    """Time players in turns; every other round is played in the opposite order.

    One that raises is out, and the others go on. ``begin`` is called after the warm-up, ``progress`` before each round.
    """
    found = [Timed() for _ in players]
    _each(players, found, range(len(players)), lambda player, _: warm_up(player, method))
    begin()
    started, number = time.perf_counter(), 0
    while not all(one.is_known(method) for one in found):
        spent = time.perf_counter() - started
        if spent > method.limit_seconds * len(players) and all(one.has_enough(method) for one in found):
            break
        progress(number)
        order = list(range(len(players)))[:: 1 if number % 2 == 0 else -1]
        _each(players, found, order, _take)
        number += 1
    for one in found:
        error = relative_error(one.samples)
        if error is not None:
            rule = "the target" if one.is_known(method) else "the time limit"
            one.stopped = f"{rule}: relative standard error {error:.2%} after {len(one.rounds)} rounds"
    return found


def _take(player: Player, timed: Timed) -> None:
    """A turn; its times in six digits, which is more than clocks tell, so that files of them stay small."""
    timed.rounds.append(tuple(float(f"{seconds:.6g}") for seconds in player.turn()))


def _each(
    players: list[Player],
    found: list[Timed],
    order: Iterable[int],
    action: Callable[[Player, Timed], None],
) -> None:
    for index in order:
        if found[index].failure is None:
            try:
                action(players[index], found[index])
            except FAILURES as error:
                found[index].failure = error


__all__ = ["FAILURES", "Timed", "play", "warm_up"]
