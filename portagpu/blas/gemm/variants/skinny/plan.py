"""The skinny variant's plan: what is known of a block when its kernels are compiled."""

from __future__ import annotations

from typing import NamedTuple

from portagpu.blas.gemm.kernels.skinny_split_k import StripPlan


class SkinnyPlan(NamedTuple):
    """Of the kernels in `across_kernels` and `along_kernels`.

    ``strip``: a block's sums and threads. ``threads_x``: along what lies side by side in b; ``threads_y``: along the
    other axis. ``lines``: columns of a thread, ``flight``: loads that it has under way (across: rows of b; along:
    vectors of each column). ``panel``: k's in shared memory. ``together``: rows whose sums are added at once. ``few``:
    rows of x that a thread reads at once (across). ``x_lies_along``: x has its k's side by side. ``whole``: numbers
    are, see `kernels.epilogue.multiply_add`. ``aligned``: all vectors of b are. ``stages``: groups of ``flight`` loads
    that are under way to a ring in shared memory; 1: loads are to registers.
    """

    strip: StripPlan
    threads_x: int
    threads_y: int
    lines: int
    flight: int
    panel: int
    together: int
    few: int
    x_lies_along: bool
    whole: bool
    aligned: bool
    stages: int


def broadcast_lanes(rows: int, itemsize: int) -> int:
    """Elements of x that a thread reads at once, of one k: up to 16 bytes."""
    return next(lanes for lanes in (16 // itemsize, 2, 1) if lanes <= rows or (lanes == 4 and rows == 3))


def panel_pitch(rows: int, itemsize: int) -> int:
    """Elements from one k to the next: an odd number of vectors, so that neighbours lie in different banks."""
    lanes = broadcast_lanes(rows, itemsize)
    return (-(-rows // lanes) | 1) * lanes
