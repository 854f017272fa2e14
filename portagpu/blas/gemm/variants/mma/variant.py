"""The fragment variant: 16-bit floats, 8-bit integers and TF32 by the matrix units of CUDA GPUs since Ampere."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from portagpu.blas.gemm.core.flat_operands import Operand, flat, operand
from portagpu.blas.gemm.core.interface import Config, Product, Variant
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.vector_types import name_of, vector_type
from portagpu.blas.gemm.kernels.launch import SPLITS, is_modest, multiply, pieces_of
from portagpu.blas.gemm.kernels.split_k import LATEST_BYTES, levels_of
from portagpu.blas.gemm.variants.cost_model import PIPELINES, REGISTER_FILE, seconds
from portagpu.blas.gemm.variants.mma.kernels import FragmentPlan, multiply_fragments
from portagpu.cuda import jit
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.tuning.tunables.space import Axis

_kernels: dict[int, Dispatcher] = {}

# by dtype: the instruction's kind and shape, the type of its operands as bits, and that of sums
_UNITS = {
    "float16": ("float16", "m16n8k16", "uint16", "float32"),
    "bfloat16": ("bfloat16", "m16n8k16", "uint16", "float32"),
    "int8": ("int8", "m16n8k32", "uint8", "int32"),
    "uint8": ("uint8", "m16n8k32", "uint8", "int32"),
    "float32": ("tfloat32", "m16n8k8", "uint32", "float32"),
}
_OUTPUTS = {
    "float16": ("float16", "float32"),
    "bfloat16": ("bfloat16", "float32"),
    "int8": ("int32",),
    "uint8": ("int32",),
    "float32": ("float32",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentConfig(Config):
    """Parameters of the fragment variant: warps of a block, fragments of a warp (16 x 8 elements), and the pipeline.

    ``bytes_k``: bytes of a row of a tile along k; ``stages``: places of the ring in shared memory.
    """

    warps_m: int
    warps_n: int
    blocks_m: int
    blocks_n: int
    bytes_k: int
    stages: int
    group: int
    split_k: int

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

    @property
    def local_memory(self) -> int:
        """Bytes of shared memory, at most: rows across k end in eight elements of padding."""
        rings = self.stages * self.bytes_k * (self.tile_m + self.tile_n + 16)
        return rings + (LATEST_BYTES if self.split_k > 1 else 0)

    @property
    def registers(self) -> int:
        """32-bit registers of a thread: sums, two sets of fragments, addresses."""
        return 4 * self.blocks_m * self.blocks_n + 8 * self.blocks_m + 4 * self.blocks_n + 40


class FragmentVariant(Variant):
    """See `portagpu.blas.gemm.variants.mma.kernels`."""

    name = "fragments"
    config_type = FragmentConfig
    precisions = ("", "tf32")

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Operands whose rows (columns) are multiples of 4 bytes, the least that copies move; integers along k only."""
        if problem.dtype not in _UNITS or caps.ptx_target < (8, 0) or problem.out_dtype not in _OUTPUTS[problem.dtype]:
            return False
        if problem.precision != ("tf32" if problem.dtype == "float32" else ""):
            return False
        if not (problem.aligned and problem.a_order and problem.b_order and problem.c_order == "C"):
            return False
        integers = problem.dtype in ("int8", "uint8")
        if integers and (problem.a_order != "C" or problem.b_order != "F"):
            return False
        return min(_copied_bytes(problem)) >= 4

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Warps of a block, fragments of a warp, the pipeline, height of the bands of blocks, pieces of a sum."""
        return (
            Axis("warps_m", (1, 2, 4)),
            Axis("warps_n", (1, 2, 4)),
            Axis("blocks_m", (1, 2, 4)),
            Axis("blocks_n", (2, 4, 8)),
            Axis("bytes_k", (64, 128)),
            Axis("stages", (3, 4, 5)),
            Axis("group", (8, 16)),
            Axis("split_k", SPLITS),
        )

    def is_legal(self, config: FragmentConfig, problem: Problem, caps: Capabilities) -> bool:
        """Copies divide evenly among the threads, and registers and shared memory suffice."""
        threads = config.threads
        tile_k = config.bytes_k // problem.itemsize
        copied = all(x * config.bytes_k % (16 * threads) == 0 for x in (config.tile_m, config.tile_n))
        # the rows that all threads copy at once must be a multiple of 8, after which parts are permuted alike again
        narrow = min(_copied_bytes(problem))
        return (
            64 <= threads <= min(caps.max_work_group_size, 512)
            and copied
            and config.blocks_n % 2 == 0
            and config.bytes_k in (64, 128)
            and threads * narrow % (8 * config.bytes_k) == 0
            and config.stages >= 3
            and config.split_k <= max(1, problem.k // (2 * tile_k))
            and is_modest((config.tile_m, config.tile_n), (problem.m, problem.n), problem.batch, config.split_k)
            and config.local_memory <= caps.local_memory_static
            and config.registers * threads <= REGISTER_FILE
        )

    def predict(self, config: FragmentConfig, problem: Problem, caps: Capabilities) -> float:
        """See `variants.cost_model`: 1024 multiply-adds of 16 bits a cycle and unit, less what loads take of it."""
        groups = config.bytes_k // 32
        work = config.blocks_m * config.blocks_n * groups
        loads = (config.blocks_m + config.blocks_n / 2) * groups
        extents = zip((config.tile_m, config.tile_n), _copied_bytes(problem), strict=True)
        copies = sum(extent * config.bytes_k / wide for extent, wide in extents) / config.threads
        # where warp groups have units of their own, those of single warps were slower than all measured with them
        alone = PIPELINES.beside_warp_groups if caps.ptx_target[0] == 9 and caps.architecture_ptx else 1.0
        return alone * seconds(
            problem,
            caps,
            tile=(config.tile_m, config.tile_n),
            threads=config.threads,
            registers=config.registers,
            local_memory=config.local_memory,
            rate=2048 / problem.itemsize * work / (work + loads + copies / 2),
            split=config.split_k,
        )

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[FragmentConfig, ...]:
        """Large tiles, and small ones for few rows and columns."""
        shapes = (
            (2, 4, 4, 8, 128, 3),
            (4, 2, 4, 8, 128, 3),
            (2, 4, 4, 8, 64, 4),
            (2, 2, 4, 4, 64, 4),
            (2, 2, 2, 4, 64, 4),
            (1, 2, 2, 4, 64, 4),
        )
        known = (
            FragmentConfig(warps_m=wm, warps_n=wn, blocks_m=bm, blocks_n=bn, bytes_k=k, stages=s, group=8, split_k=x)
            for wm, wn, bm, bn, k, s in shapes
            for x in SPLITS
        )
        return tuple(c for c in known if self.is_legal(c, problem, caps))

    def run(self, config: FragmentConfig, product: Product) -> None:
        """One launch; where sums are formed in pieces, its last blocks add them."""
        a, b, c = operand(product.a), operand(product.b), operand(product.c)
        dtype = name_of(product.a.dtype)
        tile = (config.tile_m, config.tile_n, config.bytes_k // product.a.itemsize)
        pieces = pieces_of(config.split_k, tile[2], product.a.shape[-1])
        plan = _plan(config, a, b, c, product, tile)
        bits = np.dtype(_UNITS[dtype][2])
        operands = (a.viewed(bits), b.viewed(bits), c)
        pairs = flat(c.memory, c.memory.size // 2, np.dtype(np.uint32)) if plan.packed else c.memory
        kernel = _kernel(config.threads)
        sums = _UNITS[dtype][3]
        multiply(kernel, product, operands, tile, config.threads, pieces, (pairs, plan), sums=sums)


def _copied_bytes(problem: Problem) -> tuple[int, int]:
    """Bytes of the widest copies that never cross the end of a row (column) of a and b."""
    dense_a = problem.k if problem.a_order == "C" else problem.m
    dense_b = problem.n if problem.b_order == "C" else problem.k
    return math.gcd(dense_a * problem.itemsize, 16), math.gcd(dense_b * problem.itemsize, 16)


def _plan(
    config: FragmentConfig,
    a: Operand,
    b: Operand,
    c: Operand,
    product: Product,
    tile: tuple[int, int, int],
) -> FragmentPlan:
    """What the compiler shall know of a launch."""
    (m, k), n = product.a.shape[-2:], product.b.shape[-1]
    kind, shape, bits, sums = _UNITS[name_of(product.a.dtype)]
    stored = name_of(product.c.dtype)
    pairs = stored if stored in ("float16", "bfloat16") else ""
    return FragmentPlan(
        kind=kind,
        shape=shape,
        bits=np.dtype(bits),
        sums=vector_type(sums, 4),
        packed=pairs if c.wide > 1 else "",
        warps_m=config.warps_m,
        warps_n=config.warps_n,
        blocks_m=config.blocks_m,
        blocks_n=config.blocks_n,
        tile_k=tile[2],
        stages=config.stages,
        group=config.group,
        a_along_k=a.order == "C",
        b_along_k=b.order == "F",
        wide_a=a.wide,
        wide_b=b.wide,
        guard_a=m < tile[0],
        guard_b=n < tile[1],
        tail=k % tile[2] != 0,
        levels=levels_of(pieces_of(config.split_k, tile[2], k)),
    )


def _kernel(threads: int) -> Dispatcher:
    """The kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    found = _kernels.get(threads)
    if found is None:
        found = _kernels[threads] = jit(multiply_fragments.py_func, block_dim=(threads, 1, 1))
    return found
