"""Choices of random programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import strategies as st


@cache
def _below(n: int) -> st.SearchStrategy[int]:
    return st.integers(0, n - 1)


class Chooser:
    """Choices, the simplest first, so that hypothesis shrinks towards it."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self._draw = draw

    def below(self, n: int) -> int:
        return self._draw(_below(n)) if n > 1 else 0

    def more(self) -> bool:
        """Whether to go on; hypothesis shrinks to no."""
        return self.below(3) > 0

    def pick(self, *choices: Any) -> Any:
        return choices[self.below(len(choices))]

    def chance(self, one_in: int) -> bool:
        return self.below(one_in) == one_in - 1
