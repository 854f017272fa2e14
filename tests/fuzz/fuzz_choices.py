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

    def more(self) -> bool:
        """Whether to go on, twice of three times."""
        return self.below(3) > 0

    def pick(self, *choices: Any) -> Any:
        return choices[self.below(len(choices))]

    def chance(self, one_in: int) -> bool:
        return self.below(one_in) == one_in - 1
