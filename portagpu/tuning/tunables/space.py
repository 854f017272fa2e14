"""Search spaces: named axes with ordered values, constraints, neighbours."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import linecache
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from portagpu.errors import TuningError, did_you_mean
from portagpu.tuning.tunables.user_faults import with_place, words_of
from portagpu.tuning.tunables.values import plain

Point = dict[str, Any]
PointKey = tuple[tuple[str, Any], ...]
Constraint = Callable[..., bool]
_MOST_POINTS = 100_000  # of a space that is looked at as a whole
_SAMPLED = 20_000  # points of a larger one
_DRAWS = 4  # for each point that is wanted: small corners of a space are drawn more than once
_MOST_LOOKS = 1_000_000  # values of axes that are tried, where legal points are rare: some seconds
_LOOKS_OF_A_DRAW = 10_000  # then the next draw begins elsewhere
_MOST_VALUES = 100_000  # of an axis


class Looks:
    """How many values of axes may still be tried on the way to legal points."""

    __slots__ = ("left",)

    def __init__(self, most: int) -> None:
        self.left = most

    def spend(self) -> None:
        """One more. Raises `NoLooksLeft`."""
        if self.left <= 0:
            raise NoLooksLeft
        self.left -= 1


class NoLooksLeft(Exception):
    """Legal points are too rare to look for more of them."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A parameter and its values, ordered so that neighbouring values behave alike. Equal values count once.

    Raises `TuningError` for values that cannot be stored.
    """

    name: str
    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        kept = dict.fromkeys(plain(value, f"the axis {self.name}") for value in self.values)
        object.__setattr__(self, "values", tuple(kept))

    @property
    def ordered(self) -> bool:
        """Whether the values are numbers, so that their order means something to a sampler."""
        return all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)


class Space(Protocol):
    """What strategies and the search need of a search space."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Every axis."""

    def is_legal(self, point: Point) -> bool:
        """Whether a point is in the space."""

    def __iter__(self) -> Iterator[Point]:
        """Every legal point."""

    def neighbours(self, point: Point) -> Iterator[Point]:
        """Legal points one step away."""


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """All points of the axes' product that satisfy every constraint.

    A constraint is a predicate. One whose parameters are names of axes, such as ``lambda tile, threads: tile % threads
    == 0``, gets their values, and cuts off the product as soon as these are known; any other gets the whole point, a
    dictionary.
    """

    axes: tuple[Axis, ...]
    constraints: tuple[Constraint, ...] = ()

    @classmethod
    def of(cls, *constraints: Constraint, **axes: Sequence[Any]) -> SearchSpace:
        """A space of axes given by name: ``SearchSpace.of(lambda a, b: a <= b, a=(1, 2), b=(1, 2, 4))``.

        Raises `TuningError` for an axis without values, with more than 100,000, or with values that cannot be stored.
        """
        found = []
        for name, values in axes.items():
            given = () if isinstance(values, str) or not isinstance(values, Iterable) else values
            several = tuple(itertools.islice(given, _MOST_VALUES + 1))
            if not several:
                raise TuningError(f"the axis {name} has no values", hint=f"write {name}=(1, 2, 4)")
            if len(several) > _MOST_VALUES:
                raise TuningError(f"the axis {name} has more than {_MOST_VALUES:,} values", hint="take larger steps")
            found.append(Axis(name, several))
        return cls(tuple(found), constraints)

    def is_legal(self, point: Point) -> bool:
        """Whether a point is in the space."""
        if len(point) != len(self.axes) or not all(point.get(a.name) in a.values for a in self.axes):
            return False
        return all(_holds(c, names, point) for c, names in self._constraints())

    def objection(self, point: Point) -> str | None:
        """Why a point is not in the space, in words: an axis, a value or a constraint; None if it is."""
        values = {axis.name: axis.values for axis in self.axes}
        missing = [name for name in values if name not in point]
        if missing:
            return f"it has no {missing[0]}"
        for name, value in point.items():
            if name not in values:
                return f"there is no axis {name}; {did_you_mean(name, values)}the axes are {', '.join(values)}"
            if value not in values[name]:
                return f"{name}={value!r} is none of {', '.join(map(repr, values[name]))}"
        broken = next((c for c, names in self._constraints() if not _holds(c, names, point)), None)
        return None if broken is None else f"the constraint {_text_of(broken)} does not hold"

    def __iter__(self) -> Iterator[Point]:
        return self.walk()

    def walk(self, looks: Looks | None = None) -> Iterator[Point]:
        """Every legal point. Raises `NoLooksLeft`."""
        return self._walk(lambda values: values, self._constraints(), looks)

    def draws(self, generator: random.Random, looks: Looks | None = None) -> Iterator[Point]:
        """Legal points at random, until there are no ``looks`` left; nothing where there is none.

        The same point may come again.
        """

        def shuffled(values: tuple[Any, ...]) -> Iterator[Any]:  # without a copy, since mostly few are asked for
            moved: dict[int, int] = {}
            for last in range(len(values) - 1, -1, -1):
                at = generator.randrange(last + 1)
                yield values[moved.get(at, at)]
                moved[at] = moved.get(last, last)

        constraints = self._constraints()
        while looks is None or looks.left > 0:
            part = None if looks is None else Looks(min(looks.left, _LOOKS_OF_A_DRAW))
            first = 0 if part is None else part.left
            found: list[Point | None] = []
            with contextlib.suppress(NoLooksLeft):
                found.append(next(self._walk(shuffled, constraints, part), None))
            if looks is not None and part is not None:
                looks.left -= first - part.left
            for point in found:
                if point is None:
                    return
                yield point

    def _walk(
        self,
        order: Callable[[tuple[Any, ...]], Iterable[Any]],
        waiting: list[tuple[Constraint, tuple[str, ...] | None]],
        looks: Looks | None,
    ) -> Iterator[Point]:
        """Every legal point, an axis's values in the given order."""
        # each constraint is asked as soon as the axes that it names have values
        known: set[str] = set()
        due: list[list[tuple[Constraint, tuple[str, ...] | None]]] = []
        for axis in self.axes:
            known.add(axis.name)
            due.append([(c, names) for c, names in waiting if names is not None and known.issuperset(names)])
            waiting = [entry for entry in waiting if entry not in due[-1]]
        whole = waiting
        point: Point = {}

        def extend(depth: int) -> Iterator[Point]:
            if depth == len(self.axes):
                if all(_holds(c, names, point) for c, names in whole):
                    yield dict(point)
                return
            axis = self.axes[depth]
            for value in order(axis.values):
                if looks is not None:
                    looks.spend()
                point[axis.name] = value
                if all(_holds(c, names, point) for c, names in due[depth]):
                    yield from extend(depth + 1)
            point.pop(axis.name, None)

        yield from extend(0)

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
        points = candidates(self)
        return generator.sample(points, min(count, len(points)))

    def _constraints(self) -> list[tuple[Constraint, tuple[str, ...] | None]]:
        names = frozenset(axis.name for axis in self.axes)
        return [(c, _named(c, names)) for c in self.constraints]


