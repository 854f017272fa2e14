"""How elements are shared out among blocks: consecutive ones for each, as many blocks as keep a device busy."""

from __future__ import annotations

from typing import NamedTuple

from portagpu.device.capabilities import Capabilities

_THREADS = 256
_BLOCKS_PER_UNIT = 32  # of a GPU: some four rounds of all blocks that it holds at once
_SHARES_PER_CORE = 4
_ALIGNED = 64  # elements that a core's share is a multiple of: whole lines of its cache
_LEAST_OF_CORE = 2048  # elements for which another core is worth a launch's work


class Shares(NamedTuple):
    """``blocks`` of ``threads``; each has ``share`` consecutive elements, the last perhaps fewer."""

    blocks: int
    threads: int
    share: int


def shares_of(count: int, caps: Capabilities, tile: int) -> Shares:
    """Shares of ``count`` elements: on GPUs multiples of a tile, on CPUs blocks of one thread that goes through all."""
    if caps.is_serial:
        blocks = max(1, min(caps.compute_units * _SHARES_PER_CORE, count // _LEAST_OF_CORE))
        share = -(-count // (blocks * _ALIGNED)) * _ALIGNED
        return Shares(max(1, -(-count // share)) if share else 1, 1, share)
    tiles = -(-count // tile)
    blocks = max(1, min(caps.compute_units * _BLOCKS_PER_UNIT, tiles))
    share = max(1, -(-tiles // blocks)) * tile
    return Shares(max(1, -(-count // share)), threads_of(caps), share)


def threads_of(caps: Capabilities) -> int:
    """Threads of a block: a power of two."""
    if caps.is_serial:
        return 1
    limit = min(_THREADS, caps.max_work_group_size, caps.max_work_item_sizes[0])
    return 1 << (limit.bit_length() - 1)
