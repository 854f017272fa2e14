"""Primitives of parallel programs on device arrays: selection, gathering and scattering, histograms, sequences."""

from __future__ import annotations

from portagpu.primitives.selection import flatnonzero, nonzero, partition, select, select_if

__all__ = ["flatnonzero", "nonzero", "partition", "select", "select_if"]
