"""Parallel primitives on device arrays: sorting and searching."""

from __future__ import annotations

from portagpu.primitives.sorting import argsort, sort, sort_by_key

__all__ = ["argsort", "sort", "sort_by_key"]
