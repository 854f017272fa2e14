"""What others' libraries tell of the machine: code that is the same in both runs, and became slower, too.

A processor that other programs use, or a GPU that is warmer than it says, slows everything down. The vendor's library
and peers ran in turns with ours, so a change that they share is the machine's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from portagpu.report.change import Change, Verdict

_TOLD = (Verdict.SLOWER, Verdict.FASTER)


def controlled(ours: Change, others: Sequence[tuple[str, Change]]) -> Change:
    """Our change, but REFUSED where another's is the same, and UNSURE where another's may be.

    Two changes are told apart where their intervals do not overlap. ``others``: names and changes in the same problem.
    """
    if ours.verdict not in _TOLD:
        return ours
    for verdict in (ours.verdict, Verdict.UNSURE):
        for name, other in others:
            if other.verdict is verdict and _overlap(ours, other):
                return replace(ours, verdict=_LEFT[verdict], reason=_reason(name, other))
    return ours


_LEFT = {Verdict.SLOWER: Verdict.REFUSED, Verdict.FASTER: Verdict.REFUSED, Verdict.UNSURE: Verdict.UNSURE}


def _overlap(one: Change, other: Change) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low <= other.high and other.low <= one.high


def _reason(name: str, other: Change) -> str:
    told = f"{name}, which ran in turns with it, takes {other.ratio:.3g} times as long, too"
    if other.verdict is Verdict.UNSURE:
        told = f"{name}, which ran in turns with it, takes {other.low:.3g} to {other.high:.3g} times as long"
    return f"the machine may have been busier or idler: {told}"


__all__ = ["controlled"]
