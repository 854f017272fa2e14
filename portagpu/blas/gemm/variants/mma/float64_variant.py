"""The double variant: float64 by the matrix units of CUDA GPUs (`float64_kernels`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from portagpu.blas.gemm.core.flat_operands import Operand, operand
from portagpu.blas.gemm.core.interface import Config, Product, Variant
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.kernels.launch import SPLITS, is_modest, multiply, pieces_of
from portagpu.blas.gemm.kernels.split_k import LATEST_BYTES, levels_of
from portagpu.blas.gemm.variants.cost_model import REGISTER_FILE, seconds
from portagpu.blas.gemm.variants.mma.float64_kernels import DoublePlan, multiply_doubles
from portagpu.cuda import jit
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.tuning.tunables.space import Axis

_kernels: dict[int, Dispatcher] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubleConfig(Config):
    """Parameters of the double variant: warps of a block, fragments of a warp (16 x 8 elements), and the pipeline.

    ``persistent``: blocks of a compute unit, each of which takes one tile after the other; 0: each block has one tile.
    """

    warps_m: int
    warps_n: int
    blocks_m: int
    blocks_n: int
    tile_k: int
    stages: int
    group: int
    split_k: int
    persistent: int = 0

    @property
    def tile_m(self) -> int:
        """Rows of a block's tile."""
        return self.warps_m * 16 * self.blocks_m

    @property
    def tile_n(self) -> int:
        """Columns of a block's tile."""
        return self.warps_n * 8 * self.blocks_n

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps_m * self.warps_n * 32

    def local_memory(self, problem: Problem) -> int:
        """Bytes of shared memory: rows of A have two elements of padding, planes of B eight; across k, rows of both
        four."""
        padding = 8 if problem.a_order == "F" and problem.b_order == "C" else 3
        rings = self.stages * self.tile_k * (self.tile_m + self.tile_n + padding) * 8
        return rings + (LATEST_BYTES if self.split_k > 1 else 0)

    @property
    def registers(self) -> int:
        """32-bit registers of a thread: sums, two sets of fragments, addresses."""
        return 8 * self.blocks_m * self.blocks_n + 2 * (8 * self.blocks_m + 4 * self.blocks_n) + 30


