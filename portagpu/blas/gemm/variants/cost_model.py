"""The cost model of GPUs: its constants with device, date and error, and the time of a product in tiles of C."""

from __future__ import annotations

import math
from dataclasses import dataclass

from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.kernels.split_k import fan_of, levels_of
from portagpu.device.capabilities import Capabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where constants come from: the device, the date, what they were fitted to, and how far the model was off."""

    device: str
    date: str
    products: str
    error: str


REGISTER_FILE = 65536
"""32-bit registers of a compute unit of today's GPUs, and at most of a block."""
THREADS_OF_UNIT = 2048
"""Threads that a compute unit keeps, at most."""


_LANES = 128  # of a compute unit of the GPUs that the constants were fitted to


def cores(caps: Capabilities) -> int:
    """Compute units as the constants mean them, with local memory of their own: some drivers count smaller ones."""
    return max(1, caps.compute_units * caps.unit_lanes // _LANES)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineCosts:
    """Of tiles by asynchronous copies, see `seconds`; bytes are those of a cycle and a compute unit."""

    origin: Origin
    cache_bytes: float  # from the device's cache while all others read, too
    store_bytes: float  # of results on their way out
    memory_bytes: float
    warps: int  # of a compute unit: from there on arithmetic and loads overlap
    start: float  # cycles until the first tiles have arrived
    arrival: float  # cycles until a block's part is seen by the device, and the block counted
    part: float  # cycles until a part begins to arrive
    part_bytes: float  # of a part, while few blocks read
    launch: float  # seconds
    beside_warp_groups: float  # times as slow as expected, where warp groups have matrix units of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class TileCosts:
    """Of tiles in local memory (`tile.variant`)."""

    origin: Origin
    busy: float  # at best, of the arithmetic
    step: float  # cycles of a tile's way from memory through a barrier, when nothing hides it
    launch: float  # seconds
    further: float  # seconds of a second launch, which drivers take longer for than the device
    element_loads: float  # times as long where rows are not aligned, so that elements are read one by one
    memory_bytes: float  # a cycle that a compute unit gets
    store_bytes: float  # a cycle of a block's results on their way out


@dataclass(frozen=True, slots=True, kw_only=True)
class FewRowsCosts:
    """Of products with few rows (`skinny.model`)."""

    origin: Origin
    memory_bytes: float  # a cycle that a compute unit gets
    flight: float  # bytes under way, of a compute unit, with which it gets half of that
    launch: float  # seconds
    further: float  # seconds of a second launch
    in_block: float  # seconds of adding up the sums of a block's threads
    arrival: float  # seconds of leaving parts and counting them
    alone: float  # what barriers cost a small block that has a compute unit to itself
    alone_with_copies: float  # the same while copies go on, where the few rows change
    overlap: float  # share of the shorter one of loads and arithmetic that is not hidden among so many threads:
    many: int


_H100 = "H100"

PIPELINES = PipelineCosts(
    origin=Origin(
        device=_H100,
        date="2026-11-22",
        products="56 of the pipelined and doubles variants, 14 to 2600 us",
        error="8% at the mean",
    ),
    cache_bytes=32,
    store_bytes=11,
    memory_bytes=10,
    warps=8,
    start=500,
    arrival=4400,
    part=370,
    part_bytes=34,
    launch=5.5e-6,
    beside_warp_groups=1.5,
)
TILES = TileCosts(
    origin=Origin(
        device=_H100,
        date="2026-11-22",
        products="`busy` is what the pipelined variant reached, which hides more loads; the others are estimates",
        error="not known",
    ),
    busy=0.92,
    step=1000.0,
    launch=4e-6,
    further=12e-6,
    element_loads=1.4,
    memory_bytes=12.0,
    store_bytes=16.0,
)
FEW_ROWS = FewRowsCosts(
    origin=Origin(
        device=_H100,
        date="2026-11-22",
        products="of the skinny and skinny_fragments variants",
        error="not known",
    ),
    memory_bytes=13.0,
    flight=8000,
    launch=4e-6,
    further=12e-6,
    in_block=1e-6,
    arrival=1.5e-6,
    alone=1.12,
    alone_with_copies=1.06,
    overlap=0.05,
    many=512,
)


def adding_cycles(pieces: int, part_bytes: int) -> float:
    """Cycles from stored pieces to the sum of all (see `kernels.split_k`); part_bytes: of a piece."""
    levels, reads = levels_of(pieces), 1 if pieces == 2 else fan_of(pieces)
    again = max(0, levels - 1) * part_bytes / PIPELINES.store_bytes
    return levels * (PIPELINES.arrival + reads * max(PIPELINES.part, part_bytes / PIPELINES.part_bytes)) + again


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
    units = cores(caps)
    fit = min(REGISTER_FILE // (registers * threads), max(caps.local_memory_static, 1) // local_memory)
    blocks = math.ceil(problem.m / tile_m) * math.ceil(problem.n / tile_n) * problem.batch * split
    together = workers or persistent or max(1, min(fit, math.ceil(blocks / units)))
    if together > fit:
        return math.inf
    waves = blocks / (units * together)
    if not workers:
        waves = math.ceil(waves)
    depth = math.ceil(problem.k / split)
    hiding = min(1.0, math.sqrt(together * threads / 32 / PIPELINES.warps))
    arithmetic = tile_m * tile_n / (rate * hiding)
    traffic = (tile_m + tile_n) * problem.itemsize / PIPELINES.cache_bytes
    work = math.sqrt(math.hypot(arithmetic**2, traffic**2))  # the longer one, and more where both take as long
    elements = tile_m * tile_n
    stored = elements * (problem.out_itemsize if split == 1 else problem.accumulator_itemsize) / PIPELINES.store_bytes
    # blocks beside each other end at different times, and one's store hides behind the others' work; not at the end
    starts = 1 if persistent else waves
    cycles = starts * PIPELINES.start + waves * (stored + together * depth * work) + (together - 1) * stored
    if workers:  # a worker leaves what it has of its first tile, and adds that of its last
        part = elements * problem.accumulator_itemsize
        cycles += PIPELINES.start + together * (part / PIPELINES.store_bytes + adding_cycles(2, part))
    if split > 1:  # one block of each tile adds
        adding = adding_cycles(split, elements * problem.accumulator_itemsize)
        cycles += max(1.0, waves * together / split) * (
            adding + elements * problem.out_itemsize / PIPELINES.store_bytes
        )
    clock = max(1, caps.clock_mhz) * 1e6
    return max(cycles / clock, problem.nbytes / (units * PIPELINES.memory_bytes * clock)) + PIPELINES.launch
