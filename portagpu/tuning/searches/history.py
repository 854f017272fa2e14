"""The history of a search: its candidates in the model's order, and what came of those that were tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from portagpu.tuning.tunables.outcomes import Measured, Outcome
from portagpu.tuning.tunables.space import Point, PointKey, Space, point_key


@dataclass(slots=True)
class History:
    """What a strategy knows: the candidates in the model's order, and the outcomes so far in the order of trying."""

    space: Space
    ranked: list[Point]  # every legal point, the model's best first
    predicted: dict[PointKey, float] = field(default_factory=dict)  # seconds, where there is a model
    tried: dict[PointKey, tuple[Point, Outcome]] = field(default_factory=dict)
    pending: dict[PointKey, Point] = field(default_factory=dict)  # proposed, no outcome yet
    excluded: set[PointKey] = field(default_factory=set)  # of which the model says that they cannot run
    _next: int = 0  # nothing of `ranked` before it is new

    def is_new(self, point: Point) -> bool:
        """Whether a point was neither tried yet nor proposed, nor excluded by the model."""
        key = point_key(point)
        return key not in self.tried and key not in self.pending and key not in self.excluded

    def first_new(self, points: Iterable[Point]) -> Point | None:
        """The first point that is new."""
        return next((p for p in points if self.is_new(p)), None)

    def next_ranked(self) -> Point | None:
        """The model's best among what is new."""
        while self._next < len(self.ranked) and not self.is_new(self.ranked[self._next]):
            self._next += 1
        return self.ranked[self._next] if self._next < len(self.ranked) else None

    def best(self) -> tuple[Point, float] | None:
        """The fastest point so far."""
        measured = [(p, o.seconds) for p, o in self.tried.values() if isinstance(o, Measured)]
        return min(measured, key=lambda item: item[1], default=None)

    def measured(self, point: Point) -> tuple[Point, float] | None:
        """A point with its seconds; None where it was not measured, or failed."""
        found = self.tried.get(point_key(point))
        return (found[0], found[1].seconds) if found is not None and isinstance(found[1], Measured) else None

    def by_speed(self) -> Iterator[tuple[Point, float]]:
        """Measured points, the fastest first."""
        measured = [(p, o.seconds) for p, o in self.tried.values() if isinstance(o, Measured)]
        yield from sorted(measured, key=lambda item: item[1])
