"""Primitives on device arrays and in kernels: scans, selection, histograms, sorting."""

from __future__ import annotations

from portagpu.primitives.bins.histograms import bincount, histogram
from portagpu.primitives.block_arrangements import block_run_lengths, block_select, block_sort, block_sort_by_key
from portagpu.primitives.in_kernels import (
    block_exclusive_scan,
    block_inclusive_scan,
    block_reduce,
    warp_exclusive_scan,
    warp_inclusive_scan,
    warp_reduce,
)
from portagpu.primitives.scans.by_key import reduce_by_key
from portagpu.primitives.scans.scanning import exclusive_scan, inclusive_scan
from portagpu.primitives.selections.run_lengths import run_length_encode
from portagpu.primitives.selections.selection import flatnonzero, nonzero, partition, select, select_if
from portagpu.primitives.sorts.merge_sort import merge_sort
from portagpu.primitives.sorts.searching import searchsorted
from portagpu.primitives.sorts.sorting import argsort, sort, sort_by_key
from portagpu.primitives.sorts.top_k import top_k
from portagpu.primitives.sorts.uniqueness import Unique, unique

__all__ = [
    "Unique",
    "argsort",
    "bincount",
    "block_exclusive_scan",
    "block_inclusive_scan",
    "block_reduce",
    "block_run_lengths",
    "block_select",
    "block_sort",
    "block_sort_by_key",
    "exclusive_scan",
    "flatnonzero",
    "histogram",
    "inclusive_scan",
    "merge_sort",
    "nonzero",
    "partition",
    "reduce_by_key",
    "run_length_encode",
    "searchsorted",
    "select",
    "select_if",
    "sort",
    "sort_by_key",
    "top_k",
    "unique",
    "warp_exclusive_scan",
    "warp_inclusive_scan",
    "warp_reduce",
]
