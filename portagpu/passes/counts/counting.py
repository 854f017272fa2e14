"""The passes of a launch whose work is counted: those of every kernel, between one that counts and one that marks."""

from __future__ import annotations

from portagpu.passes.counts.touched_marks import touched_marks
from portagpu.passes.counts.work_counters import work_counters
from portagpu.passes.pipeline import Pass, ordered

WORK_COUNTERS = Pass(
    name="work_counters",
    does="lets threads count what they compute, and what they ask memory for",
    run=lambda program, target: work_counters(program),
    when="a launch is counted",
)
TOUCHED_MARKS = Pass(
    name="touched_marks",
    does="lets each access of global memory leave marks of its bytes",
    run=lambda program, target: touched_marks(program),
    when="a launch is counted, with the bytes that it touches",
    after=("work_counters",),  # whose totals it notes accesses of unknown places in
)


def counting(passes: tuple[Pass, ...], *, touched: bool) -> tuple[Pass, ...]:
    """The passes of a back end, with those that count."""
    return ordered(WORK_COUNTERS, *passes, *((TOUCHED_MARKS,) if touched else ()))
