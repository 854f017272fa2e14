"""The warp-group variant: Hopper's matrix units and bulk copies (see `portagpu.blas.warpgroup_kernels`)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu.blas.problem import Problem
from portagpu.blas.rows import swapped
from portagpu.blas.tensor_maps import Box, TensorMaps
from portagpu.blas.transpose_kernels import swapped_order
from portagpu.blas.variant import Config, Product, Variant, order_of
from portagpu.blas.warpgroup_kernels import multiply_warpgroups
from portagpu.blas.workspace import workspaces
from portagpu.cuda import jit
from portagpu.cuda.dispatcher import Dispatcher
from portagpu.device.capabilities import Capabilities
from portagpu.runtime.array import DeviceNDArray
from portagpu.tuning.space import Axis

_LINE = 128  # bytes of a row of a tile in shared memory, and of a strip of C
_STRIP_ROWS = 64
_RATE = 2048  # multiply-adds of 16 bits a cycle and compute unit
_LARGEST = 2**31 - 1
_LEAST = 8  # elements along each axis: below, a tile is nearly empty
_PARTS = 2**26  # elements
_FEW = 32  # rows or columns with which tiles are nearly empty, and loads too few under way for all of the bandwidth
_maps = TensorMaps()


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpgroupConfig(Config):
    """Parameters of the warp-group variant.

    ``consumers`` warp groups share a ``tile_m`` x ``tile_n`` tile of C; ``stages`` tiles of A and B are on their way;
    tiles are walked in bands of ``group`` rows; ``splits`` blocks share the sum of each tile.
    """

    tile_m: int
    tile_n: int
    stages: int
    consumers: int
    group: int
    splits: int

    @property
    def threads(self) -> int:
        """Threads of a block: the producer's warp group and the consumers'."""
        return 128 * (self.consumers + 1)

    @property
    def local_memory(self) -> int:
        """Bytes of shared memory: the ring of tiles, two strips of C for each consumer, and barriers."""
        ring = self.stages * (self.tile_m + self.tile_n) * _LINE
        return ring + self.consumers * 2 * _STRIP_ROWS * _LINE + 16 * self.stages + 128


@dataclass(frozen=True, slots=True)
class Kind:
    """How operands of a dtype are multiplied: the matrix unit's name, the type that is copied, and that of sums."""

    name: str
    element: np.dtype[Any]
    sums: type[Any]
    transposes: bool  # the matrix units take either axis contiguous


KINDS = {
    ("float16", ""): Kind("float16", np.dtype(np.uint16), np.float32, True),
    ("bfloat16", ""): Kind("bfloat16", np.dtype(np.uint16), np.float32, True),
    ("float32", "tf32"): Kind("tfloat32", np.dtype(np.float32), np.float32, False),
    ("int8", ""): Kind("int8", np.dtype(np.int8), np.int32, False),
    ("uint8", ""): Kind("uint8", np.dtype(np.uint8), np.int32, False),
}
_NOTHING = np.int32(0)  # in place of an array that is not needed
_OUTPUTS = {
    "float16": ("float16", "float32"),
    "bfloat16": ("bfloat16", "float32"),
    "float32": ("float32",),
    "int8": ("int32",),
    "uint8": ("int32",),
}


