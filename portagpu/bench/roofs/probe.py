"""What all probes share: forms are tried, the fastest is kept, and becomes a contender that is a roof."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from portagpu.bench.device_clock import clock_of
from portagpu.bench.method.turns import Call
from portagpu.bench.records.cell import Role
from portagpu.bench.running.case import Contender
from portagpu.errors import PortaGPUError
from portagpu.runtime.execution.context import Context

NAME = "PortaGPU's probe"
_TRIES = 3, 20  # of each form, at least, and at most while there is time; the shortest counts
_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A form of a probe: ``run`` enqueues it, ``fetch`` gets what it found."""

    text: str
    run: Callable[[], Any]
    fetch: Callable[[], Any]


def fastest(candidates: Iterable[Candidate], wait: Callable[[], Any]) -> Candidate:
    """The candidate that takes least; those that a device refuses are left out, unless it refuses all.

    Raises `PortaGPUError` of the last one where none runs.
    """
    best: tuple[float, Candidate] | None = None
    refused: PortaGPUError | None = None
    for candidate in candidates:
        try:
            seconds = _shortest(candidate.run, wait)
        except PortaGPUError as error:
            refused = error
            continue
        if best is None or seconds < best[0]:
            best = seconds, candidate
    if best is None:
        assert refused is not None
        raise refused
    return best[1]


def _shortest(run: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """Seconds of the shortest of some calls, after one that may compile: other programs disturb single ones."""
    _seconds(run, wait)
    least, most = _TRIES
    begin, times = time.perf_counter(), [_seconds(run, wait) for _ in range(least)]
    while len(times) < most and time.perf_counter() - begin < _SECONDS:
        times.append(_seconds(run, wait))
    return min(times)


def _seconds(run: Callable[[], Any], wait: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    run()
    wait()
    return time.perf_counter() - begin


def contender(context: Context, candidates: Callable[[], Iterable[Candidate]], parts: int = 1) -> Contender:
    """The fastest of some forms as a roof; which one it is stands where cells tell of tuning.

    ``parts``: of a call, whose times are told.
    """
    kept: dict[str, Candidate] = {}

    def prepare() -> Call:
        kept["one"] = chosen = fastest(candidates(), context.synchronize)
        return Call(
            enqueue=chosen.run,
            wait=context.synchronize,
            fetch=chosen.fetch,
            clock=clock_of(context),
            parts=parts,
        )

    return Contender(implementation=NAME, role=Role.ROOF, prepare=prepare, tuning=lambda: kept["one"].text)


__all__ = ["NAME", "Candidate", "contender", "fastest"]
