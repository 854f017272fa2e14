"""The pipelined variant: float32 without matrix units, tiles by asynchronous copies (`kernels`)."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.blas.gemm.core.flat_operands import Operand, operand
from portagpu.blas.gemm.core.interface import Config, Product, Variant
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.kernels.launch import (
    SPLITS,
    WORKERS,
    is_modest,
    multiply,
    pieces_of,
    pieces_of_last,
    subgroup_of,
)
from portagpu.blas.gemm.kernels.split_k import LATEST_BYTES, levels_of
from portagpu.blas.gemm.variants.cost_model import REGISTER_FILE, cores, seconds
from portagpu.blas.gemm.variants.simt_async.kernels import Plan, multiply_pipelined
from portagpu.cuda import jit
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.tuning.tunables.space import Axis

_kernels: dict[tuple[int, int | None], Dispatcher] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelinedConfig(Config):
    """Parameters of the pipelined variant: warps of a block, tile of a thread, the pipeline, pieces of a sum.

    ``stages``: places of the ring in shared memory; ``spread``: turns in which a step begins its copies.
    """

    warps_m: int
    warps_n: int
    thread_m: int
    thread_n: int
    tile_k: int
    stages: int
    group: int
    spread: int
    split_k: int
    workers: int = 0

    @property
    def tile_m(self) -> int:
        """Rows of a block's tile."""
        return self.warps_m * 4 * self.thread_m

    @property
    def tile_n(self) -> int:
        """Columns of a block's tile."""
        return self.warps_n * 8 * self.thread_n

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps_m * self.warps_n * 32

    @property
    def local_memory(self) -> int:
        """Bytes of shared memory, at most: rows of transposed operands end in four elements of padding."""
        rings = self.stages * self.tile_k * (self.tile_m + self.tile_n + 8) * 4
        return rings + (LATEST_BYTES if self.split_k > 1 or self.workers else 0)

    @property
    def registers(self) -> int:
        """32-bit registers of a thread: sums, two sets of fragments, addresses."""
        return self.thread_m * self.thread_n + 2 * (self.thread_m + self.thread_n) + 48


