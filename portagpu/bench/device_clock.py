"""The device's own clock: seconds between two events around what a context's default stream is given."""

from __future__ import annotations

from collections.abc import Callable

from portagpu.cuda.host import event
from portagpu.runtime.execution.context import Context

Clock = Callable[[Callable[[], None]], float]


def clock_of(context: Context) -> Clock:
    """A clock for `portagpu.bench.method.turns.Call`.

    The events are recorded on a stream of their own, which waits for the default stream, as that does for it: a queue
    whose events know their times makes launches dearer, and the default stream keeps the one that is timed.
    """

    def seconds(run: Callable[[], None]) -> float:
        stream, start, end = context.stream(), event(), event()
        start.record(stream)
        run()
        end.record(stream)
        return start.elapsed_time(end) / 1000

    return seconds


__all__ = ["Clock", "clock_of"]
