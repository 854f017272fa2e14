"""The tiles variant: products with a vector on GPUs, a block for each tile of the matrix (`tile_kernels`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from portagpu.blas.gemm.core.accumulation import number_type
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.level2.products.call import ProductCall, add_parts
from portagpu.blas.level2.products.form import Extents, Given, ProductProblem, Sheet, Sums
from portagpu.blas.level2.products.tile_kernels import Tile, add_tiles
from portagpu.blas.tunables.variant import Config, Variant, clock_mhz
from portagpu.device.capabilities import Capabilities
from portagpu.tuning.tunables.space import Axis

_VECTOR_BYTES = 16  # the widest load of today's GPUs
_BYTES_A_CYCLE = 14.0  # that a compute unit gets from memory
_THREADS = 1024  # of a compute unit, with which it gets that
_TILE_CYCLES = 600.0  # for the sums of a tile's threads, while others read
_LAUNCH_SECONDS = 8e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class TileConfig(Config):
    """Parameters of the tiles variant: threads along lines and across, a thread's lines, its vectors of each."""

    threads_x: int
    threads_y: int
    lines: int
    vectors: int


class TileVariant(Variant[ProductProblem, ProductCall]):
    """See `portagpu.blas.level2.products.tile_kernels`."""

    name = "tiles"
    config_type = TileConfig

    def supports(self, problem: ProductProblem, caps: Capabilities) -> bool:
        """Where shared memory is on the chip."""
        return caps.local_memory_dedicated

    def axes(self, problem: ProductProblem, caps: Capabilities) -> tuple[Axis, ...]:
        """Threads, lines and vectors."""
        return (
            Axis("threads_x", (16, 32, 64)),
            Axis("threads_y", (4, 8, 16)),
            Axis("lines", (4, 8, 16)),
            Axis("vectors", (1, 2, 4)),
        )

    def is_legal(self, config: TileConfig, problem: ProductProblem, caps: Capabilities) -> bool:
        """Threads and their sums fit."""
        threads = config.threads_x * config.threads_y
        numbers = max(
            config.lines * config.threads_y * problem.parts * (config.threads_x + 1),
            config.threads_y * config.vectors * config.threads_x * _lanes(problem.itemsize),
        )
        registers = 2 * config.vectors * problem.parts * _VECTOR_BYTES // 4
        return (
            threads <= caps.max_work_group_size
            and threads <= caps.max_work_item_sizes[0]
            and numbers * problem.itemsize <= caps.local_memory_static
            and registers <= 64
        )

    def predict(self, config: TileConfig, problem: ProductProblem, caps: Capabilities) -> float:
        """Bytes over bandwidth, in whole turns of all compute units, and the sums of tiles."""
        units, cycle = max(1, caps.compute_units), clock_mhz(caps) * 1e6
        height = config.lines * config.threads_y
        width = config.vectors * config.threads_x * _lanes(problem.itemsize)
        columns = problem.columns * problem.parts
        tiles = math.ceil(problem.lines / height) * math.ceil(columns / width)
        if problem.shape != "full":
            tiles = math.ceil(tiles / 2 + max(problem.lines / height, columns / width) / 2)
        beside = max(1, _THREADS // (config.threads_x * config.threads_y))
        turns = math.ceil(tiles / (units * beside))
        read = height * width * problem.itemsize * beside / _BYTES_A_CYCLE
        parts = tiles * (height + width) * problem.parts * problem.itemsize / (units * _BYTES_A_CYCLE)
        return (turns * (read + _TILE_CYCLES) + 2 * parts) / cycle + _LAUNCH_SECONDS

    def shortlist(self, problem: ProductProblem, caps: Capabilities) -> tuple[TileConfig, ...]:
        """Blocks of 256 and 128 threads."""
        found = (
            TileConfig(threads_x=32, threads_y=y, lines=lines, vectors=vectors)
            for y in (8, 4)
            for lines in (8, 4, 16)
            for vectors in (2, 1)
        )
        legal = tuple(config for config in found if self.is_legal(config, problem, caps))
        return legal or tuple(c for c in self.candidates(problem, caps) if isinstance(c, TileConfig))

    def run(self, config: TileConfig, call: ProductCall) -> None:
        """One launch, and one that makes y of the sums."""
        item = call.memory.itemsize
        vector = vector_type(call.memory.dtype.name, _lanes(item))
        aligned = (
            call.growth == 0 and call.memory.offset % _VECTOR_BYTES == 0 and call.pitch * item % _VECTOR_BYTES == 0
        )
        tile = Tile(
            threads_x=config.threads_x,
            threads_y=config.threads_y,
            lines=config.lines,
            vectors=config.vectors,
            vector=vector,
            number=number_type(vector),
            aligned=aligned,
        )
        height = config.lines * config.threads_y
        width = config.vectors * config.threads_x * vector.lanes
        blocks = -(-call.lines // height) * -(-call.columns // width)
        threads = config.threads_x * config.threads_y

        def launch(m: Sheet, x: Given, sums: Sums, extents: Extents) -> None:
            add_tiles[blocks, threads, call.stream](m, x, sums, extents, call.form, tile)

        add_parts(call, (height, width), launch)


def _lanes(itemsize: int) -> int:
    return _VECTOR_BYTES // itemsize
