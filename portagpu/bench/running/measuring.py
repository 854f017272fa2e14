"""One case measured: first calls verified, rounds of turns, clocks compared, energy; a cell for each contender."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from portagpu.bench.conditions import Conditions, Monitor
from portagpu.bench.method.plan import Method
from portagpu.bench.method.rounds import FAILURES, Timed, play
from portagpu.bench.method.statistics import median
from portagpu.bench.method.turns import BackToBack, Call, Clock, Cold, OneByOne, Player
from portagpu.bench.records.cell import Caches, Cell, Memory, Status
from portagpu.bench.running.case import Case, Contender
from portagpu.bench.running.programs import with_programs
from portagpu.errors import MissingCapabilityError, UnsupportedError
from portagpu.source import Span
from portagpu.tuning.tunables.user_faults import blamed

_FASTER_THAN_POSSIBLE = 0.95  # of the device's own time: the host did not wait for the work
_TRIES = 4
_MOST_AT_ONCE = 64  # calls between two looks at the clock
_MOST_OF_REASON = 1000  # characters, so that files can be read again
_QUOTED = r"(?<=['\"])[~.]{0,2}/(?:[^'\"\n]*/)?"
_BARE = r"(?<![\w/:.~])[~.]{0,2}/(?:[^\s/'\"]+/)*(?=[^\s/'\"])"
_FOLDERS = re.compile(f"{_QUOTED}|{_BARE}")  # of a path: all but its last part
_WORDS = re.compile(r"\w")  # other lines are frames around a text
_LONG_SECONDS = 0.05  # of which the time that a thread waits for a core is a small part
_CLOCKS_SECONDS = 2e-4  # that events of two queues may be apart


@dataclass(slots=True)
class _Entrant:
    """A contender while its case is measured."""

    contender: Contender
    another: Callable[[], Monitor]
    call: Call | None = None
    players: list[tuple[str, Player]] = field(default_factory=list)
    status: Status = Status.MEASURED
    reason: str = ""
    error: float | None = None
    first_call: float | None = None
    kernel: str = ""
    tuning: str = ""
    timed: list[Timed] = field(default_factory=list)
    device_seconds: float | None = None
    conditions: Conditions | None = None
    monitor: Monitor = field(init=False)

    def __post_init__(self) -> None:
        """One monitor is there from the beginning."""
        self.monitor = self.another()

    def fail(self, status: Status, reason: str) -> None:
        """No numbers, and why."""
        self.status, self.reason, self.players = status, reason, []

    @property
    def best(self) -> int:
        """The fastest of several players, of those that did not fail."""
        times = [math.inf if one.failure else median(one.samples) or math.inf for one in self.timed]
        return times.index(min(times))


def measure(
    case: Case,
    method: Method,
    *,
    monitor: Callable[[], Monitor],
    caches: Caches = Caches.HOT,
    flush: Callable[[], None] | None = None,
    progress: Callable[[str], object] = lambda text: None,
    failed: Callable[[Contender, BaseException], object] = lambda contender, failure: None,
) -> Iterator[Cell]:
    """Measure a case's contenders; a cell for each, in their order.

    ``monitor()`` makes one that reads the device's clocks and power. ``flush``: fills the device's caches with other
    data, for `Caches.COLD`. ``failed`` is told of first calls that raise, and may raise itself.
    """
    entrants = [_Entrant(contender, monitor) for contender in case.contenders]
    for entrant in entrants:
        progress(f"{entrant.contender.implementation}: first call")
        _first_call(entrant, case, failed)
        if entrant.status is Status.MEASURED:
            _make_players(entrant, case, method, caches, flush)
    playing = [(entrant, player) for entrant in entrants for _, player in entrant.players]
    times = play(
        [player for _, player in playing],
        method,
        progress=lambda number: progress(f"round {number + 1}, in turns with peers"),
        begin=lambda: _begin(entrants),
    )
    for (entrant, _), timed in zip(playing, times, strict=True):
        entrant.timed.append(timed)
    for entrant in entrants:
        if entrant.timed:
            _finish(entrant, method, caches)
    yield from (_cell(entrant, case, caches) for entrant in entrants)


def _begin(entrants: list[_Entrant]) -> None:
    """What the sensors told of the warm-up does not count."""
    for entrant in entrants:
        for monitor in (entrant.monitor, *(one.monitor for _, one in entrant.players if isinstance(one, _Watched))):
            monitor.begin()


def _first_call(entrant: _Entrant, case: Case, failed: Callable[[Contender, BaseException], object]) -> None:
    """Prepare the call, make it once and check the result."""
    contender = entrant.contender
    if contender.prepare is None:
        return
    try:
        entrant.call = call = contender.prepare()
        begin = time.perf_counter()
        entrant.kernel = with_programs(call.product)
        entrant.first_call = time.perf_counter() - begin
        entrant.tuning = contender.tuning()
        _verify(entrant, contender.check or case.check, call, case.unchecked)
    except FAILURES as failure:
        failed(contender, failure)
        missing = isinstance(failure, MissingCapabilityError | UnsupportedError | ImportError)
        entrant.fail(Status.UNSUPPORTED if missing else Status.FAILED, reason_of(failure))


def _verify(entrant: _Entrant, check: Callable[[Any], float] | None, call: Call, unchecked: str) -> None:
    if check is None or call.fetch is None:
        entrant.fail(Status.UNVERIFIED, unchecked)
        return
    _judge(entrant, check(call.fetch()))


def _judge(entrant: _Entrant, error: float) -> None:
    if math.isfinite(error):
        entrant.error = error
    if not error <= 1.0:
        told = f"{error:.3g} times the tolerance" if math.isfinite(error) else "not numbers, or far from them"
        entrant.fail(Status.WRONG, told)


def _make_players(
    entrant: _Entrant, case: Case, method: Method, caches: Caches, flush: Callable[[], None] | None
) -> None:
    contender, call, look = entrant.contender, entrant.call, entrant.monitor.look
    if caches is Caches.COLD and contender.players is not None:
        entrant.fail(Status.UNSUPPORTED, "it runs in a process of its own, whose caches are not filled with other data")
        return
    if contender.players is not None:
        _take_players(entrant, contender.players)
        return
    assert call is not None
    if caches is Caches.COLD:
        assert flush is not None
        player: Player = Cold(call, call.flush or flush, method, look)
    elif contender.timing is not None:
        player = contender.timing(call, method, look)
    else:
        player = (BackToBack if case.memory is Memory.DEVICE else OneByOne)(call, method, look)
    entrant.players = [("", player)]


@dataclass(frozen=True, slots=True)
class _Watched:
    """A player of another process, whose turns are on this machine: its clocks are read after each as after ours.

    Each has a monitor of its own: wider vectors may have lower clocks, which is no throttle.
    """

    player: Player
    monitor: Monitor

    def turn(self) -> list[float]:
        """One turn."""
        times = self.player.turn()
        self.monitor.look()
        return times


def _watched(player: Player, monitor: Callable[[], Monitor]) -> Player:
    """What repeats times of earlier processes is as it is: the clocks of now say nothing of them."""
    return player if getattr(player, "is_steady", False) else _Watched(player, monitor())


def _take_players(entrant: _Entrant, players: Callable[[], list[tuple[str, Player, float]]]) -> None:
    """Those whose results are right; where all of one are wrong, it is."""
    try:
        found = players()
    except FAILURES as failure:
        entrant.fail(Status.FAILED, reason_of(failure))
        return
    if not found:
        entrant.fail(Status.UNSUPPORTED, "there is none on this machine")
        return
    right = [(label, player, error) for label, player, error in found if error <= 1.0]
    entrant.players = [(label, _watched(player, entrant.another)) for label, player, _ in right]
    _judge(entrant, max(error for _, _, error in right) if right else found[0][2])


def _finish(entrant: _Entrant, method: Method, caches: Caches) -> None:
    """What is known after the rounds: failures, throttling, the device's own clock, energy."""
    failures = [one.failure for one in entrant.timed if one.failure is not None]
    if len(failures) == len(entrant.timed):
        entrant.fail(Status.FAILED, reason_of(failures[0]))
        return
    player = entrant.players[entrant.best][1]
    if entrant.call is not None and caches is Caches.HOT:
        try:
            if isinstance(player, BackToBack) and entrant.call.clock is not None:
                _compare_clocks(entrant, entrant.call, entrant.call.clock, player.calls)
            if method.energy_seconds and entrant.status is Status.MEASURED:
                _measure_energy(entrant.monitor, entrant.call, method.energy_seconds)
        except FAILURES as failure:
            entrant.fail(Status.FAILED, reason_of(failure))
    entrant.conditions = (player if isinstance(player, _Watched) else entrant).monitor.conditions()
    if entrant.conditions.throttled and entrant.status is Status.MEASURED:
        entrant.fail(Status.THROTTLED, entrant.conditions.throttled)


