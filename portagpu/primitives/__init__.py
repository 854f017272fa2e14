"""Parallel primitives on device arrays, and inside kernels: scans and reductions."""

from __future__ import annotations

from portagpu.primitives.by_key import reduce_by_key
from portagpu.primitives.in_kernels import (
    block_exclusive_scan,
    block_inclusive_scan,
    block_reduce,
    warp_exclusive_scan,
    warp_inclusive_scan,
    warp_reduce,
)
from portagpu.primitives.scans.scanning import exclusive_scan, inclusive_scan

__all__ = [
    "block_exclusive_scan",
    "block_inclusive_scan",
    "block_reduce",
    "exclusive_scan",
    "inclusive_scan",
    "reduce_by_key",
    "warp_exclusive_scan",
    "warp_inclusive_scan",
    "warp_reduce",
]
