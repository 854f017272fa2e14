"""Every module that registers text for operations in all languages: importing this one fills their table."""

from __future__ import annotations

from portagpu.backends.c_family import complex_numbers
from portagpu.backends.c_family.lowerings import arithmetic, bfloat16, builtins, memory
from portagpu.backends.c_family.registry import SHARED as LOWERINGS

REGISTERED = (arithmetic, bfloat16, builtins, complex_numbers, memory)

__all__ = ["LOWERINGS", "REGISTERED"]
