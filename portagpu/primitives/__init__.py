"""Primitives of parallel programs on device arrays: selection, gathering, histograms."""

from __future__ import annotations

from portagpu.primitives.histograms import bincount, histogram
from portagpu.primitives.run_lengths import run_length_encode
from portagpu.primitives.selection import flatnonzero, nonzero, partition, select, select_if

__all__ = [
    "bincount",
    "flatnonzero",
    "histogram",
    "nonzero",
    "partition",
    "run_length_encode",
    "select",
    "select_if",
]
