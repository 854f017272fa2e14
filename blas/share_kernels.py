"""Which tiles, and which parts of tiles, the blocks of a persistent grid compute; in the dialect.

All are device functions. The first ``whole`` tiles are computed by one block each, in turns. The steps along k of the
tiles after them, fewer than blocks, are shared out: ``least`` for each block, one more for the first ``more`` ones;
``whole`` is then a multiple of the blocks.

M. Osama et al., "Stream-K: Work-centric parallel decomposition for dense matrix-matrix multiplication on the GPU",
PPoPP 2023.
"""

from __future__ import annotations

import numpy as np

from portagpu import cuda


@cuda.jit(device=True)
def whole_of(block, blocks, whole):
    """How many of the ``whole`` tiles, which blocks compute in turns, are a block's."""
    return (whole - block + (blocks - 1)) // blocks if block < whole else 0


@cuda.jit(device=True)
def share_start(block, least, more):
    """Where the share of a block begins: each has ``least`` steps, the first ``more`` one step more."""
    return block * least + min(block, more)


@cuda.jit(device=True)
def share_of(step, least, more):
    """The block whose share has a step: the inverse of `share_start`."""
    longer = more * (least + 1)
    return step // (least + 1) if step < longer else more + (step - longer) // max(least, 1)


@cuda.jit(device=True)
def parts_of(block, steps, least, more):
    """In how many of the shared tiles, ``steps`` deep, a block has a part."""
    begin, end = share_start(block, least, more), share_start(block + 1, least, more)
    return (end + (steps - 1)) // steps - begin // steps if end > begin else 0


@cuda.jit(device=True)
def part_of(block, part, steps, least, more):
    """A block's ``part``-th part: number of the shared tile, and its first step and the one after the last."""
    begin, end = share_start(block, least, more), share_start(block + 1, least, more)
    tile = begin // steps + part
    return tile, max(begin - tile * steps, 0), min(end - tile * steps, steps)


@cuda.jit(device=True)
def task(turn, block, blocks, whole, steps, least, more):
    """What a block does in a turn: number of the tile, first step and the one after the last."""
    number, begin, end = block + turn * blocks, np.int32(0), steps
    if number >= whole:
        tile, begin, end = part_of(block, turn - whole_of(block, blocks, whole), steps, least, more)
        number = whole + tile
    return number, begin, end
