"""What a GPU is expected to take for tiles of C: the share of the arithmetic, waves of blocks, traffic, pieces."""

from __future__ import annotations

import math

from portagpu.blas.problem import Problem
from portagpu.device.capabilities import Capabilities

_REGISTER_FILE = 65536  # 32-bit registers of a compute unit of today's GPUs
_CACHE_BYTES = 40  # bytes a cycle that a compute unit gets from the device's cache
_WARPS = 8  # of a compute unit: from there on arithmetic and loads overlap
_START = 2000  # cycles until the first tiles have arrived and the last results have left
_MEMORY_BYTES = 10  # the same from its memory
_FIRST_LAUNCH = 4e-6  # seconds
_LAUNCH = 12e-6  # seconds of a further launch, which drivers take longer for than the device


def seconds(
    problem: Problem,
    caps: Capabilities,
    *,
    tile: tuple[int, int],
    threads: int,
    registers: int,
    local_memory: int,
    rate: float,
    split: int,
) -> float:
    """Seconds of a product in tiles (m, n).

    threads: of a block; registers: 32-bit ones of a thread; local_memory: bytes of a block; rate: multiply-adds a cycle
    of a compute unit that is kept busy; split: pieces of each sum.
    """
    tile_m, tile_n = tile
    units = max(1, caps.compute_units)
    fit = min(_REGISTER_FILE // (registers * threads), max(caps.local_memory_static, 1) // local_memory)
    blocks = math.ceil(problem.m / tile_m) * math.ceil(problem.n / tile_n) * problem.batch * split
    together = max(1, min(fit, math.ceil(blocks / units)))
    waves = math.ceil(blocks / (units * together))
    depth = math.ceil(problem.k / split)
    hiding = min(1.0, math.sqrt(together * threads / 32 / _WARPS))
    arithmetic = tile_m * tile_n / (rate * hiding)
    traffic = (tile_m + tile_n) * problem.itemsize / _CACHE_BYTES
    cycles = waves * (_START + together * depth * max(arithmetic, traffic))
    clock = max(1, caps.clock_mhz) * 1e6
    longest = max(cycles / clock, problem.nbytes / (units * _MEMORY_BYTES * clock)) + _FIRST_LAUNCH
    if split == 1:
        return longest
    moved = (2 * split + 1) * problem.m * problem.n * problem.batch * problem.accumulator_itemsize
    return longest + _LAUNCH + moved / (units * _CACHE_BYTES / 2 * clock)