class WarpgroupVariant(Variant):
    """See `portagpu.blas.warpgroup_kernels`."""

    name = "warpgroup"
    config_type = WarpgroupConfig
    precisions = ("", "tf32")

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Aligned operands of 8 and 16 bits, and TF32, where the instructions exist."""
        kind = KINDS.get((problem.dtype, problem.precision))
        if kind is None or caps.ptx_target[0] != 9 or not caps.architecture_ptx or not problem.aligned:
            return False
        return (
            bool(problem.a_order and problem.b_order)
            and min(problem.m, problem.n, problem.k) >= _LEAST
            and problem.c_order == "C"
            and problem.out_dtype in _OUTPUTS[problem.dtype]
            and max(problem.m, problem.n, problem.k, problem.batch) <= _LARGEST
        )

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Tile, depth of the ring, consumers, bands, and splits of the sum."""
        return (
            Axis("tile_m", (64, 128, 192, 256)),
            Axis("tile_n", (32, 64, 96, 128, 160, 192, 256)),
            Axis("stages", (2, 3, 4, 5, 6, 7, 8)),
            Axis("consumers", (1, 2, 3)),
            Axis("group", (1, 2, 4, 8, 16, 32)),
            Axis("splits", (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)),
        )

    def is_legal(self, config: WarpgroupConfig, problem: Problem, caps: Capabilities) -> bool:
        """Whole fragments, registers for the sums, shared memory, and something to do for each split."""
        rows = config.tile_m // config.consumers
        strip = _LINE // problem.out_itemsize
        registers = rows // 64 * config.tile_n // 2
        depth = _LINE // problem.itemsize
        spans = not KINDS[problem.dtype, problem.precision].transposes or config.tile_n % 64 == 0
        return (
            config.tile_m % (64 * config.consumers) == 0
            and config.tile_n % strip == 0
            and (spans or problem.b_order == "F")
            and registers <= (128 if config.consumers == 3 else 192)
            and registers * config.consumers >= 32
            and config.local_memory <= caps.local_memory_static
            and (config.splits == 1 or config.splits * depth <= problem.k)
            and (config.splits == 1 or self._parts(config, problem) <= _PARTS)
        )

    def predict(self, config: WarpgroupConfig, problem: Problem, caps: Capabilities) -> float:
        """The most of what matrix units, shared memory and memory need, in waves of tiles, and what starts cost."""
        units = max(1, caps.compute_units)
        tiles = math.ceil(problem.m / config.tile_m) * math.ceil(problem.n / config.tile_n)
        parts = tiles * problem.batch * config.splits
        waves = math.ceil(parts / units)
        depth = _LINE // problem.itemsize
        steps = math.ceil(math.ceil(problem.k / depth) / config.splits)
        # multiply-adds of one step against what the matrix units read from shared memory for it, 128 bytes a cycle
        math_cycles = config.tile_m * config.tile_n * depth / (_RATE * 2 / problem.itemsize)
        reads = (config.tile_m + config.tile_m // 64 * config.tile_n) * _LINE / 128
        loads = (config.tile_m + config.tile_n) * _LINE / 48  # bytes a cycle that the second-level cache gives a unit
        hidden = min(1.0, config.stages / 3)
        cycles = waves * (steps * max(math_cycles, reads, loads) / hidden + 2500)
        clock = max(1, caps.clock_mhz) * 1e6 * 0.85
        memory = problem.nbytes / (units * (22e9 if min(problem.m, problem.n) > _FEW else 15e9))
        again = 0.0
        if config.splits > 1:  # the last block of a tile reads all parts
            again = 3e-6 + self._parts(config, problem) * 4 / (units * 15e9)
            again += config.splits * config.tile_m * config.tile_n * 4 / 64 / clock
        return max(cycles / clock, memory) + again + 4e-6 + self._turning(problem, units)

    def _turning(self, problem: Problem, units: int) -> float:
        """Seconds of the copies that bring operands into the only order that the matrix units take."""
        if KINDS[problem.dtype, problem.precision].transposes:
            return 0.0
        sizes = (problem.a_order == "F", problem.m), (problem.b_order == "C", problem.n)
        moved = sum(2 * extent * problem.k * problem.batch * problem.itemsize for turned, extent in sizes if turned)
        return moved / (units * 15e9) + (5e-6 if moved else 0.0)

    def _parts(self, config: WarpgroupConfig, problem: Problem) -> int:
        """Elements of the sums of all parts."""
        tiles = math.ceil(problem.m / config.tile_m) * math.ceil(problem.n / config.tile_n)
        return tiles * problem.batch * config.splits * config.tile_m * config.tile_n

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[WarpgroupConfig, ...]:
        """The largest tile whose sums fit the registers, then smaller ones with their sums split."""
        shapes = (
            (128, 256, 4, 2),
            (256, 128, 4, 2),
            (128, 128, 6, 2),
            (192, 128, 4, 3),
            (128, 192, 4, 2),
            (128, 64, 6, 2),
            (64, 256, 4, 1),
            (64, 128, 7, 1),
            (64, 64, 8, 1),
        )
        configs = (
            WarpgroupConfig(tile_m=m, tile_n=n, stages=s, consumers=c, group=8 if m > 128 else 16, splits=k)
            for m, n, s, c in shapes
            for k in (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128)
        )
        return tuple(c for c in configs if self.is_legal(c, problem, caps))

    def run(self, config: WarpgroupConfig, product: Product) -> None:
        """One launch, and with a split sum a second one that adds the parts."""
        kind = KINDS[product.a.dtype.name, product.precision]
        a, b = product.a, product.b
        if not kind.transposes:
            a = a if order_of(a) == "C" else swapped(swapped_order(swapped(a), "a", product.stream))
            b = b if order_of(b) == "F" else swapped_order(b, "b", product.stream)
        launch_warpgroups(config, product, Operands(a, b, a.shape[-1]), kind)


@dataclass(frozen=True, slots=True)
class Operands:
    """What is multiplied in place of a product's a and b: perhaps pieces of them, ``depth`` of each."""

    a: DeviceNDArray
    b: DeviceNDArray
    depth: int
    row_exponents: Any = _NOTHING
    column_exponents: Any = _NOTHING
    pieces: tuple[tuple[int, int], ...] = ((0, 0),)
    promote: int = 0


def launch_warpgroups(config: WarpgroupConfig, product: Product, operands: Operands, kind: Kind) -> None:
    """Enqueue a product of operands, scaled as the product says, to its c."""
    a, b, c, stream = operands.a, operands.b, product.c, product.stream
    m, n, batch = c.shape[-2], c.shape[-1], product.batch
    if kind.transposes:
        a_transposed, b_transposed = order_of(a) == "F", order_of(b) == "F"
    else:  # of a single row or column, both would do
        a_transposed, b_transposed = False, True
    depth = _LINE // a.itemsize
    split = config.splits > 1
    columns = _LINE // c.itemsize
    scaled = product.alpha != 1 or product.beta != 0
    tiles = -(-m // config.tile_m) * -(-n // config.tile_n) * batch
    parts: Any = _NOTHING
    arrived: Any = _NOTHING
    if split:
        size = tiles * config.splits * config.tile_m * config.tile_n
        parts = workspaces.of(stream, "parts", (size,), np.dtype(kind.sums))
        arrived = workspaces.zeros(stream, "arrived", tiles)
    maps = _maps.of(
        stream,
        Box(a, (depth, _LINE // a.itemsize) if a_transposed else (config.tile_m, depth), a_transposed),
        Box(b, (config.tile_n, depth) if b_transposed else (depth, _LINE // b.itemsize), b_transposed),
        Box(c, (_STRIP_ROWS, columns), False),
    )
    grid = min(tiles * config.splits, c.context.capabilities.compute_units)
    number = kind.sums
    _kernel(config.threads)[grid, config.threads, stream](
        maps,
        c,
        parts,
        arrived,
        np.int32(batch),
        np.int32(m),
        np.int32(n),
        np.int32(operands.depth),
        np.int32(a.ndim == 3 and a.strides[0] != 0),
        np.int32(b.ndim == 3 and b.strides[0] != 0),
        number(product.alpha if scaled else 1),
        number(product.beta if scaled else 0),
        kind.name,
        kind.element,
        kind.sums,
        config.tile_m,
        config.tile_n,
        config.stages,
        config.consumers,
        config.group,
        config.splits,
        a_transposed,
        b_transposed,
        columns,
        c.dtype.name == "bfloat16",
        scaled,
        operands.row_exponents,
        operands.column_exponents,
        operands.row_exponents is not _NOTHING,
        len(operands.pieces),
        _packed(i for i, _ in operands.pieces),
        _packed(j for _, j in operands.pieces),
        operands.promote,
    )


def _packed(numbers: Iterable[int]) -> int:
    """Small numbers, four bits each, the first in the lowest ones."""
    return sum(number << 4 * i for i, number in enumerate(numbers))


@lru_cache(maxsize=4)
def _kernel(threads: int) -> Dispatcher:
    """The kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    return jit(multiply_warpgroups.py_func, block_dim=(threads, 1, 1))
