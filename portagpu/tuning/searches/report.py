"""Results of a search: values, and text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from portagpu.tuning.tunables.outcomes import Outcome, TimedOut, describe, duration
from portagpu.tuning.tunables.space import Point

_MUCH = 0.1  # of a search's time that the model took: worth a word


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found. ``str(result)`` is a report of it."""

    winner: Point | None
    seconds: float | None
    trials: int
    failures: tuple[tuple[Point, Outcome], ...]  # what was skipped in this search, and why
    resumed: int = 0  # trials that earlier searches left in the store
    known_failures: tuple[Outcome, ...] = ()  # of those: what was not tried again
    elapsed: float = 0.0
    modelling: float = 0.0  # seconds of these in which points were ranked by the model
    predicted: float | None = None  # seconds that the model expected of the winner
    roof: float | None = None  # seconds that the model says no candidate can beat

    @property
    def skipped(self) -> tuple[tuple[Point, Outcome], ...]:
        """The same as ``failures``."""
        return self.failures

    @property
    def remark(self) -> str | None:
        """What one must know of a search that found nothing, or had no choice; None for any other."""
        if self.winner is None:
            return "; ".join(["no point worked", *_kept_out(self.known_failures)])
        if self.trials == 1 and not self.resumed:
            share = self.modelling / self.elapsed if self.elapsed else 0.0
            took = f", and the model took {duration(self.modelling)} of the budget" if share >= _MUCH else ""
            return f"nothing else was tried{took}: a larger budget compares more points, where there are any"
        return None

    def __str__(self) -> str:
        known = f", {self.resumed} known from before" if self.resumed else ""
        lines = [f"{self.trials} trial{'s' * (self.trials != 1)} in {duration(max(self.elapsed, 1e-9))}{known}"]
        if self.winner is not None and self.seconds is not None:
            facts = [f"model said {duration(self.predicted)}"] if self.predicted else []
            facts += [f"{self.roof / self.seconds:.0%} of the model's roof"] if self.roof else []
            lines.append(
                f"winner: {shown(self.winner)}: {duration(self.seconds)}" + f" ({', '.join(facts)})" * bool(facts)
            )
        if self.remark is not None:
            lines.append(self.remark)
        return "\n".join([*lines, *skips(self.failures)])


def shown(point: Point) -> str:
    """A point's values for people."""
    return " ".join(f"{name}={value}" for name, value in point.items())


def skips(failures: tuple[tuple[Point, Outcome], ...], most: int = 20) -> list[str]:
    """What was skipped, a line each, after a line that counts the kinds; nothing for no failures."""
    if not failures:
        return []
    lines = [f"skipped: {_kinds(outcome for _, outcome in failures)}"]
    lines += [f"  {shown(point)}: {describe(outcome)}" for point, outcome in failures[:most]]
    return [*lines, f"  and {len(failures) - most} more"] if len(failures) > most else lines


def _kinds(outcomes: Iterable[Outcome]) -> str:
    kinds = Counter(type(outcome).__name__ for outcome in outcomes)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


def _kept_out(known: tuple[Outcome, ...]) -> list[str]:
    """What failed in earlier searches, and how it is tried again; nothing for no failures."""
    if not known:
        return []
    limit = max((outcome.limit for outcome in known if isinstance(outcome, TimedOut)), default=None)
    lines = [
        f"what failed before is not tried again ({_kinds(known)}): raise the tunable's version when it is repaired"
    ]
    if limit is not None:
        lines.append(f"what timed out is tried again under a trial limit of more than {limit:g} s (--trial-limit)")
    return lines


__all__ = ["SearchResult", "shown", "skips"]
