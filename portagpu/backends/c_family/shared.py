"""Every module that registers text for operations in all languages: importing this one fills their table."""

from __future__ import annotations

from portagpu.backends.c_family.lowerings import arithmetic, bfloat16, builtins, exchanges, memory, work_items
from portagpu.backends.c_family.numbers import complex_numbers
from portagpu.backends.c_family.registry import SHARED as LOWERINGS

REGISTERED = (arithmetic, bfloat16, builtins, complex_numbers, exchanges, memory, work_items)

__all__ = ["LOWERINGS", "REGISTERED"]
