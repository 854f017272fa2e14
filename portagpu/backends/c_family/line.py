"""Lines of generated text, each with the place in the user's text that it came from."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.source import Span


@dataclass(frozen=True, slots=True)
class Line:
    """One line of C and its origin."""

    text: str
    span: Span | None
