"""Which programs a call runs, as a hash of their text: cells of one hash ran the same code."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable

from portagpu.runtime.execution.recorder import Launch, Recorder, active


def with_programs(call: Callable[[], None]) -> str:
    """Make a call; the hash of the programs that it launched, in their order.

    "" where it launched none that it did not launch before: calls that repeat go past what can be seen.
    """
    before, active.recorder = active.recorder, Recorder(sys._getframe())
    try:
        call()
        steps = active.recorder.steps
    finally:
        active.recorder = before
    sources = dict.fromkeys(step.compiled.kernel_source.source for step in steps if isinstance(step, Launch))
    return hashlib.sha256("\n".join(sources).encode()).hexdigest()[:16] if sources else ""


__all__ = ["with_programs"]
