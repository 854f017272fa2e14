"""What functions of arrays are given, as device arrays."""

from __future__ import annotations

from portagpu.ufuncs.operands import array_of, arrays_of

__all__ = ["array_of", "arrays_of"]
