"""The tile variant: tiles in on-chip local memory and in registers, for GPUs without matrix units (`gpu_kernels`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from portagpu.blas.gpu_kernels import multiply_tiles
from portagpu.blas.problem import Problem
from portagpu.blas.variant import Config, Product, Variant
from portagpu.blas.vectors import vector_type
from portagpu.cuda import jit
from portagpu.cuda.dispatcher import Dispatcher
from portagpu.device.capabilities import Capabilities
from portagpu.tuning.space import Axis

_ALIGNMENT = 16
_tile_kernels: dict[tuple[int, int | None], Dispatcher] = {}

# 32-bit registers: what a thread of the tile kernel keeps besides its accumulators, what a thread can have, and what a
# work-group can have (the register file of a compute unit, 256 KiB on today's GPUs)
_OTHER_REGISTERS = 40
_THREAD_REGISTERS = 208
_GROUP_REGISTERS = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class TileConfig(Config):
    """Parameters of the tile variant."""

    tile_m: int
    tile_n: int
    tile_k: int
    thread_m: int
    thread_n: int
    group: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return (self.tile_m // self.thread_m) * (self.tile_n // self.thread_n)

    def local_memory(self, itemsize: int) -> int:
        """Bytes of local memory: two buffers of padded tiles of A and B."""
        return 2 * self.tile_k * (self.tile_m + 4 + self.tile_n + 4) * itemsize


def tile_lanes(itemsize: int) -> int:
    """Lanes of a 16-byte vector, the widest that GPUs load at once."""
    return 16 // itemsize


class TileVariant(Variant):
    """See `portagpu.blas.gpu_kernels`."""

    name = "tile"
    config_type = TileConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Real floating-point products where local memory is on the chip."""
        plain = not (problem.out or problem.precision or problem.batch > 1 or problem.scaled)
        return plain and caps.local_memory_dedicated and problem.dtype in ("float32", "float64")

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Tiles of a block and of a thread, and the height of the bands that blocks walk."""
        return (
            Axis("tile_m", (32, 64, 128, 256)),
            Axis("tile_n", (32, 64, 128, 256)),
            Axis("tile_k", (4, 8, 16, 32)),
            Axis("thread_m", (2, 4, 8, 16)),
            Axis("thread_n", (2, 4, 8, 16)),
            Axis("group", (1, 4, 8, 16)),
        )

    def is_legal(self, config: TileConfig, problem: Problem, caps: Capabilities) -> bool:
        """Work divides evenly among the threads, and registers and local memory suffice."""
        itemsize = problem.itemsize
        lanes = tile_lanes(itemsize)
        threads = config.threads
        registers = config.thread_m * config.thread_n * itemsize // 4 + _OTHER_REGISTERS
        return (
            config.tile_m % config.thread_m == 0
            and config.tile_n % config.thread_n == 0
            and config.thread_m % lanes == 0
            and config.thread_n % lanes == 0
            and threads <= min(caps.max_work_group_size, caps.max_work_item_sizes[0])
            and threads % caps.preferred_multiple == 0
            and config.tile_k % lanes == 0
            and (config.tile_m * config.tile_k) % (lanes * threads) == 0
            and (config.tile_n * config.tile_k) % (lanes * threads) == 0
            and config.local_memory(itemsize) <= caps.local_memory_static
            and registers <= _THREAD_REGISTERS
            and (caps.inline_ptx or self._is_modest(config, caps, itemsize))
            and registers * threads <= _GROUP_REGISTERS
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

        Seconds at 128 multiply-adds of 32 bits (half as many of 64) a cycle and compute unit.
        """
        m, n, k = problem.m, problem.n, problem.k
        units = max(1, caps.compute_units)
        tiles = math.ceil(m / config.tile_m) * math.ceil(n / config.tile_n)
        local = config.local_memory(problem.itemsize)
        registers = config.thread_m * config.thread_n * problem.itemsize // 4 + 64
        resident = max(1, min(65536 // (registers * config.threads), caps.local_memory_static // local))
        slots = units * resident
        waves = math.ceil(tiles / slots) * slots / tiles if tiles > slots else max(1.0, units / tiles)
        intensity = config.tile_m * config.tile_n / (config.tile_m + config.tile_n)
        ratio = config.thread_m * config.thread_n / (config.thread_m + config.thread_n)
        hiding = min(1.0, resident * config.threads / 256)
        busy = intensity / (intensity + 8) * ratio / (ratio + 0.5) * (0.6 + 0.4 * hiding)
        padded = math.ceil(m / config.tile_m) * config.tile_m * math.ceil(n / config.tile_n) * config.tile_n * k
        return padded / busy * waves / (units * 512 / problem.itemsize * max(1, caps.clock_mhz) * 1e6)

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
            *(() if caps.inline_ptx else ((64, 64, 8, 4, 4), (64, 32, 8, 4, 4))),
        )
        tiles = (
            TileConfig(tile_m=m, tile_n=n, tile_k=k, thread_m=tm, thread_n=tn, group=8) for m, n, k, tm, tn in shapes
        )
        legal = tuple(t for t in tiles if self.is_legal(t, problem, caps))
        if legal:
            return legal
        return tuple(c for c in self.candidates(problem, caps) if isinstance(c, TileConfig))

    def run(self, config: TileConfig, product: Product) -> None:
        """One launch: a block for each tile of C."""
        a, b, c = product.a, product.b, product.c
        (m, k), n = a.shape, b.shape[1]
        a_transposed = a.layout == "F" and m > 1 and k > 1
        b_transposed = b.layout == "F" and n > 1 and k > 1
        a, b = (a.T if a_transposed else a), (b.T if b_transposed else b)
        exact = m % config.tile_m == n % config.tile_n == k % config.tile_k == 0 and all(
            x.layout == "C" and x.offset % _ALIGNMENT == 0 for x in (a, b, c)
        )
        vector = vector_type(c.dtype.name, tile_lanes(c.itemsize))
        tiles = -(-m // config.tile_m) * -(-n // config.tile_n)
        caps = c.context.capabilities
        tile_kernel(config.threads, subgroup_of(caps))[tiles, config.threads, product.stream](
            a,
            b,
            c,
            config.tile_m,
            config.tile_n,
            config.tile_k,
            config.thread_m,
            config.thread_n,
            vector,
            a_transposed,
            b_transposed,
            exact,
            config.group,
            unroll_of(config, caps),
        )


def subgroup_of(caps: Capabilities) -> int | None:
    """The subgroup size that gives a thread the most registers, where a device has several sizes."""
    return min(caps.subgroup_sizes) if caps.thread_registers <= _THREAD_REGISTERS and caps.subgroup_sizes else None


def unroll_of(config: TileConfig, caps: Capabilities) -> int:
    """Steps along k that are unrolled: all for a compiler that keeps registers in mind when it moves loads."""
    return config.tile_k if caps.inline_ptx else min(config.tile_k, 4)


def tile_kernel(threads: int, subgroup: int | None) -> Dispatcher:
    """The tile kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    found = _tile_kernels.get((threads, subgroup))
    if found is None:
        made = jit(multiply_tiles.py_func, block_dim=(threads, 1, 1), subgroup_size=subgroup)
        found = _tile_kernels[(threads, subgroup)] = made
    return found
