"""Choices of random programs."""

from __future__ import annotations

from random import Random
from typing import Any


class Chooser:
    """Choices by a random generator."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def below(self, n: int) -> int:
        return int(self._random.random() * n)

    def seed(self) -> int:
        """A small number that values are made of."""
        return self.below(99)

    def more(self) -> bool:
        """Whether to go on, twice of three times."""
        return self.below(3) > 0

    def pick(self, *choices: Any) -> Any:
        return choices[self.below(len(choices))]

    def chance(self, one_in: int) -> bool:
        return self.below(one_in) == one_in - 1


class RelatedChooser(Chooser):
    """Choices of a family, few of them replaced by choices of its own; seeds are always its own.

    Choices are those of parts, so that what follows a part is the same where its choices were others.
    """

    def __init__(self, family: int, random: Random, one_in: int) -> None:
        super().__init__(random)
        self._family, self._one_in = family, one_in
        self.part(0)

    def part(self, number: int) -> None:
        """Begin a part."""
        self._choices = Random(f"{self._family}/{number}")

    def below(self, n: int) -> int:
        number = int(self._choices.random() * n)
        return super().below(n) if super().below(self._one_in) == 0 else number

    def seed(self) -> int:
        return super().below(99)
