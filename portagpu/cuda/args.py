"""`In`, `Out` and `InOut`, under CUDA-Python's module name."""

from __future__ import annotations

from typing import Any

from portagpu.runtime.host_arguments import ArgumentWrapper as ArgHint
from portagpu.runtime.host_arguments import In, InOut, Out

__all__ = ["ArgHint", "In", "InOut", "Out", "wrap_arg"]


def wrap_arg(value: Any, default: type[ArgHint] = InOut) -> ArgHint:
    """``value`` with the way it is copied at a launch: as it was wrapped, else ``default``."""
    return value if isinstance(value, ArgHint) else default(value)