class PipelinedVariant(Variant):
    """See `portagpu.blas.gemm.variants.simt_async.kernels`."""

    name = "pipelined"
    config_type = PipelinedConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Products of float32, in any layout with dense rows or columns, where local memory is on the chip."""
        plain = not problem.out and not problem.precision and problem.dtype == "float32"
        ordered = problem.a_order and problem.b_order and problem.c_order == "C"
        return bool(plain and ordered and caps.local_memory_dedicated)

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Warps of a block, tile of a thread, the pipeline, height of the bands that blocks walk, pieces of a sum."""
        return (
            Axis("warps_m", (1, 2, 4)),
            Axis("warps_n", (1, 2, 4)),
            Axis("thread_m", (4, 8, 16)),
            Axis("thread_n", (4, 8, 16)),
            Axis("tile_k", (8, 16, 32)),
            Axis("stages", (3, 4, 5, 6)),
            Axis("group", (8, 16)),
            Axis("spread", (2, 4, 8)),
            Axis("split_k", SPLITS),
            Axis("workers", WORKERS),
        )

    def is_legal(self, config: PipelinedConfig, problem: Problem, caps: Capabilities) -> bool:
        """Copies divide evenly among the threads, and registers and shared memory suffice.

        Sums are split where fences are the device's, as the last block reads what others wrote.
        """
        threads = config.threads
        return (
            threads <= min(caps.max_work_group_size, caps.max_work_item_sizes[0])
            and threads % caps.preferred_multiple == 0
            and config.thread_m * config.thread_n <= 128
            and all(x * 8 % threads == 0 and x * config.tile_k % (4 * threads) == 0 for x in _extents(config))
            and config.spread <= config.tile_k // 2
            and config.stages >= 3
            and (config.split_k == 1 or caps.device_fences)
            and config.split_k <= max(1, problem.k // (2 * config.tile_k))
            and (config.workers == 0 or _is_shared(config, problem, caps))
            and is_modest((config.tile_m, config.tile_n), (problem.m, problem.n), problem.batch, config.split_k)
            and config.local_memory <= caps.local_memory_static
            and config.registers * threads <= REGISTER_FILE
            and config.registers <= caps.thread_registers
        )

    def predict(self, config: PipelinedConfig, problem: Problem, caps: Capabilities) -> float:
        """See `variants.cost_model`: 128 multiply-adds a cycle and unit, less what loads and copies take of it.

        Loads of fragments keep local memory busy for longer than they take to issue, and part of that shows.
        """
        work = config.thread_m * config.thread_n
        loads = (config.thread_m + config.thread_n) / 4
        single_a, single_b = problem.a_order == "C", problem.b_order == "F"
        copied = config.tile_m * (1 if single_a else 0.25) + config.tile_n * (1 if single_b else 0.25)
        busy = work / (work + 3 * loads + 6 * copied / config.threads + 40 / config.tile_k)
        # copies that threads make themselves keep them waiting
        at_once = 1.0 if caps.async_copies else 1.6
        return at_once * seconds(
            problem,
            caps,
            tile=(config.tile_m, config.tile_n),
            threads=config.threads,
            registers=config.registers,
            local_memory=config.local_memory,
            rate=128 * busy,
            split=config.split_k,
            workers=config.workers,
        )

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[PipelinedConfig, ...]:
        """The fastest of large tiles, by layout, and small ones for few rows and columns."""
        shapes = (
            (2, 4, 16, 8, 16, 5, 4),
            (4, 2, 16, 8, 16, 4, 4),
            (2, 2, 16, 8, 8, 6, 2),
            (1, 2, 16, 8, 16, 4, 4),
            (2, 4, 8, 8, 16, 4, 4),
            (4, 2, 4, 8, 16, 4, 4),
            (2, 4, 8, 4, 32, 3, 4),
            (2, 2, 8, 8, 16, 5, 4),
            (1, 2, 8, 8, 16, 4, 4),
            (2, 2, 8, 4, 16, 4, 4),
            (2, 2, 4, 4, 32, 3, 4),
        )
        known = (
            PipelinedConfig(
                warps_m=wm,
                warps_n=wn,
                thread_m=tm,
                thread_n=tn,
                tile_k=k,
                stages=s,
                group=8,
                spread=x,
                split_k=split,
                workers=workers,
            )
            for wm, wn, tm, tn, k, s, x in shapes
            for split, workers in (*((s, 0) for s in SPLITS), *((1, w) for w in WORKERS[1:]))
        )
        return tuple(c for c in known if self.is_legal(c, problem, caps))

    def run(self, config: PipelinedConfig, product: Product) -> None:
        """One launch; where sums are formed in pieces, its last blocks add them."""
        a, b, c = operand(product.a), operand(product.b), operand(product.c)
        (m, k), n = product.a.shape[-2:], product.b.shape[-1]
        tile = (config.tile_m, config.tile_n, config.tile_k)
        workers = _workers(config, product.c.context.capabilities)
        pieces = pieces_of_last(tile, (m, n, k), product.batch, workers)
        workers = workers if pieces else 0
        pieces = pieces or pieces_of(config.split_k, config.tile_k, k)
        last = (vector_type("float32", 4), _plan(config, a, b, c, product, pieces, shared=workers > 0))
        kernel = _kernel(config.threads, subgroup_of(product.c.context.capabilities))
        multiply(kernel, product, (a, b, c), tile, config.threads, pieces, last, workers=workers)


def _extents(config: PipelinedConfig) -> tuple[int, int]:
    return config.tile_m, config.tile_n


def _workers(config: PipelinedConfig, caps: Capabilities) -> int:
    """Blocks that share the last tiles."""
    return config.workers * cores(caps)


def _is_shared(config: PipelinedConfig, problem: Problem, caps: Capabilities) -> bool:
    """Whether there are tiles to share, whose sums are not split otherwise."""
    tile, extents = (config.tile_m, config.tile_n, config.tile_k), (problem.m, problem.n, problem.k)
    pieces = pieces_of_last(tile, extents, problem.batch, _workers(config, caps))
    return bool(config.split_k == 1 and caps.device_fences and pieces)


def _plan(
    config: PipelinedConfig, a: Operand, b: Operand, c: Operand, product: Product, pieces: int, *, shared: bool
) -> Plan:
    """What the compiler shall know of a launch."""
    (m, k), n = product.a.shape[-2:], product.b.shape[-1]
    return Plan(
        warps_m=config.warps_m,
        warps_n=config.warps_n,
        thread_m=config.thread_m,
        thread_n=config.thread_n,
        tile_k=config.tile_k,
        stages=config.stages,
        group=config.group,
        spread=config.spread,
        a_along_k=a.order == "C",
        b_along_k=b.order == "F",
        wide_a=a.wide,
        wide_b=b.wide,
        wide_c=4 if c.wide == 4 else 1,
        guard_a=m < config.tile_m,
        guard_b=n < config.tile_n,
        tail=k % config.tile_k != 0,
        levels=levels_of(pieces),
        shared=shared,
    )


def _kernel(threads: int, lanes: int | None) -> Dispatcher:
    """The kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    found = _kernels.get((threads, lanes))
    if found is None:
        made = jit(multiply_pipelined.py_func, block_dim=(threads, 1, 1), subgroup_size=lanes)
        found = _kernels[threads, lanes] = made
    return found