@dataclass(frozen=True, slots=True)
class UnionSpace:
    """The points of several spaces with axes of their own, such as those of several algorithms for one problem."""

    spaces: tuple[SearchSpace, ...]

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Each axis once, with the values that it has in any of the spaces."""
        values: dict[str, dict[Any, None]] = {}
        for axis in itertools.chain.from_iterable(s.axes for s in self.spaces):
            values.setdefault(axis.name, {}).update(dict.fromkeys(axis.values))
        found = [Axis(name, tuple(v)) for name, v in values.items()]
        return tuple(Axis(a.name, tuple(sorted(a.values))) if a.ordered else a for a in found)

    def is_legal(self, point: Point) -> bool:
        """Whether a point is in one of the spaces."""
        return any(s.is_legal(point) for s in self.spaces)

    def objection(self, point: Point) -> str | None:
        """As `SearchSpace.objection`, of the spaces that have the point's axes."""
        if self.is_legal(point):
            return None
        akin = [s for s in self.spaces if {axis.name for axis in s.axes} == point.keys()]
        return "; ".join(dict.fromkeys(str(s.objection(point)) for s in akin)) or "none of the spaces has its axes"

    def __iter__(self) -> Iterator[Point]:
        return itertools.chain.from_iterable(self.spaces)

    def neighbours(self, point: Point) -> Iterator[Point]:
        """Neighbours within the point's own space."""
        for space in self.spaces:
            if space.is_legal(point):
                yield from space.neighbours(point)
                return


def axes_of(space: Space) -> tuple[tuple[Axis, ...], ...] | None:
    """The axes of a space, or of each part of a union; None for a space of the user's."""
    if isinstance(space, UnionSpace):
        return tuple(part.axes for part in space.spaces)
    return (space.axes,) if isinstance(space, SearchSpace) else None


