"""Filters of workloads by their paths."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path is meant by any of the patterns; by no pattern at all, every path is.

    A pattern with wildcards (``*``, ``?``, ``[...]``) is that of the whole path or of its end behind a slash, as those
    of files; one without names parts that follow each other: ``float32/4096`` means ``gemm/matmul/float32/4096`` and
    not ``gemm/matmul/float32/40960``.
    """
    patterns = tuple(patterns)
    return not patterns or any(_matches(path, pattern.strip("/")) for pattern in patterns)


def _matches(path: str, pattern: str) -> bool:
    if any(sign in pattern for sign in "*?["):
        return fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")
    return f"/{pattern}/" in f"/{path}/"


__all__ = ["matches"]
