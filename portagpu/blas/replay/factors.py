"""Factors of a recorded call that may be others when it is made again.

Which arguments of which kernels are a factor is not told by the routine: it is seen in two recordings of calls that
differ in their factors alone. A number that is a factor in both, or the negative of one, is that; all others must be
the same in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from portagpu.runtime.replay.arguments import Arguments, Number


class Place(NamedTuple):
    """Where launches take a factor: ``sign`` times factor number ``factor``, in the type ``kind``."""

    launch: int
    argument: int
    factor: int
    sign: int
    kind: Any


@dataclass(frozen=True, slots=True)
class Factors:
    """The factors that a recording was made with, and the ``places`` of those that may be others, as far as known."""

    values: tuple[float, ...]
    places: tuple[Place, ...] = ()

    def numbers(self, values: tuple[float, ...]) -> list[Number] | None:
        """What launches must be given for these factors; None where they cannot be made again with them."""
        if values != self.values:
            varying = {place.factor for place in self.places}
            if any(x != y and n not in varying for n, (x, y) in enumerate(zip(values, self.values, strict=True))):
                return None
        found = []
        for launch, argument, factor, sign, kind in self.places:
            value = sign * values[factor]
            if not abs(value) <= _LARGEST[kind]:  # which the routine refuses
                return None
            number = kind(value)
            if number in (0, 1, -1):  # which routines treat apart
                return None
            found.append(Number(launch, argument, number))
        return found

    def told_apart(self, former: Arguments, values: tuple[float, ...], latter: Arguments) -> Factors | None:
        """The factors of a ``latter`` recording, with their places, found by comparison with this, the ``former`` one.

        None where launches differ in more than factors.
        """
        both = {n: pair for n, pair in enumerate(zip(self.values, values, strict=True)) if pair[0] != pair[1]}
        sizes = [(abs(first), abs(second)) for first, second in both.values()]
        if len(set(sizes)) < len(sizes):  # which of two a number is would be a guess
            return None
        if former.others != latter.others or len(former.numbers) != len(latter.numbers):
            return None
        places = {place[:2]: place for place in self.places}
        for old, new in zip(former.numbers, latter.numbers, strict=True):
            if old[:2] != new[:2]:
                return None
            if old.value == new.value or (np.isnan(old.value) and np.isnan(new.value)):
                continue
            place = _explained(old, new, both)
            if place is None:
                return None
            places[place[:2]] = place
        if not both.keys() <= {place.factor for place in places.values()}:
            return None  # it went into what was compiled, or into nothing
        return Factors(values, tuple(places.values()))


def _explained(old: Number, new: Number, both: dict[int, tuple[float, float]]) -> Place | None:
    kind = type(new.value)
    for n, (first, second) in both.items():
        for sign in (1, -1):
            if old.value == kind(sign * first) and new.value == kind(sign * second):
                return Place(new.launch, new.argument, n, sign, kind)
    return None


_LARGEST = {kind: float(np.finfo(kind).max) for kind in (np.float16, np.float32, np.float64)}