class DoubleVariant(Variant):
    """See `portagpu.blas.gemm.variants.mma.float64_kernels`."""

    name = "doubles"
    config_type = DoubleConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Products of float64, in any layout with dense rows or columns, where `cuda.mma_sync` has 16 rows of them."""
        plain = not problem.out and not problem.precision and problem.dtype == "float64"
        ordered = problem.a_order and problem.b_order and problem.c_order == "C"
        return bool(plain and ordered and caps.ptx_target >= (9, 0))

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Warps of a block, fragments of a warp, the pipeline, bands of tiles, pieces of a sum, blocks that stay."""
        return (
            Axis("warps_m", (1, 2, 4, 8)),
            Axis("warps_n", (1, 2, 4, 8)),
            Axis("blocks_m", (1, 2, 4)),
            Axis("blocks_n", (2, 4, 8)),
            Axis("tile_k", (16, 32)),
            Axis("stages", (3, 4, 5, 6)),
            Axis("group", (4, 8, 16)),
            Axis("split_k", SPLITS),
            Axis("persistent", (0, 1, 2, 3, 4)),
        )

    def is_legal(self, config: DoubleConfig, problem: Problem, caps: Capabilities) -> bool:
        """Copies divide evenly among the threads, and registers and shared memory suffice."""
        threads = config.threads
        extents = (config.tile_m, config.tile_n)
        return (
            64 <= threads <= min(caps.max_work_group_size, 512)
            and config.blocks_m * config.blocks_n <= 16
            and all(x * 8 % threads == 0 and x * config.tile_k % (2 * threads) == 0 for x in extents)
            and config.tile_k % 16 == 0
            and config.stages >= 3
            and (config.persistent == 0 or _is_persistent(config, problem, caps))
            and config.split_k <= max(1, problem.k // (2 * config.tile_k))
            and is_modest((config.tile_m, config.tile_n), (problem.m, problem.n), problem.batch, config.split_k)
            and config.local_memory(problem) <= caps.local_memory_static
            and config.registers * threads <= REGISTER_FILE
        )

    def predict(self, config: DoubleConfig, problem: Problem, caps: Capabilities) -> float:
        """See `variants.cost_model`: 128 multiply-adds a cycle and unit (Hopper), less what loads take of it."""
        work = config.blocks_m * config.blocks_n
        loads = 2 * config.blocks_m + config.blocks_n
        # where both operands lie along k, one is transposed by copies of single elements
        turned = problem.a_order == "C" and problem.b_order == "F"
        return seconds(
            problem,
            caps,
            tile=(config.tile_m, config.tile_n),
            threads=config.threads,
            registers=config.registers,
            local_memory=config.local_memory(problem),
            rate=128 * work / (work + loads / 8) * (0.9 if turned else 1.0),
            split=config.split_k,
            persistent=config.persistent,
        )

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[DoubleConfig, ...]:
        """The fastest of large tiles, and small ones for few rows and columns."""
        shapes = (
            (2, 4, 4, 4, 16, 6),
            (4, 2, 2, 8, 16, 6),
            (4, 2, 2, 8, 16, 4),
            (2, 2, 2, 8, 16, 4),
            (2, 2, 2, 8, 16, 3),
            (2, 4, 2, 4, 16, 4),
            (2, 2, 2, 4, 16, 4),
            (4, 2, 1, 4, 16, 4),
            (2, 2, 1, 4, 16, 4),
            (4, 2, 1, 2, 16, 4),
        )
        known = (
            DoubleConfig(
                warps_m=wm,
                warps_n=wn,
                blocks_m=bm,
                blocks_n=bn,
                tile_k=k,
                stages=s,
                group=8,
                split_k=split,
                persistent=persistent,
            )
            for wm, wn, bm, bn, k, s in shapes
            for split, persistent in (*((s, 0) for s in SPLITS), (1, 2))
        )
        return tuple(c for c in known if self.is_legal(c, problem, caps))

    def run(self, config: DoubleConfig, product: Product) -> None:
        """One launch; where sums are formed in pieces, its last blocks add them."""
        _launch(config, product, _Blocks())

    def rows_of_blocks(self, config: DoubleConfig, *, least: int) -> int:
        """Rows of a block triangular matrix's blocks: a multiple of all tiles, and at least so many."""
        return math.lcm(config.tile_m, config.tile_n, config.tile_k, least)

    def run_block_triangle(self, config: DoubleConfig, product: Product, *, rows: int, upper: bool) -> None:
        """As `run`, for a b of which blocks of ``rows`` rows below the diagonal's, or above these, are left out.

        rows: see `rows_of_blocks`; b is square, and has a multiple of it.
        """
        _launch(replace(config, split_k=1, persistent=0), product, _Blocks(rows, upper=upper))


@dataclass(frozen=True, slots=True)
class _Blocks:
    """``rows`` of the blocks of a block triangular b, 0 if b is none; and which of them are not zero."""

    rows: int = 0
    upper: bool = False


def _launch(config: DoubleConfig, product: Product, blocks: _Blocks) -> None:
    """Enqueue a product."""
    a, b, c = operand(product.a), operand(product.b), operand(product.c)
    # fragments of the kernel's A are read as they lie where its rows lie across k, those of its B along k
    transposed = a.order == "C" and b.order == "C"
    pieces = pieces_of(config.split_k, config.tile_k, product.a.shape[-1])
    plan = _plan(config, a, b, c, product, transposed)
    if blocks.rows:
        plan = plan._replace(triangle=blocks.rows, triangle_a=transposed, before=blocks.upper)
    tile = (config.tile_m, config.tile_n, config.tile_k)
    last = (vector_type("float64", 2), plan)
    kernel = _kernel(config.threads)
    most = config.persistent * product.c.context.capabilities.compute_units if plan.persistent else None
    multiply(kernel, product, (a, b, c), tile, config.threads, pieces, last, transposed=transposed, most=most)


def _is_persistent(config: DoubleConfig, problem: Problem, caps: Capabilities) -> bool:
    """Whether blocks have several tiles each, of enough steps, whose sums are not split."""
    turned = problem.a_order == problem.b_order == "C"  # then it computes the transpose
    rows, columns = (problem.n, problem.m) if turned else (problem.m, problem.n)
    tiles = -(-rows // config.tile_m) * -(-columns // config.tile_n) * problem.batch
    deep = problem.k >= config.stages * config.tile_k
    return config.split_k == 1 and deep and tiles > config.persistent * max(1, caps.compute_units)


def _plan(config: DoubleConfig, a: Operand, b: Operand, c: Operand, product: Product, transposed: bool) -> DoublePlan:
    """What the compiler shall know of a launch."""
    (m, k), n = product.a.shape[-2:], product.b.shape[-1]
    first, second, rows, columns = (b, a, n, m) if transposed else (a, b, m, n)
    return DoublePlan(
        warps_m=config.warps_m,
        warps_n=config.warps_n,
        blocks_m=config.blocks_m,
        blocks_n=config.blocks_n,
        tile_k=config.tile_k,
        stages=config.stages,
        group=config.group,
        a_along_k=first.order == ("F" if transposed else "C"),
        b_along_k=second.order == ("C" if transposed else "F"),
        transposed=transposed,
        wide_a=first.wide,
        wide_b=second.wide,
        wide_c=c.wide if n % 2 == 0 else 1,
        guard_a=rows < config.tile_m,
        guard_b=columns < config.tile_n,
        tail=k % config.tile_k != 0,
        levels=levels_of(pieces_of(config.split_k, config.tile_k, k)),
        persistent=config.persistent > 0 and k >= config.stages * config.tile_k,
    )


def _kernel(threads: int) -> Dispatcher:
    """The kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    found = _kernels.get(threads)
    if found is None:
        found = _kernels[threads] = jit(multiply_doubles.py_func, block_dim=(threads, 1, 1))
    return found
