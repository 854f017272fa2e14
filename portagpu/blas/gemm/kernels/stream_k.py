"""Stream-K: the last tiles are shared out along k among all blocks of a device; in the dialect.

Where tiles are computed by blocks of their own, a device with 132 places takes four turns for 512 tiles, and is idle
for an eighth of the last one. So whole tiles fill the places evenly, and the steps along k of what is left, tile after
tile, are dealt to as many ``workers`` as there are places. A worker's share may begin and end within tiles; the last
block of such a tile to arrive adds its parts in the order of their numbers (`portagpu.blas.gemm.kernels.split_k`).

M. Osama et al., "Stream-K: Work-centric parallel decomposition for dense matrix-matrix multiplication on the GPU",
PPoPP 2023.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda

_FEWEST_STEPS = 8  # of a worker's share
_MOST_PIECES = 8  # of a tile: the last block adds them at once
_LEAST_SHARE = 4  # with less than a fourth of the places' tiles left, those of one more turn are shared, too


def whole_tiles(tiles: int, workers: int) -> int:
    """How many tiles are computed by blocks of their own; the others are shared."""
    turns, rest = divmod(tiles, workers)
    if 0 < rest * _LEAST_SHARE < workers and turns:
        turns -= 1
    return turns * workers


def pieces_of_shares(tiles: int, workers: int, steps: int) -> int:
    """In how many pieces a tile may be where ``tiles`` of ``steps`` steps are shared by ``workers``; 0: not at all."""
    rest = tiles - whole_tiles(tiles, workers)
    share = rest * steps // workers
    pieces = -(-steps // max(1, share)) + 1
    return pieces if share >= _FEWEST_STEPS and pieces <= _MOST_PIECES and rest * steps < 2**31 else 0


class Workers(NamedTuple):
    """Blocks that share what is left: the first ``whole`` tiles are computed by blocks of their own."""

    whole: Any
    count: Any


@cuda.jit(device=True)
def start_of(worker, share, more):
    """The first step of a worker's share: the first ``more`` workers have ``share + 1`` steps, the others ``share``."""
    return worker * share + min(worker, more)


@cuda.jit(device=True)
def part_of(worker, tile, steps, share, more):
    """The number of a worker's part of a shared tile's sums, and how many parts these have."""
    first = worker_of(tile * steps, share, more)
    return worker - first, worker_of(tile * steps + (steps - 1), share, more) - first + 1


@cuda.jit(device=True)
def worker_of(step, share, more):
    """The worker whose share has a step."""
    long = more * (share + 1)
    return step // (share + 1) if step < long else more + (step - long) // share
