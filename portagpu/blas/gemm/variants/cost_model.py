"""What a GPU is expected to take for tiles of C: the share of the arithmetic, waves of blocks, traffic, pieces."""

from __future__ import annotations

import math

from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.kernels.split_k import fan_of, levels_of
from portagpu.device.capabilities import Capabilities

# Fitted to 56 products of the pipelined and doubles variants on an H100 (14 to 2600 us): 8% off at the mean.
_REGISTER_FILE = 65536  # 32-bit registers of a compute unit of today's GPUs
_CACHE_BYTES = 32  # bytes a cycle that a compute unit gets from the device's cache while all others read, too
_STORE_BYTES = 11  # the same of results on their way out
_MEMORY_BYTES = 10  # the same from its memory
_WARPS = 8  # of a compute unit: from there on arithmetic and loads overlap
_START = 500  # cycles until the first tiles have arrived
_ARRIVAL = 4400  # cycles until a block's part is seen by the device, and the block counted
_PART = 370  # cycles until a part begins to arrive
_PART_BYTES = 34  # bytes a cycle of a part, while few blocks read
_LAUNCH = 5.5e-6  # seconds


def adding_cycles(pieces: int, part_bytes: int) -> float:
    """Cycles from stored pieces to the sum of all (see `kernels.split_k`); part_bytes: of a piece."""
    levels, reads = levels_of(pieces), 1 if pieces == 2 else fan_of(pieces)
    again = max(0, levels - 1) * part_bytes / _STORE_BYTES
    return levels * (_ARRIVAL + reads * max(_PART, part_bytes / _PART_BYTES)) + again


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
    workers: int = 0,
    persistent: int = 0,
) -> float:
    """Seconds of a product in tiles (m, n).

    threads: of a block; registers: 32-bit ones of a thread; local_memory: bytes of a block; rate: multiply-adds a cycle
    of a compute unit that is kept busy; split: pieces of each sum; workers: of a compute unit, see `kernels.stream_k`;
    persistent: blocks of a compute unit that take one tile after the other.
    """
    tile_m, tile_n = tile
    units = max(1, caps.compute_units)
    fit = min(_REGISTER_FILE // (registers * threads), max(caps.local_memory_static, 1) // local_memory)
    blocks = math.ceil(problem.m / tile_m) * math.ceil(problem.n / tile_n) * problem.batch * split
    together = workers or persistent or max(1, min(fit, math.ceil(blocks / units)))
    if together > fit:
        return math.inf
    waves = blocks / (units * together)
    if not workers:
        waves = math.ceil(waves)
    depth = math.ceil(problem.k / split)
    hiding = min(1.0, math.sqrt(together * threads / 32 / _WARPS))
    arithmetic = tile_m * tile_n / (rate * hiding)
    traffic = (tile_m + tile_n) * problem.itemsize / _CACHE_BYTES
    work = math.sqrt(math.hypot(arithmetic**2, traffic**2))  # the longer one, and more where both take as long
    elements = tile_m * tile_n
    stored = elements * (problem.out_itemsize if split == 1 else problem.accumulator_itemsize) / _STORE_BYTES
    # blocks beside each other end at different times, and one's store hides behind the others' work; not at the end
    starts = 1 if persistent else waves
    cycles = starts * _START + waves * (stored + together * depth * work) + (together - 1) * stored
    if workers:  # a worker leaves what it has of its first tile, and adds that of its last
        part = elements * problem.accumulator_itemsize
        cycles += _START + together * (part / _STORE_BYTES + adding_cycles(2, part))
    if split > 1:  # one block of each tile adds
        adding = adding_cycles(split, elements * problem.accumulator_itemsize)
        cycles += max(1.0, waves * together / split) * (adding + elements * problem.out_itemsize / _STORE_BYTES)
    clock = max(1, caps.clock_mhz) * 1e6
    return max(cycles / clock, problem.nbytes / (units * _MEMORY_BYTES * clock)) + _LAUNCH
