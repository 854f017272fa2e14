"""The device's own clock: seconds between two events around what a context's default stream is given."""

from __future__ import annotations

from collections.abc import Callable

from portagpu.bench.method.turns import Clock
from portagpu.cuda.host import event
from portagpu.runtime.execution.context import Context


def clock_of(context: Context) -> Clock:
    """A clock for `portagpu.bench.method.turns.Call`.

    The events are recorded on a stream of their own, which waits for the default stream, as that does for it: a queue
    whose events know their times makes launches dearer, and the default stream keeps the one that is timed.
    """

    def seconds(enqueue: Callable[[], None], wait: Callable[[], object]) -> float:
        stream, start, end = context.stream(), event(), event()
        start.record(stream)
        start.synchronize()
        enqueue()
        end.record(stream)
        wait()
        return start.elapsed_time(end) / 1000

    return seconds


__all__ = ["clock_of"]
