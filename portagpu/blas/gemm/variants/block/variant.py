"""The block variant: blocks that stay in caches, for devices without on-chip local memory (see `kernels`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.accumulation import conversion, is_plain, number_type
from portagpu.blas.gemm.core.interface import Config, Product, Variant, clock_mhz
from portagpu.blas.gemm.core.kernel_arguments import Extents
from portagpu.blas.gemm.core.operands import matrix_of, placed_operand, with_strides
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.vector_registers import native_lanes, register_count
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.variants.block.kernels import Block, BlockPlan, multiply_block
from portagpu.blas.gemm.variants.block.packing_kernels import pack_block, pack_symmetric, pack_triangle
from portagpu.blas.gemm.variants.block.triangles import LOWER, UPPER, WHOLE
from portagpu.device.capabilities import Capabilities
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import context_of
from portagpu.tuning.tunables.space import Axis

_ALL = 1024  # panels: as many as there are
_PACKED_BYTES = 2**24  # of B's block: a share of the last-level cache
_LAUNCHES_SECONDS = 15e-6  # of packing and multiplying
_BLOCK_SECONDS = 40e-6  # the same for one more block: Python's share is in the way where kernels are short
_KEPT_BYTES = 3 * 2**18  # of a group's rows of A and panels of B: a share of the second-level cache
_COPY_CYCLES = 0.35  # for a byte of A that is copied
_ROW_CYCLES = (
    0.04  # for a byte of A's rows that are not copied, once a panel: each is in pages and cache sets of its own
)
_PAGE_BYTES = 2048
_PAGE_CYCLES = 18.0  # for 64 bytes of a line of B that is packed in short pieces; 4 x 4096 x 1024, float32, AVX-512
_COPY_BYTES = 2**19  # of A, by a work-group
_COPIED_BYTES = 2048  # of a row of these, at most, where c is a triangle: syrk takes a tenth less than with 4096
_CHUNK = 64  # rows that a work-group packs
_TILES = ((6, 4), (8, 3), (14, 2), (12, 2), (6, 2), (4, 2), (4, 3), (6, 1))
_OTHER_TILE = 0.04  # of the time: what each further place in this list must save to be worth a program of its own
_MANY = 64  # rows and columns from which on no tile is worth a trial that leaves half of the registers unused
_SHARES = 16  # of a compute unit, at least, where c is a triangle and work-groups are unequal


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockConfig(Config):
    """Parameters of the block variant: a register tile of ``tile_m`` x ``vectors_n`` vectors."""

    tile_m: int
    vectors_n: int
    lanes: int
    depth: int  # of a block, at most
    group_m: int  # register tiles that meet a panel of B before the next one does
    group_n: int  # panels of a work-group
    copied: int  # whether a work-group copies its rows of A (1) or reads them where they are (0)
    packs: int  # whether a work-group has all rows, and so packs the panels of B that it alone needs

    @property
    def tile_n(self) -> int:
        """Columns of the register tile."""
        return self.vectors_n * self.lanes

    @property
    def rows(self) -> int:
        """Rows that meet a panel of B before the next one does, at most."""
        return self.tile_m * self.group_m

    @property
    def registers(self) -> int:
        """Vector registers that the micro-kernel keeps live: accumulators, B, one broadcast of A."""
        return self.tile_m * self.vectors_n + self.vectors_n + 1

    def copy_bytes(self, itemsize: int) -> int:
        """Local memory for the copy of A."""
        return self.copied * self.group_m * self.tile_bytes(itemsize)

    def tile_bytes(self, itemsize: int) -> int:
        """Local memory for the rows of one register tile in such a copy."""
        return self.tile_m * self.depth * itemsize


@cache
def _tiles(registers: int) -> tuple[tuple[int, int], ...]:
    """Rows and vectors of register tiles that fit, the one that serves most problems first."""
    return tuple((m, v) for m, v in _TILES if m * v + v + 1 <= registers)


def even_depth(k: int, most: int, lanes: int) -> int:
    """Terms of a block: blocks of about the same depth, whole vectors of them."""
    share = math.ceil(k / math.ceil(k / most))
    return min(most, math.ceil(share / lanes) * lanes)


def _copying(config: BlockConfig, itemsize: int, caps: Capabilities) -> BlockConfig:
    """The same with copies of A, and, if these need too much room, the largest groups of rows that fit."""
    most = min(_COPY_BYTES, caps.local_memory_static)
    room = min(config.group_m, most // config.tile_bytes(itemsize))  # register tiles
    group = next((size for size in (config.group_m, 32, 16, 8, 4, 2) if size <= room), 1)
    # most points are as they should be: the model asks for each one of a large space
    return config if config.copied == 1 and group == config.group_m else replace(config, copied=1, group_m=group)


def _shared(config: BlockConfig, product: Product, shares: int) -> BlockConfig:
    """The same with so many work-groups of a compute unit, at least: where there is a triangle, they are unequal."""
    m, n = product.c.shape[-2:]
    units = context_of(product.stream).capabilities.compute_units
    across = max(1, shares * units * config.rows // m)  # a group of all columns copies its rows once
    if _must_copy(product.problem):  # copies, and panels beside them, that stay in the second-level cache
        config = replace(config, depth=min(config.depth, _COPIED_BYTES // product.a.itemsize))
    return replace(config, packs=0, group_n=max(1, -(-n // config.tile_n) // across))


def _must_copy(problem: Problem) -> bool:
    """Whether elements of A become others first, or lie side by side along columns: the micro-kernel reads rows."""
    return problem.dtype != problem.accumulator or problem.a_order != "C"


class BlockVariant(Variant):
    """Goto's scheme: see `portagpu.blas.gemm.variants.block.kernels`."""

    name = "block"
    config_type = BlockConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """All real dtypes whose result is what sums are formed in, so that blocks can be added up there."""
        return not caps.local_memory_dedicated and is_plain(problem) and problem.out_dtype == problem.accumulator

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Register tile, depth of blocks, and register tiles of a work-group."""
        return (
            Axis("tile_m", tuple(range(2, 15))),
            Axis("vectors_n", (1, 2, 3, 4)),
            Axis("lanes", (native_lanes(caps, problem.accumulator_itemsize),)),
            Axis("depth", (128, 256, 384, 512, 768, 1024)),
            Axis("group_m", (1, 2, 4, 8, 16, 32)),
            Axis("group_n", (1, 2, 4, 8, 16, 32, _ALL)),
            Axis("copied", (0, 1)),
            Axis("packs", (0, 1)),
        )

    def is_legal(self, config: BlockConfig, problem: Problem, caps: Capabilities) -> bool:
        """The register tile fits the register file and is worth a trial, the copy of A fits local memory."""
        worth = config.tile_m * config.vectors_n >= min(6, register_count(caps) // 4)
        # results of other layouts and dtypes serve here too: what must be copied is, whatever they say
        if _must_copy(problem):
            config = _copying(config, problem.accumulator_itemsize, caps)
        return (
            worth
            and config.registers <= register_count(caps)
            and config.lanes <= 16
            and (config.depth <= 128 or config.depth < 2 * problem.k)
            and config.copy_bytes(problem.accumulator_itemsize) <= min(_COPY_BYTES, caps.local_memory_static)
        )

    def predict(self, config: BlockConfig, problem: Problem, caps: Capabilities) -> float:
        """Cycles of the micro-kernel, of what is packed, and of launches, shared among compute units.

        Two multiply-adds and two loads of vectors a cycle, at the clock that the driver tells.
        """
        if _must_copy(problem):
            config = _copying(config, problem.accumulator_itemsize, caps)
        m, n, k, item = problem.m, problem.n, problem.k, problem.accumulator_itemsize
        units, lanes = max(1, caps.compute_units), config.lanes
        depth = even_depth(k, config.depth, lanes)
        blocks = math.ceil(k / depth)
        rows, columns = math.ceil(m / config.tile_m), math.ceil(n / config.tile_n)
        group_n = min(config.group_n, columns)
        down, right = math.ceil(m / config.rows), math.ceil(columns / group_n)
        groups = (1 if config.packs else down) * right * problem.batch
        work, loads = config.tile_m * config.vectors_n, config.tile_m + config.vectors_n
        step = max(work / 2, loads / 2, 4.0) + 0.15 * loads  # of k: units finish four cycles later
        tile = step * depth + 3 * work + 40
        tiles = rows * columns * blocks * problem.batch * tile
        # nothing is computed while A is copied; what is read where it is comes from farther caches, as panels of B do
        if config.copied:
            copied = m * k * right * problem.batch * item * _COPY_CYCLES
        else:
            copied = m * k * columns * problem.batch * item * _ROW_CYCLES
        panels = min(2, group_n)  # the one that is met, and the next one
        kept = (min(m, config.rows) + panels * config.tile_n) * depth * item <= _KEPT_BYTES
        # cycles for each byte: panels of B are there when they are needed, rows of A come from farther caches
        near, far = (0.015, 0.04) if kept else (0.03, 0.08)
        fetched = (down * n * near + right * m * far) * k * problem.batch * item
        fetched += 2 * m * n * blocks * problem.batch * item * 0.04  # c, read and written
        # what another work-group packed comes from farther caches
        packed = n * k * problem.batch * (3.0 if config.packs else 6.0) / lanes
        if problem.b_order == "C" and n * problem.itemsize >= _PAGE_BYTES:  # hardly two lines in one page
            packed += n * k * problem.batch * problem.itemsize / 64 * _PAGE_CYCLES
        # a fast work-group takes another one while a slow one ends
        waves = (groups + 1.5 * (units - 1)) / groups
        if config.packs:  # few work-groups, all alike
            waves = math.ceil(groups / units) * units / groups + 0.25 * (units - 1) / groups
        cycles = (tiles + copied + fetched + groups * blocks * 400) * waves + packed
        strips = math.ceil(columns * config.tile_n * depth * item / _PACKED_BYTES)
        seconds = cycles / (units * clock_mhz(caps) * 1e6)
        usual, own = _tiles(register_count(caps)), (config.tile_m, config.vectors_n)
        if own in usual:
            seconds *= 1.0 + _OTHER_TILE * usual.index(own)
        launches = (_LAUNCHES_SECONDS + (blocks * strips - 1) * _BLOCK_SECONDS) / (2 if config.packs else 1)
        return seconds + launches

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[BlockConfig, ...]:
        """Register tiles that fill the register files of today's processors."""
        lanes = native_lanes(caps, problem.accumulator_itemsize)
        groups = (
            *((gm, gn, 0, 0) for gm in (16, 8) for gn in (1, 2, 4, 8, 16, _ALL)),
            *((gm, gn, 0, 1) for gm in (16, 8) for gn in (4, 16, _ALL)),
            *((gm, gn, 0, 0) for gm in (4, 2, 1) for gn in (1, 4)),  # few tiles for many cores
            *((16, gn, 1, 0) for gn in (1, 2, 4, 8, 16)),
            *((16, gn, 1, 1) for gn in (1, 2, 4, 8, 16, _ALL)),
        )
        tiles = _tiles(register_count(caps))
        if problem.m >= _MANY and problem.n >= _MANY:
            largest = max(m * v for m, v in tiles)
            tiles = tuple((m, v) for m, v in tiles if 2 * m * v > largest)
        must_copy = _must_copy(problem)
        found = (
            BlockConfig(
                tile_m=m, vectors_n=v, lanes=lanes, depth=depth, group_m=gm, group_n=gn, copied=copied, packs=packs
            )
            for m, v in tiles
            for depth in (1024, 512, 256, 128)
            for gm, gn, packs, copied in groups
            if copied or not must_copy
        )
        return tuple(p for p in found if self.is_legal(p, problem, caps))

    def run(self, config: BlockConfig, product: Product) -> None:
        """Pack a block of B (one that a batch shares, once) and multiply with it, one block after the other."""
        _Work(config, product).enqueue()

    def run_triangle(self, config: BlockConfig, product: Product, *, lower: bool) -> None:
        """As `run`, but of c only the lower, or the upper, triangle is computed, read and written."""
        _Work(_shared(config, product, _SHARES), product, LOWER if lower else UPPER).enqueue()

    def run_times_triangle(self, config: BlockConfig, product: Product, *, lower: bool, unit: bool) -> None:
        """As `run`, for a b of which a triangle counts, with ones on its diagonal if ``unit``: terms are left out."""
        config = _shared(config, product, _SHARES)
        _Work(config, product, b_as=_Given(LOWER if lower else UPPER, unit=unit)).enqueue()

    def run_times_symmetric(self, config: BlockConfig, product: Product, *, lower: bool) -> None:
        """As `run`, for a symmetric b, of which only a triangle is read."""
        given = _Given(LOWER if lower else UPPER, is_symmetric=True)
        _Work(replace(config, packs=0), product, b_as=given).enqueue()