def _compare_clocks(entrant: _Entrant, call: Call, clock: Clock, calls: int) -> None:
    """Batches between two of the device's events: the host's time of one cannot be shorter.

    Other programs can delay what reads a clock, so only what is so again and again is believed, of longer batches where
    a delay could be a part of the time that counts.
    """
    for _ in range(_TRIES):
        by_host, by_device = _both_clocks(call, clock, calls)
        entrant.device_seconds = by_device / calls / call.parts if by_device > 0 else None
        if by_host >= _FASTER_THAN_POSSIBLE * by_device - _CLOCKS_SECONDS:
            return
        comparison = (
            f"{calls} calls took {by_host * 1e3:.3g} ms by the host's clock, {by_device * 1e3:.3g} by the device's"
        )
        if by_device < _LONG_SECONDS:
            calls = max(calls, min(4 * calls, _MOST_AT_ONCE))
    entrant.fail(Status.FAILED, f"{comparison}: they were not waited for")


def _both_clocks(call: Call, clock: Clock, calls: int) -> tuple[float, float]:
    """Seconds of a batch, by the host's clock and the device's."""
    times = [0.0, 0.0]

    def batch() -> None:
        times[0] = time.perf_counter()
        for _ in range(calls):
            call.enqueue()

    def wait() -> None:
        call.wait()
        times[1] = time.perf_counter()

    by_device = clock(batch, wait)
    return times[1] - times[0], by_device


