"""Parallel primitives on device arrays: sorting and searching."""

from __future__ import annotations

from portagpu.primitives.merge_sort import merge_sort
from portagpu.primitives.searching import searchsorted
from portagpu.primitives.sorting import argsort, sort, sort_by_key
from portagpu.primitives.top_k import top_k
from portagpu.primitives.uniqueness import Unique, unique

__all__ = ["Unique", "argsort", "merge_sort", "searchsorted", "sort", "sort_by_key", "top_k", "unique"]
