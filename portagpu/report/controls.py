"""What others' libraries tell of the machine: code that is the same in both runs, and became slower, too.

A processor that other programs use, or a GPU that is warmer than it says, slows everything down. The vendor's library
and peers ran in turns with ours, so a change that they share is the machine's, and where it is large, the two runs had
different conditions. A small one stays told, with theirs beside it: ours may have become slower as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from portagpu.report.change import Change, Verdict

LARGE = 1.1
"""Times as long, or as short: what a machine may differ in from day to day is less."""


def controlled(ours: Change, others: Sequence[tuple[str, Change]]) -> Change:
    """Our change, with another's as its reason where they may be the same; REFUSED where both are large.

    Two changes are told apart where their intervals do not overlap. ``others``: names and changes in the same problem.
    """
    if ours.verdict not in (Verdict.SLOWER, Verdict.FASTER):
        return ours
    alike = [(name, other) for name, other in others if other.verdict is ours.verdict and _overlap(ours, other)]
    if not alike:
        return ours
    name, other = max(alike, key=lambda one: one[1].ratio or 0.0)
    reason = f"{name}, which ran in turns with it, takes {other.ratio:.3g} times as long, too"
    if any(_is_large(change) for _, change in alike):
        return replace(ours, verdict=Verdict.REFUSED, reason=f"the machine was busier or idler: {reason}")
    return replace(ours, reason=reason)


def _is_large(change: Change) -> bool:
    """Whether the whole interval is."""
    assert change.low is not None and change.high is not None
    return change.low > LARGE or change.high < 1 / LARGE


def _overlap(one: Change, other: Change) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low <= other.high and other.low <= one.high


__all__ = ["LARGE", "controlled"]
