"""Parallel primitives on device arrays: sorting and searching."""

from __future__ import annotations

from portagpu.primitives.searching import searchsorted
from portagpu.primitives.sorting import argsort, sort, sort_by_key
from portagpu.primitives.uniqueness import Unique, unique

__all__ = ["Unique", "argsort", "searchsorted", "sort", "sort_by_key", "unique"]