@dataclass(frozen=True, slots=True)
class _Given:
    """``part`` of b is given, and stands for a triangle, ``unit`` or not, or a symmetric matrix."""

    part: int
    unit: bool = False
    is_symmetric: bool = False

    @property
    def part_of_b(self) -> int:
        """What is not zero."""
        return WHOLE if self.is_symmetric else self.part


class _Work:
    """A product that is being enqueued, in the terms of the kernels."""

    def __init__(self, config: BlockConfig, product: Product, part: int = WHOLE, b_as: _Given = _Given(WHOLE)) -> None:
        self.product, self.part, self.b_as = product, part, b_as
        self.a, self.b, self.c = placed_operand(product.a), placed_operand(product.b), placed_operand(product.c)
        self.m, self.n = product.c.shape[-2:]
        self.k = product.a.shape[-1]
        self.found = conversion(product.a.dtype.name, product.c.dtype.name, config.lanes)
        self.dtype: np.dtype[Any] = np.dtype(number_type(self.found.vector))
        self.copied = config.copied == 1 or self.a.transposed or self.dtype != self.a.array.dtype
        if self.copied:
            config = _copying(config, self.dtype.itemsize, context_of(product.stream).capabilities)
        self.config = config
        self.depth = even_depth(self.k, config.depth, config.lanes)
        self.panels = -(-self.n // config.tile_n)
        panel_bytes = config.tile_n * self.depth * self.dtype.itemsize
        self.strip = min(self.panels, max(1, _PACKED_BYTES // panel_bytes))
        self.matrices = product.batch if self.b.batch else 1
        self.number = np.int64

    def enqueue(self) -> None:
        """One block of B after the other."""
        for panel in range(0, self.panels, self.strip):
            for k in range(0, self.k, self.depth):
                self.block(k, panel)

    def packed(self, panels: int, depth: int) -> DeviceNDArray:
        """Room for a block of B; products on a stream use the same."""
        shape = (self.matrices, panels, depth, self.config.tile_n)
        size = 1 << (math.prod(shape) - 1).bit_length()
        flat = workspaces.of(self.product.stream, "block of b", (size,), self.dtype)
        steps = tuple(self.dtype.itemsize * math.prod(shape[i + 1 :]) for i in range(4))
        found = with_strides(flat, shape, steps)
        found.is_large = True
        return found

    def block(self, first_k: int, first_panel: int) -> None:
        """Enqueue the work of one block."""
        depth, panels = min(self.depth, self.k - first_k), min(self.strip, self.panels - first_panel)
        packed = self.packed(panels, depth)
        # panels that a batch shares are packed once
        packs = self.config.packs == 1 and self.matrices == self.product.batch
        if not packs:
            self._pack(packed, first_k, first_panel)
        self._multiply(packed, first_k, first_panel, packs)

    def _pack(self, packed: DeviceNDArray, first_k: int, first_panel: int) -> None:
        b, (matrices, panels, depth, tile) = self.b, packed.shape
        launched = (panels, -(-depth // _CHUNK), matrices), 1, self.product.stream
        told = (
            matrix_of(b, self.number),
            packed,
            self.number(self.n),
            self.number(first_k),
            self.number(first_panel),
            self.number(depth),
            self.number(_CHUNK),
            tile,
            self.found.vector,
            b.transposed,
        )
        given = self.b_as
        if given.part == WHOLE:
            pack_block[launched](*told)
        elif given.is_symmetric:
            pack_symmetric[launched](*told, given.part)
        else:
            pack_triangle[launched](*told, (given.part, given.unit))

    def _multiply(self, packed: DeviceNDArray, first_k: int, first_panel: int, packs: bool) -> None:
        config, a, b, c, product = self.config, self.a, self.b, self.c, self.product
        panels, depth = packed.shape[1:3]
        group_n = min(config.group_n, panels)
        # later blocks add to what is there, and the last one has the whole sums
        beta = product.beta if first_k == 0 else 1.0
        fusion = product.fusion if first_k + depth == self.k else None
        room = config.depth * config.rows if self.copied else 1
        grid = (1 if packs else -(-self.m // config.rows), -(-panels // group_n), product.batch)
        plan = BlockPlan(
            tile_m=config.tile_m,
            vectors_n=config.vectors_n,
            room=room,
            whole=self.found.whole,
            transposed=a.transposed,
            copied=self.copied,
            b_transposed=packs and b.transposed,
            part=self.part,
            part_of_b=self.b_as.part_of_b,
        )
        multiply_block[grid, 1, product.stream](
            matrix_of(a, self.number),
            matrix_of(b, self.number),
            packed,
            matrix_of(c, self.number),
            Extents(self.number(self.m), self.number(self.n), self.number(self.k)),
            Block(*map(self.number, (first_k, first_panel, depth, panels, group_n, config.rows, packs))),
            replace(product, beta=beta, fusion=fusion).factors(self.dtype.type),
            self.found.vector,
            plan,
            self.found.any_epilogue,
        )
