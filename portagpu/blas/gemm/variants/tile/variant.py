"""The tile variant: tiles in on-chip local memory and in registers, for GPUs without matrix units (`kernels`)."""

from __future__ import annotations

import math

from portagpu.blas.gemm.core.accumulation import is_plain
from portagpu.blas.gemm.core.interface import Product, Variant, clock_mhz
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.kernels.launch import split_of
from portagpu.blas.gemm.variants.cost_model import REGISTER_FILE, TILES, cores
from portagpu.blas.gemm.variants.tile.config import TileConfig
from portagpu.blas.gemm.variants.tile.launch import launch_tiles, tile_lanes
from portagpu.device.capabilities import Capabilities
from portagpu.tuning.tunables.space import Axis

# 32-bit registers: what a thread of the tile kernel keeps besides its accumulators, and what a thread can have
_OTHER_REGISTERS = 40
_THREAD_REGISTERS = 208

_SMALL = 32  # rows and columns of matrices of which a block computes several
_PART_BYTES = 2**28  # of parts of sums, at most


class TileVariant(Variant):
    """See `portagpu.blas.gemm.variants.tile.kernels`."""

    name = "tile"
    config_type = TileConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """All real dtypes where local memory is on the chip; batches, scaling, and rows or columns with gaps."""
        return caps.local_memory_dedicated and is_plain(problem)

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Tiles of a block and of a thread, the height of the bands that blocks walk, and how few tiles become more."""
        small = problem.batch > 1 and max(problem.m, problem.n) <= _SMALL
        tiles = math.ceil(problem.m / 64) * math.ceil(problem.n / 64) * problem.batch
        few = tiles < 2 * cores(caps)
        return (
            Axis("tile_m", (8, 16, 32, 64) if small else (32, 64, 128, 256)),
            Axis("tile_n", (8, 16, 32, 64) if small else (32, 64, 128, 256)),
            Axis("tile_k", (4, 8, 16, 32)),
            Axis("thread_m", (2, 4, 8, 16)),
            Axis("thread_n", (2, 4, 8, 16)),
            Axis("group", (1, 4, 8, 16)),
            Axis(
                "split_k",
                tuple(s for s in (1, 2, 3, 4, 6, 8, 16, 32, 64, 128) if s == 1 or (few and s < problem.k // 64)),
            ),
            Axis("problems", (1, 2, 4, 8, 16, 32, 64) if small else (1,)),
        )

    def is_legal(self, config: TileConfig, problem: Problem, caps: Capabilities) -> bool:
        """Work divides evenly among the threads, and registers and local memory suffice."""
        itemsize = problem.accumulator_itemsize
        lanes = tile_lanes(itemsize)
        threads = config.threads
        registers = config.thread_m * config.thread_n * itemsize // 4 + _OTHER_REGISTERS
        whole = threads * config.problems
        split = config.split_k
        return (
            config.tile_m % config.thread_m == 0
            and config.tile_n % config.thread_n == 0
            and config.thread_m % lanes == 0
            and config.thread_n % lanes == 0
            and whole <= min(caps.max_work_group_size, caps.max_work_item_sizes[0])
            and whole % caps.preferred_multiple == 0
            and config.tile_k % lanes == 0
            and (config.tile_m * config.tile_k) % (lanes * threads) == 0
            and (config.tile_n * config.tile_k) % (lanes * threads) == 0
            and config.local_memory(itemsize) <= caps.local_memory_static
            and registers <= _THREAD_REGISTERS
            and (caps.register_aware_scheduling or self._is_modest(config, caps, itemsize))
            and registers * whole <= REGISTER_FILE
            and (config.problems == 1 or (problem.batch > 1 and split == 1))
            and (split == 1 or split * problem.m * problem.n * problem.batch * itemsize <= _PART_BYTES)
        )

    def _is_modest(self, config: TileConfig, caps: Capabilities, itemsize: int) -> bool:
        """Whether compilers that move many loads to the front spill no registers, as far as offline ones tell.

        A thread holds sums, the next tiles on their way, rows and columns of a step, and others.
        """
        following = config.tile_k * (config.tile_m + config.tile_n) // config.threads
        numbers = config.thread_m * config.thread_n + following + config.thread_m + config.thread_n
        held = numbers * itemsize // 4 + _OTHER_REGISTERS
        return held <= caps.thread_registers * 13 // 16 and config.tile_k * itemsize <= 64

    def predict(self, config: TileConfig, problem: Problem, caps: Capabilities) -> float:
        """Multiply-adds of all padded tiles over the share of time that the arithmetic units are busy, times waves.

        At 128 multiply-adds of 32 bits (half as many of 64) a cycle and compute unit; not below what the steps of one
        block take one after another, nor what the memory needs; and the parts of split sums are written and read.
        """
        itemsize, units, cycle = problem.accumulator_itemsize, cores(caps), 1e-6 / clock_mhz(caps)
        split, chunk = split_of(config.split_k, config.tile_k, problem.k)
        tiles_m, tiles_n = math.ceil(problem.m / config.tile_m), math.ceil(problem.n / config.tile_n)
        blocks = tiles_m * tiles_n * split * math.ceil(problem.batch / config.problems)
        registers = config.thread_m * config.thread_n * itemsize // 4 + 64
        threads = config.threads * config.problems
        resident = min(
            REGISTER_FILE // (registers * threads), caps.local_memory_static // config.local_memory(itemsize)
        )
        resident = max(1, min(resident, math.ceil(blocks / units)))
        slots = units * resident
        fullest = math.ceil(blocks / slots) * resident if blocks > slots else math.ceil(blocks / units)
        waves = fullest * units / blocks
        intensity = config.tile_m * config.tile_n / (config.tile_m + config.tile_n)
        ratio = config.thread_m * config.thread_n / (config.thread_m + config.thread_n)
        hiding = min(1.0, resident * threads / 256)
        busy = TILES.busy * intensity / (intensity + 8) * ratio / (ratio + 0.5) * (0.6 + 0.4 * hiding)
        padded = blocks * config.problems * config.tile_m * config.tile_n * chunk
        loads = 1.0 if problem.aligned else TILES.element_loads
        arithmetic = loads * padded / busy * waves / (units * 512 / itemsize) * cycle
        steps = math.ceil(blocks / slots) * (chunk // config.tile_k) * TILES.step * cycle
        bandwidth = units * TILES.memory_bytes / cycle
        parts = 2 * split * problem.m * problem.n * problem.batch * itemsize / bandwidth + TILES.further
        # what takes longest hides the others but for a part, which decides where memory limits all configurations
        longest = max(arithmetic, steps, problem.nbytes / bandwidth) + 0.05 * (arithmetic + steps)
        stored = config.problems * config.tile_m * config.tile_n * problem.out_itemsize / TILES.store_bytes
        longest += math.ceil(blocks / slots) * (2 * TILES.step + stored) * cycle
        return longest + (parts if split > 1 else 0.0) + TILES.launch

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[TileConfig, ...]:
        """From tiles that need a large register file to ones that fit everywhere."""
        shapes = (
            (256, 128, 16, 16, 8),
            (128, 128, 16, 16, 8),
            (128, 128, 8, 8, 8),
            (128, 64, 16, 8, 8),
            (64, 64, 16, 8, 4),
            (64, 64, 16, 4, 4),
            (64, 32, 16, 4, 4),
            (32, 32, 16, 4, 2),
            (32, 32, 16, 2, 2),
            (32, 32, 8, 4, 4),
            *(() if caps.register_aware_scheduling else ((64, 64, 8, 4, 4), (64, 32, 8, 4, 4))),
        )
        small = ((32, 32, 16, 4, 4), (16, 16, 16, 4, 4), (8, 8, 8, 4, 4), (16, 16, 16, 2, 2), (8, 8, 8, 2, 2))
        known = {axis.name: axis.values for axis in self.axes(problem, caps)}
        tiles = (
            TileConfig(tile_m=m, tile_n=n, tile_k=k, thread_m=tm, thread_n=tn, group=8, split_k=s, problems=p)
            for p in known["problems"]
            for s in known["split_k"]
            for m, n, k, tm, tn in (small if p > 1 else shapes)
        )
        legal = tuple(t for t in tiles if self.is_legal(t, problem, caps))
        if legal:
            return legal
        return tuple(c for c in self.candidates(problem, caps) if isinstance(c, TileConfig))

    def run(self, config: TileConfig, product: Product) -> None:
        """One launch, a block for each tile of C; and one that adds the parts of sums that are split."""
        launch_tiles(config, product, None)
