"""`In`, `Out` and `InOut`, under CUDA-Python's module name."""

from __future__ import annotations

from portagpu.runtime.args import ArgumentWrapper as ArgHint
from portagpu.runtime.args import In, InOut, Out

__all__ = ["ArgHint", "In", "InOut", "Out"]
