"""The warp-group variant: Hopper's matrix units and bulk copies (see `portagpu.blas.gemm.variants.wgmma.kernels`)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.interface import Product, Variant, order_of
from portagpu.blas.gemm.core.kernel_arguments import Extents, Parts
from portagpu.blas.gemm.core.operands import flat, placed_operand
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.kernels.split_k import counters_of, fan_of, levels_of
from portagpu.blas.gemm.kernels.transpose import swapped_order
from portagpu.blas.gemm.variants.cost_model import adding_cycles
from portagpu.blas.gemm.variants.wgmma.fused_kernels import Result
from portagpu.blas.gemm.variants.wgmma.kernels import Exponents, WarpgroupPlan, multiply_warpgroups
from portagpu.blas.gemm.variants.wgmma.register_variant import LINE, STRIP_ROWS, WarpgroupConfig, launch_across, mapped
from portagpu.blas.gemm.variants.wgmma.tensor_maps import Box, tensor_maps
from portagpu.cuda import jit
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.tuning.tunables.space import Axis

_RATE = 2048  # multiply-adds of 16 bits a cycle and compute unit
_LARGEST = 2**30  # rows and columns
_UNIT_BYTES = 64  # bytes a cycle that the second-level cache gives one compute unit
_DEVICE_BYTES = 42  # the same where all units read
_UNEVEN = 1.3  # times the bytes of lines that lie across two of the cache's
_LEAST = 8  # elements along each axis: below, a tile is nearly empty
_PARTS = 2**26  # elements
_TOGETHER = 5000  # cycles until blocks of clusters run, and for their last barrier
_FEW = 32  # rows or columns with which tiles are nearly empty, and loads too few under way for all of the bandwidth
# tiles of rows and columns, stages and consumers
_SHAPES = (
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
_MIRRORED = tuple(
    (n, m, stages, consumers) for m, n, stages, consumers in _SHAPES if (n, m, stages, consumers) not in _SHAPES
)
# How operands across k of 32 bits are read: through registers, or from transposed copies. With (False,) no default uses
# registers.
_WAYS = (True, False)
_CLUSTERS = (1, 2)  # blocks that share tiles


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
    """See `portagpu.blas.gemm.variants.wgmma.kernels`."""

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
        """Tile, depth of the ring, consumers, bands, splits of the sum, and how an operand across k is read."""
        return (
            Axis("tile_m", (64, 128, 192, 256)),
            Axis("tile_n", (32, 64, 96, 128, 160, 192, 256)),
            Axis("stages", (2, 3, 4, 5, 6, 7, 8)),
            Axis("consumers", (1, 2, 3)),
            Axis("group", (1, 2, 4, 8, 16, 32)),
            Axis("splits", (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)),
            Axis("registers", (False, True) if _lies_across(problem) else (False,)),
            Axis("cluster", _CLUSTERS[: caps.cluster_size]),
        )

    def is_legal(self, config: WarpgroupConfig, problem: Problem, caps: Capabilities) -> bool:
        """Whole fragments, registers for the sums, shared memory, and something to do for each split."""
        rows = config.tile_m // config.consumers
        strip = LINE // problem.out_itemsize
        registers = rows // 64 * config.tile_n // 2
        depth = LINE // problem.itemsize
        if config.registers:
            fits = self._fits_registers(config, problem)
        else:
            spans = not KINDS[problem.dtype, problem.precision].transposes or config.tile_n % 64 == 0
            fits = (
                config.tile_m % (64 * config.consumers) == 0
                and config.tile_n % strip == 0
                and (spans or problem.b_order == "F")
                and registers <= (96 if config.consumers == 3 else 192)
                and registers * config.consumers >= 32
            )
        return (
            fits
            and (config.cluster == 1 or self._shares_tiles(config, problem, caps))
            and config.local_memory <= caps.local_memory_static
            and (config.splits == 1 or config.splits * depth <= problem.k)
            and (config.splits == 1 or self._parts(config, problem) <= _PARTS)
        )

    def _shares_tiles(self, config: WarpgroupConfig, problem: Problem, caps: Capabilities) -> bool:
        """Whether blocks of a cluster can bring tiles of B in parts: whole boxes of the copies, whole patterns."""
        part = config.tile_n // config.cluster
        whole = 8 if problem.b_order == "F" else LINE // problem.itemsize
        return (
            config.cluster <= caps.cluster_size
            and not config.registers
            and config.splits == 1
            and config.tile_n % config.cluster == 0
            and part % whole == 0
        )

    def _fits_registers(self, config: WarpgroupConfig, problem: Problem) -> bool:
        """Whether each consumer has 64 rows of the operand across k, and registers for two steps of it and the sums."""
        first, second = _roles(config, problem)
        limit = 128 if config.consumers == 3 else 256
        return _lies_across(problem) and first == 64 * config.consumers and second % 32 == 0 and second <= limit

    def predict(self, config: WarpgroupConfig, problem: Problem, caps: Capabilities) -> float:
        """The most of what matrix units, shared memory and memory need, in waves of tiles, and what starts cost."""
        units = max(1, caps.compute_units)
        rows = math.ceil(problem.m / (config.tile_m * config.cluster)) * config.cluster
        tiles = rows * math.ceil(problem.n / config.tile_n)
        parts = tiles * problem.batch * config.splits
        waves = math.ceil(parts / units)
        depth = LINE // problem.itemsize
        steps = math.ceil(math.ceil(problem.k / depth) / config.splits)
        # multiply-adds of one step against what the matrix units read from shared memory for it, 128 bytes a cycle
        math_cycles = config.tile_m * config.tile_n * depth / (_RATE * 2 / problem.itemsize)
        first, second = _roles(config, problem) if config.registers else (config.tile_m, config.tile_n)
        reads = (first + first // 64 * second) * LINE / 128
        # what the second-level cache gives: so much to a unit, and less where all of them read
        given = min(_UNIT_BYTES, _DEVICE_BYTES * units / min(units, parts))
        lines = config.tile_m + config.tile_n / config.cluster
        loads = lines * LINE * (1.0 if _is_even(problem) else _UNEVEN) / given
        hidden = min(1.0, config.stages / 3)
        cycles = waves * (steps * max(math_cycles, reads, loads) / hidden + 2500)
        if config.cluster > 1:
            cycles += _TOGETHER
        clock = max(1, caps.clock_mhz) * 1e6 * 0.85
        memory = problem.nbytes / (units * (22e9 if min(problem.m, problem.n) > _FEW else 15e9))
        again = 0.0
        if config.splits > 1:  # the last blocks of tiles read their parts
            again = self._parts(config, problem) * 4 / (units * 15e9)
            again += adding_cycles(config.splits, config.tile_m * config.tile_n * 4) / clock
        return max(cycles / clock, memory) + again + 4e-6 + self._turning(config, problem, units)

    def _turning(self, config: WarpgroupConfig, problem: Problem, units: int) -> float:
        """Seconds of the copies that bring operands into the only order that the matrix units take."""
        if KINDS[problem.dtype, problem.precision].transposes:
            return 0.0
        turned = [n for n, across in zip((problem.m, problem.n), _across(problem), strict=True) if across]
        if config.registers:
            turned.remove(max(turned))
        moved = sum(2 * extent * problem.k * problem.batch * problem.itemsize for extent in turned)
        return moved / (units * 15e9) + (5e-6 if moved else 0.0)

    def _parts(self, config: WarpgroupConfig, problem: Problem) -> int:
        """Elements of the sums of all parts."""
        tiles = math.ceil(problem.m / config.tile_m) * math.ceil(problem.n / config.tile_n)
        return tiles * problem.batch * config.splits * config.tile_m * config.tile_n

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[WarpgroupConfig, ...]:
        """The largest tile whose sums fit the registers, then smaller ones with their sums split."""
        ways = _WAYS if _lies_across(problem) else (False,)
        configs = (
            WarpgroupConfig(tile_m=m, tile_n=n, stages=s, consumers=c, group=16, splits=k, registers=registers)
            for registers in ways
            for m, n, s, c in (_SHAPES + _MIRRORED if registers else _SHAPES)
            for k in (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128)
        )
        clusters = _CLUSTERS[: caps.cluster_size]
        legal = (c for one in configs for n in clusters if self.is_legal(c := replace(one, cluster=n), problem, caps))
        return tuple(replace(c, group=8) if _rows(c, problem) * c.cluster > 128 else c for c in legal)

    def run(self, config: WarpgroupConfig, product: Product) -> None:
        """One launch, after those that transpose what the matrix units do not take as it lies."""
        kind = KINDS[product.a.dtype.name, product.precision]
        a, b = product.a, product.b
        if not kind.transposes:
            a_across, b_across = order_of(a) == "F", order_of(b) == "C"
            if config.registers and a_across and b_across:  # the larger one may stay
                a_across, b_across = (False, True) if a.shape[-2] > b.shape[-1] else (True, False)
            elif config.registers:
                a_across = b_across = False
            a = swapped(swapped_order(swapped(a), "a", product.stream)) if a_across else a
            b = swapped_order(b, "b", product.stream) if b_across else b
        if config.registers:
            launch_across(config, product, a, b)
        else:
            launch_warpgroups(config, product, Operands(a, b, a.shape[-1]), kind)


def _is_even(problem: Problem) -> bool:
    """Whether rows are whole lines of the cache."""
    row_a = problem.k if problem.a_order == "C" else problem.m
    row_b = problem.n if problem.b_order == "C" else problem.k
    return row_a * problem.itemsize % LINE == 0 and row_b * problem.itemsize % LINE == 0


def _across(problem: Problem) -> tuple[bool, bool]:
    """Whether each operand lies across k."""
    return problem.a_order == "F", problem.b_order == "C"


def _lies_across(problem: Problem) -> bool:
    """Whether an operand lies across k that the matrix units do not transpose, but take from registers."""
    kind = KINDS[problem.dtype, problem.precision]
    return not kind.transposes and kind.element.itemsize == 4 and any(_across(problem))


def _rows(config: WarpgroupConfig, problem: Problem) -> int:
    """Rows of a tile as the kernel counts them, which may compute the transpose."""
    return _roles(config, problem)[0] if config.registers else config.tile_m


def _roles(config: WarpgroupConfig, problem: Problem) -> tuple[int, int]:
    """Extents of a tile along the axis of the operand that comes through registers, and along the other."""
    a_across, b_across = _across(problem)
    by_rows = a_across and not (b_across and problem.m <= problem.n)
    return (config.tile_m, config.tile_n) if by_rows else (config.tile_n, config.tile_m)


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
    depth = LINE // a.itemsize
    split = config.splits > 1
    columns = LINE // c.itemsize
    scaled = product.alpha != 1 or product.beta != 0
    tiles = -(-m // (config.tile_m * config.cluster)) * -(-n // config.tile_n) * batch  # of a cluster
    parts: Any = _NOTHING
    arrived: Any = _NOTHING
    if split:
        size = tiles * config.splits * config.tile_m * config.tile_n
        parts = workspaces.of(stream, "parts", (size,), np.dtype(kind.sums))
        arrived = workspaces.zeros(stream, "arrived", tiles * counters_of(config.splits))
    part_n = config.tile_n // config.cluster
    maps = tensor_maps.of(
        stream,
        Box(a, (depth, LINE // a.itemsize) if a_transposed else (config.tile_m, depth), a_transposed, kind.name),
        Box(b, (part_n, depth) if b_transposed else (depth, LINE // b.itemsize), b_transposed, kind.name),
        Box(c, (STRIP_ROWS, columns), False),
    )
    clusters = min(tiles * config.splits, c.context.capabilities.compute_units // config.cluster)
    grid = clusters * config.cluster
    number = kind.sums
    plan = WarpgroupPlan(
        kind=kind.name,
        element=kind.element,
        sums=kind.sums,
        tile_m=config.tile_m,
        tile_n=config.tile_n,
        stages=config.stages,
        consumers=config.consumers,
        group=config.group,
        splits=config.splits,
        fan=fan_of(config.splits),
        levels=levels_of(config.splits),
        a_transposed=a_transposed,
        b_transposed=b_transposed,
        columns=columns,
        wide=64 if config.tile_n % 64 == 0 else 32,
        packed="bfloat16" if c.dtype.name == "bfloat16" else "float16",
        scaled=scaled,
        exponents=operands.row_exponents is not _NOTHING,
        products=len(operands.pieces),
        pieces_a=_packed(i for i, _ in operands.pieces),
        pieces_b=_packed(j for _, j in operands.pieces),
        promote=operands.promote,
        cluster=config.cluster,
    )
    _kernel(config.threads, config.cluster)[grid, config.threads, stream](
        maps,
        mapped(a),
        mapped(b),
        c if product.fusion is None else _result(c),
        Parts(parts, arrived),
        np.int32(batch),
        Extents(np.int32(m), np.int32(n), np.int32(operands.depth)),
        product.factors(number),
        Exponents(operands.row_exponents, operands.column_exponents),
        plan,
    )


def _result(c: DeviceNDArray) -> Result:
    """A result whose elements are stored by the threads themselves."""
    made = placed_operand(c)
    pairs = flat(made.memory, made.memory.size // 2, np.dtype(np.uint32)) if c.itemsize == 2 else _NOTHING
    return Result(made.memory, pairs, *made.distances)


def _packed(numbers: Iterable[int]) -> int:
    """Small numbers, four bits each, the first in the lowest ones."""
    return sum(number << 4 * i for i, number in enumerate(numbers))


@lru_cache(maxsize=8)
def _kernel(threads: int, cluster: int) -> Dispatcher:
    """The kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    return jit(multiply_warpgroups.py_func, block_dim=(threads, 1, 1), cluster=cluster)
