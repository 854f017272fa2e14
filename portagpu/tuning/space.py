"""Search spaces: named axes with ordered values, constraints, neighbours."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Point = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Axis:
    """A parameter and its values, ordered so that neighbouring values behave alike."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """All points of the axes' product that satisfy every constraint (each a predicate on a point)."""

    axes: tuple[Axis, ...]
    constraints: tuple[Callable[[Point], bool], ...] = ()

    def is_legal(self, point: Point) -> bool:
        """Whether a point is in the space."""
        return all(point.get(a.name) in a.values for a in self.axes) and all(c(point) for c in self.constraints)

    def __iter__(self) -> Iterator[Point]:
        names = [a.name for a in self.axes]
        for values in itertools.product(*(a.values for a in self.axes)):
            point = dict(zip(names, values, strict=True))
            if all(c(point) for c in self.constraints):
                yield point

    def neighbours(self, point: Point) -> Iterator[Point]:
        """Legal points one step away on one axis, nearest first."""
        for step in (1, -1):
            for axis in self.axes:
                index = axis.values.index(point[axis.name]) + step
                if 0 <= index < len(axis.values):
                    near = {**point, axis.name: axis.values[index]}
                    if self.is_legal(near):
                        yield near

    def sample(self, generator: random.Random, count: int) -> list[Point]:
        """Up to ``count`` different legal points at random."""
        points = list(self)
        return generator.sample(points, min(count, len(points)))


def point_key(point: Point) -> tuple[tuple[str, Any], ...]:
    """A hashable identity of a point."""
    return tuple(sorted(point.items()))