def _measure_energy(monitor: Monitor, call: Call, seconds: float) -> None:
    """Repeat the call for as long as a counter of energy needs; nothing where there is none."""
    if monitor.sensors.energy() is None:
        return
    call.product()
    with monitor.energy() as window:
        begin, batch = time.perf_counter(), 1
        while time.perf_counter() - begin < max(seconds, 1.2 * monitor.sensors.least_window_s):
            for _ in range(batch):
                call.enqueue()
            call.wait()
            window.runs += batch * call.parts
            batch = min(2 * batch, _MOST_AT_ONCE)


def _cell(entrant: _Entrant, case: Case, caches: Caches) -> Cell:
    contender = entrant.contender
    cell = Cell(
        device=0,
        workload=case.workload,
        implementation=contender.implementation,
        role=contender.role,
        memory=case.memory,
        status=entrant.status,
        caches=caches,
        reason=entrant.reason,
        first_call=entrant.first_call if entrant.status is Status.MEASURED else None,
        error=entrant.error,
        arithmetic=contender.arithmetic,
        kernel=entrant.kernel,
        tuning=entrant.tuning,
        conditions=facts_of(entrant.conditions),
    )
    if entrant.status is not Status.MEASURED:
        return cell
    best = entrant.timed[entrant.best]
    label = entrant.players[entrant.best][0]
    return replace(
        cell,
        implementation=f"{cell.implementation}{label and ': '}{label}",
        samples=best.samples,
        stopped=best.stopped,
        device_seconds=entrant.device_seconds,
        joules=None if entrant.conditions is None else entrant.conditions.joules_per_run,
    )


def facts_of(conditions: Conditions | None) -> dict[str, Any]:
    """Conditions as files have them: what was read, spreads as least, median and most."""
    if conditions is None or not conditions.readings:
        return {}
    spreads = ("core_clock_mhz", "memory_clock_mhz", "power_w", "temperature_c")
    found: dict[str, Any] = {"source": conditions.source}
    for name in spreads:
        spread = getattr(conditions, name)
        if spread is not None:
            found[name] = [spread.least, spread.median, spread.most]
    return found | ({"reasons": list(conditions.reasons)} if conditions.reasons else {})


def reason_of(error: BaseException | None) -> str:
    """The first line of what an error says, and the line of the user's file, if it is told.

    Of paths their last part: reasons stand in files, which are to hold no folders.
    """
    lines = [_FOLDERS.sub("", line.strip()) for line in str(error).splitlines() if _WORDS.search(line)]
    span = getattr(error, "span", None)
    place = f" ({Path(span.filename).name}:{span.line})" if isinstance(span, Span) else ""
    return f"{lines[0][:_MOST_OF_REASON] if lines else type(error).__name__}{place}"


def fault_of(error: Exception) -> str:
    """As `reason_of`, of an exception that is neither ours nor one of a library's: with its type, and its line."""
    place = blamed(error)
    told = f" ({Path(place[0]).name}:{place[1]})" if place else ""
    return f"{type(error).__name__}: {reason_of(error)}{told}"


__all__ = ["facts_of", "fault_of", "measure", "reason_of"]
