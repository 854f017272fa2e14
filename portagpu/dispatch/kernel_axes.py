"""How many axes of the grid a kernel looks at, by its text."""

from __future__ import annotations

import re
from typing import Any

from portagpu.dispatch.dispatcher import Dispatcher

_THIRD = re.compile(r"\b(?:threadIdx|blockDim|blockIdx)\s*\.\s*z\b|\bgrid(?:size)?\(\s*3\s*\)")
_SECOND = re.compile(r"\b(?:threadIdx|blockDim|blockIdx)\s*\.\s*y\b|\bgrid(?:size)?\(\s*2\s*\)")


def axes_of(kernel: Dispatcher[Any]) -> int:
    """1, 2 or 3; what functions do that it calls is not seen."""
    text = "\n".join(kernel.source.lines)
    return 3 if _THIRD.search(text) else 2 if _SECOND.search(text) else 1


__all__ = ["axes_of"]