def candidates(space: Space, most: int = _MOST_POINTS, sampled: int = _SAMPLED) -> list[Point]:
    """Every legal point of a space once; of a space of more than ``most``, about ``sampled`` points at random, always
    the same ones. Millions of points would need more time for the model, and more memory, than they are worth.

    The same where legal points are so rare that it would take minutes to find all of them. Raises `TuningError` where
    none was found in a million values that were tried, twice.
    """
    parts = space.spaces if type(space) is UnionSpace else (space,)
    walked = [_walked(part, most + 1) for part in parts]
    found = {point_key(point): point for points, _ in walked for point in points}
    if all(is_whole for _, is_whole in walked) and len(found) <= most:
        return list(found.values())
    generator = random.Random(0)
    waiting = [_some(part, *entry, most, generator) for part, entry in zip(parts, walked, strict=True)]
    drawn: dict[PointKey, Point] = {}
    for point in itertools.islice(_in_turns(waiting), _DRAWS * sampled):
        drawn.setdefault(point_key(point), point)
        if len(drawn) >= sampled:
            break
    if not drawn:
        raise TuningError(
            f"no legal point was found in {2 * _MOST_LOOKS:,} values of axes that were tried",
            hint="constraints whose parameters are the first axes rule out much at once; or allow more points",
        )
    return list(drawn.values())


def _walked(space: Space, most: int) -> tuple[list[Point], bool]:
    """Up to ``most`` legal points in the space's order, as far as they are found, and whether it was looked for all."""
    found: list[Point] = []
    points = space.walk(Looks(_MOST_LOOKS)) if type(space) is SearchSpace else iter(space)
    try:
        for point in itertools.islice(points, most):
            found.append(point)
    except NoLooksLeft:
        return found, False
    return found, True


def _some(space: Space, walked: list[Point], is_whole: bool, most: int, generator: random.Random) -> Iterator[Point]:
    """Points of a space at random, some of them more than once."""
    if not (is_whole and len(walked) <= most):
        # what was walked is a corner of the space: the rest comes first
        if type(space) is SearchSpace:
            yield from space.draws(generator, Looks(_MOST_LOOKS))
        elif hasattr(space, "draws"):
            yield from space.draws(generator)
    yield from generator.sample(walked, len(walked))


def _in_turns(waiting: list[Iterator[Point]]) -> Iterator[Point]:
    while waiting:
        found = [(source, point) for source in waiting if (point := next(source, None)) is not None]
        waiting = [source for source, _ in found]
        yield from (point for _, point in found)


def point_key(point: Mapping[str, Any]) -> PointKey:
    """A hashable identity of a point."""
    return tuple(sorted(point.items()))


def objection_of(space: Space, point: Point) -> str | None:
    """Why a point is not in a space, which may be of a type of the user's; None if it is."""
    if space.is_legal(point):
        return None
    tell = getattr(space, "objection", None)
    return (None if tell is None else tell(point)) or "the space says that it is not legal"


def _text_of(constraint: Constraint) -> str:
    """A constraint's name and place, and the line that it is written in."""
    name, code = getattr(constraint, "__name__", None) or repr(constraint), getattr(constraint, "__code__", None)
    if code is None:
        return name
    line = linecache.getline(code.co_filename, code.co_firstlineno).strip().rstrip(",")
    return f"{name} ({code.co_filename}:{code.co_firstlineno}" + (f": {line})" if line else ")")


def _named(constraint: Constraint, axes: frozenset[str]) -> tuple[str, ...] | None:
    """Names of the axes that a constraint takes; None for one that takes the whole point.

    Parameters with defaults that are no axes, such as a loop's variable that a lambda keeps, do not count.
    """
    try:
        parameters = inspect.signature(constraint).parameters.values()
    except (TypeError, ValueError):
        return None
    names = tuple(p.name for p in parameters if p.name in axes or p.default is inspect.Parameter.empty)
    return names if names and axes.issuperset(names) else None


def _holds(constraint: Constraint, names: tuple[str, ...] | None, point: Point) -> bool:
    try:
        return bool(constraint(point) if names is None else constraint(**{n: point[n] for n in names}))
    except (Exception, SystemExit) as error:
        shown = {n: point[n] for n in names} if names is not None else point
        raise TuningError(
            with_place(f"a constraint raised {type(error).__name__} for {shown}: {words_of(error)}", error),
            hint="a constraint is asked about every combination of values, before any other has ruled it out",
        ) from error
