"""The bulk variant: float32 without matrix units, tiles by Hopper's bulk copies (see `portagpu.blas.bulk_kernels`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from portagpu.blas.bulk_kernels import TILE_K, BulkPlan, multiply_bulk
from portagpu.blas.dense_operands import operand
from portagpu.blas.problem import Problem
from portagpu.blas.tensor_maps import Box, tensor_maps
from portagpu.blas.variant import Config, Product, Variant, order_of
from portagpu.blas.vectors import vector_type
from portagpu.blas.workspace import workspaces
from portagpu.cuda import jit
from portagpu.device.capabilities import Capabilities
from portagpu.tuning.space import Axis

_ENABLED = False  # whether the model may choose it: on an H100 it reaches 0.8 of the pipelined variant
_SUMS = 2 * 64 * 256  # of a tile: 256 threads have 128 each
_THREADS = 384
_LARGEST = 2**31 - 1
_LEAST_WAVES = 0.95  # of tiles: below, smaller ones serve better
_LEAST_DEPTH = 1024
_BUSY = 0.855  # share of a cycle's multiply-adds; what the machine code allows is 0.94
_FAR = 900.0  # cycles until a block has its first tile, and until its last sums are away
_CACHE_BYTES = 40  # bytes a cycle that a compute unit gets from the device's cache
_kernel = jit(multiply_bulk.py_func, block_dim=(_THREADS, 1, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkConfig(Config):
    """Parameters of the bulk variant: the tile of a block, places of the ring, height of the bands that blocks walk.

    ``shared``: 1 if all blocks share the tiles that are left when every block has had the same number, else 0.
    """

    tile_m: int
    tile_n: int
    stages: int
    group: int
    shared: int

    def local_memory(self, problem: Problem) -> int:
        """Bytes of shared memory: the ring, lines along k on their way into it, barriers."""
        turned = (self.tile_m if problem.a_order == "C" else 0) + (self.tile_n if problem.b_order == "F" else 0)
        return (self.stages * (self.tile_m + self.tile_n) + turned) * TILE_K * 4 + 16 * self.stages + 256


class BulkVariant(Variant):
    """See `portagpu.blas.bulk_kernels`."""

    name = "bulk"
    config_type = BulkConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Aligned float32 in any layout with dense rows or columns, where the instructions exist."""
        plain = problem.dtype == "float32" and not problem.out and not problem.precision
        present = caps.ptx_target[0] == 9 and caps.architecture_ptx
        return bool(
            plain
            and present
            and problem.aligned
            and problem.a_order
            and problem.b_order
            and problem.c_order == "C"
            and max(problem.m, problem.n, problem.k, problem.batch) <= _LARGEST // 2
        )

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Tile, depth of the ring, bands, whether the last tiles are shared."""
        return (
            Axis("tile_m", (128, 256)),
            Axis("tile_n", (128, 256)),
            Axis("stages", (2, 3, 4)),
            Axis("group", (4, 8, 16)),
            Axis("shared", (0, 1)),
        )

    def is_legal(self, config: BulkConfig, problem: Problem, caps: Capabilities) -> bool:
        """Eight warps' tiles, and shared memory."""
        return (
            config.tile_m * config.tile_n == _SUMS
            and config.stages >= 2
            and config.local_memory(problem) <= caps.local_memory_static
            and _steps(problem.k) * caps.compute_units < _LARGEST
            and _tiles(config, problem.m, problem.n) * problem.batch < _LARGEST
        )

    def predict(self, config: BulkConfig, problem: Problem, caps: Capabilities) -> float:
        """128 multiply-adds a cycle and unit less what loads take, in waves of tiles or, shared, without these."""
        units = max(1, caps.compute_units)
        waves = _tiles(config, problem.m, problem.n) * problem.batch / units
        steps = _steps(problem.k)
        step = max(_SUMS * TILE_K / (128 * _BUSY), (config.tile_m + config.tile_n) * TILE_K * 4 / _CACHE_BYTES)
        step *= 1.0 + 0.1 / config.stages
        cycles = 3 * _FAR + math.ceil(waves) * (steps * step + _FAR)
        if config.shared:  # parts of sums are written and read
            cycles = 3 * _FAR + waves * steps * step + math.ceil(waves) * _FAR + 12000
        clock = max(1, caps.clock_mhz) * 1e6
        return max(cycles / clock, problem.nbytes / (units * 22e9)) + 4e-6

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[BulkConfig, ...]:
        """For products that fill the device with tiles of 128 x 256, or nearly: others are left to smaller tiles."""
        known = (
            BulkConfig(tile_m=m, tile_n=n, stages=s, group=8 if m == 128 else 4, shared=shared)
            for m, n in ((128, 256), (256, 128))
            for s in (4, 3)
            for shared in (0, 1)
        )
        return tuple(c for c in known if _ENABLED and self.is_legal(c, problem, caps) and _fills(c, problem, caps))

    def run(self, config: BulkConfig, product: Product) -> None:
        """One launch of a block for each compute unit."""
        a, b, result = product.a, product.b, operand(product.c)
        (m, k), n, batch = a.shape[-2:], b.shape[-1], product.batch
        plan = BulkPlan(
            tile_m=config.tile_m,
            tile_n=config.tile_n,
            stages=config.stages,
            group=config.group,
            a_along_k=order_of(a) == "C",
            b_along_k=order_of(b) == "F",
        )
        maps = tensor_maps.of(
            product.stream,
            Box(a, (config.tile_m, TILE_K), False) if plan.a_along_k else Box(a, (TILE_K, config.tile_m), True, 0),
            Box(b, (config.tile_n, TILE_K), True) if plan.b_along_k else Box(b, (TILE_K, config.tile_n), False, 0),
        )
        blocks = product.c.context.capabilities.compute_units
        tiles, steps = _tiles(config, m, n) * batch, _steps(k)
        share = share_out(tiles, steps, blocks) if config.shared else Share(tiles, 0, 0)
        is_shared = share.whole < tiles
        parts = workspaces.of(product.stream, "parts", (2 * blocks * _SUMS if is_shared else 1,), np.dtype(np.float32))
        arrived = workspaces.zeros(product.stream, "arrived", blocks)
        grid = blocks if is_shared else min(blocks, tiles)
        _kernel[grid, _THREADS, product.stream](
            *(maps, result.memory, parts, arrived, np.int32(m), np.int32(n), np.int32(k)),
            *(np.int32(x.ndim == 3 and x.strides[0] != 0) for x in (a, b)),
            *(*result.distances, np.int32(share.whole), np.int32(share.least), np.int32(share.more)),
            *(np.float32(product.alpha.real), np.float32(product.beta.real), vector_type("float32", 4), plan),
        )


@dataclass(frozen=True, slots=True)
class Share:
    """The first ``whole`` tiles are computed by one block each; of the others' steps each block gets ``least``, the
    first ``more`` blocks one step more."""

    whole: int
    least: int
    more: int


def share_out(tiles: int, steps: int, blocks: int) -> Share:
    """Share tiles of so many steps: what is left when every block has had the same number of whole ones."""
    left = tiles % blocks
    return Share(tiles - left, *divmod(left * steps, blocks))


def _fills(config: BulkConfig, problem: Problem, caps: Capabilities) -> bool:
    """Whether a product is one that the model may choose the variant for: large, and deep, both operands in C order."""
    plain = problem.a_order == problem.b_order == "C"
    tiles = _tiles(config, problem.m, problem.n) * problem.batch
    return plain and problem.k >= _LEAST_DEPTH and tiles >= _LEAST_WAVES * caps.compute_units


def _steps(k: int) -> int:
    return -(-k // TILE_K)


def _tiles(config: BulkConfig, m: int, n: int) -> int:
    return -(-m // config.tile_m) * -(-n // config.tile_n)
