"""Launches of the tile kernel: of single products and batches, and of grouped ones."""

from __future__ import annotations

from functools import cache

import numpy as np

from portagpu.blas.gemm.core.accumulation import conversion, number_type
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.kernel_arguments import SUM, Epilogue, Extents, Factors, Split
from portagpu.blas.gemm.core.operands import Operand, index_type, matrix_of, operand
from portagpu.blas.gemm.core.vector_types import name_of
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.kernels.launch import split_of, subgroup_of
from portagpu.blas.gemm.kernels.part_sums import add_parts
from portagpu.blas.gemm.variants.tile.config import TileConfig
from portagpu.blas.gemm.variants.tile.kernels import TilePlan, multiply_tiles
from portagpu.cuda import jit
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.arrays.array import DeviceNDArray


def tile_lanes(itemsize: int) -> int:
    """Lanes of a 16-byte vector of sums, the widest that GPUs load at once."""
    return 16 // itemsize


def launch_tiles(config: TileConfig, product: Product, offsets: DeviceNDArray | None) -> None:
    """Enqueue a product; with ``offsets``, a grouped one: a (rows, k), b (groups, k, n), c (rows, n)."""
    a, b, c = operand(product.a), operand(product.b), operand(product.c)
    m, n, k = product.c.shape[-2], product.c.shape[-1], product.a.shape[-1]
    grouped = offsets is not None
    batch = product.b.shape[0] if grouped else product.batch
    found = conversion(name_of(product.a.dtype), name_of(product.c.dtype), tile_lanes(_sum_bytes(product)))
    lanes = found.vector.lanes
    split, chunk = (1, k) if grouped else split_of(config.split_k, config.tile_k, k)
    target, epilogue = c, found.epilogue(product.alpha, product.beta)
    if split > 1:
        parts = workspaces.of(product.stream, "parts", (batch, split, m, n), np.dtype(number_type(found.vector)))
        target, epilogue = Operand(parts, n, m * n, False), Epilogue(SUM, found.vector, found.vector)
    aligned = a.is_aligned(lanes) and b.is_aligned(lanes) and target.is_aligned(lanes)
    if grouped:
        aligned = aligned and not a.transposed  # groups begin anywhere
    exact = aligned and not grouped and m % config.tile_m == n % config.tile_n == k % config.tile_k == 0
    tiles = -(-n // config.tile_n) * (-(-m // config.tile_m) + (batch if grouped else 0))
    if not grouped:
        tiles *= -(-batch // config.problems) * split
    number = index_type(a.array, b.array, target.array)
    threads = config.threads * config.problems
    kind = number_type(epilogue.scaled)
    factors = Factors(kind(1), kind(0)) if split > 1 else product.factors(kind)
    caps = product.c.context.capabilities
    plan = TilePlan(
        tile_m=config.tile_m,
        tile_n=config.tile_n,
        tile_k=config.tile_k,
        thread_m=config.thread_m,
        thread_n=config.thread_n,
        problems=config.problems,
        group=config.group,
        vector=found.vector,
        whole=found.whole,
        a_transposed=a.transposed,
        b_transposed=b.transposed,
        aligned=aligned,
        exact=exact,
        grouped=grouped,
        unroll=unroll_of(config, caps),
    )
    tile_kernel(threads, subgroup_of(caps))[tiles, threads, product.stream](
        matrix_of(a, number),
        matrix_of(b, number),
        matrix_of(target, number),
        offsets,
        Extents(number(m), number(n), number(k)),
        number(batch * (1 if grouped else split)),
        Split(number(split), number(chunk)),
        factors,
        plan,
        epilogue,
    )
    if split > 1:
        add_parts(target.array, c, (batch, m, n), found, product)


def _sum_bytes(product: Product) -> int:
    return 8 if name_of(product.a.dtype) in ("float64", "uint64") else 4


def unroll_of(config: TileConfig, caps: Capabilities) -> int:
    """Steps along k that are unrolled: all for a compiler that keeps registers in mind when it moves loads."""
    return config.tile_k if caps.register_aware_scheduling else min(config.tile_k, 4)


@cache
def tile_kernel(threads: int, subgroup: int | None) -> Dispatcher:
    """The tile kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    return jit(multiply_tiles.py_func, block_dim=(threads, 1, 1), subgroup_size=subgroup)
