"""The panel variant: packed panels and vector registers, for devices without on-chip local memory (`kernels`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from portagpu.blas.gemm.core.accumulation import conversion, is_plain, number_type
from portagpu.blas.gemm.core.interface import Config, Product, Variant, clock_mhz
from portagpu.blas.gemm.core.kernel_arguments import Extents
from portagpu.blas.gemm.core.operands import Operand, index_type, matrix_of, placed_operand
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.vector_registers import native_lanes, register_count
from portagpu.blas.gemm.core.vector_types import name_of, vector_type
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.kernels.launch import MOST_TERMS
from portagpu.blas.gemm.kernels.part_sums import add_parts
from portagpu.blas.gemm.variants.panel.kernels import PanelPlan, Panels, multiply_panels, pack
from portagpu.device.capabilities import Capabilities
from portagpu.tuning.tunables.space import Axis

_LAUNCHES_SECONDS = 15e-6  # of packing both operands and multiplying
_PACKED_A_CYCLE = 6.0  # bytes that a compute unit reads and writes to pack operands
_PACK_BYTES = 64 * 1024  # of a panel that one work-group packs


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelConfig(Config):
    """Parameters of the panel variant: a register tile of ``tile_m`` x ``vectors_n`` vectors."""

    tile_m: int
    vectors_n: int
    lanes: int
    unroll_k: int
    group_m: int  # register tiles of a work-group
    group_n: int

    @property
    def tile_n(self) -> int:
        """Columns of the register tile."""
        return self.vectors_n * self.lanes

    @property
    def registers(self) -> int:
        """Vector registers that the micro-kernel keeps live: accumulators, B, one broadcast of A."""
        return self.tile_m * self.vectors_n + self.vectors_n + 1


class PanelVariant(Variant):
    """BLIS's scheme: see `portagpu.blas.gemm.variants.panel.kernels`."""

    name = "panel"
    config_type = PanelConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """All real dtypes, batches and scaling; local memory that is only emulated would be in the way of tiles."""
        return not caps.local_memory_dedicated and is_plain(problem)

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Register tile, unrolling, and register tiles of a work-group."""
        return (
            Axis("tile_m", tuple(range(2, 15))),
            Axis("vectors_n", (1, 2, 3, 4)),
            Axis("lanes", (native_lanes(caps, problem.accumulator_itemsize),)),
            Axis("unroll_k", (1, 2, 4)),
            Axis("group_m", (1, 2, 4, 8, 16, 32)),
            Axis("group_n", (1, 2, 4, 8)),
        )

    def is_legal(self, config: PanelConfig, problem: Problem, caps: Capabilities) -> bool:
        """The register tile fits the register file, and is large enough to be worth a trial."""
        worth = config.tile_m * config.vectors_n >= min(6, register_count(caps) // 4)
        return worth and config.registers <= register_count(caps) and config.lanes <= 16

    def predict(self, config: PanelConfig, problem: Problem, caps: Capabilities) -> float:
        """Multiply-adds of all padded tiles over the share of time that the arithmetic units are busy, times waves.

        The busy share follows from the ratio of multiply-adds to loads: a register tile of r x c needs r + c loads for
        r * c multiply-adds. Seconds at one vector multiply-add a cycle and core.
        """
        m, n, k = problem.m, problem.n, problem.k
        units = max(1, caps.compute_units)
        rows, columns = math.ceil(m / config.tile_m), math.ceil(n / config.tile_n)
        groups = math.ceil(rows / config.group_m) * math.ceil(columns / config.group_n) * problem.batch
        loads = config.tile_m + 2 * config.vectors_n
        work = config.tile_m * config.vectors_n
        busy = work / (work + 0.6 * loads) * min(1.0, work / 16)
        # other programs take turns on the cores: many small groups balance that, each costs a little
        waves = (groups + units) / groups
        started = 15_000 * groups
        # the panel of B that the micro-kernel walks again and again must stay in the second-level cache
        cached = config.tile_n * min(k, MOST_TERMS) * problem.accumulator_itemsize <= 2**19
        overhead = 1.0 + 0.02 * config.unroll_k + (0.0 if cached else 0.1)
        multiplied = rows * config.tile_m * columns * config.tile_n * k * problem.batch / busy * overhead + started
        # operands are read, and written as what sums are formed in
        packed = (m + n) * k * problem.batch * (problem.itemsize + problem.accumulator_itemsize)
        cycles = multiplied * waves / config.lanes + packed / _PACKED_A_CYCLE
        return cycles / (units * clock_mhz(caps) * 1e6) + _LAUNCHES_SECONDS * math.ceil(k / MOST_TERMS)

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[PanelConfig, ...]:
        """Register tiles that fill the register files of today's processors."""
        lanes = native_lanes(caps, problem.accumulator_itemsize)
        panels = (
            PanelConfig(tile_m=m, vectors_n=v, lanes=lanes, unroll_k=1, group_m=gm, group_n=1)
            for m, v in ((12, 2), (14, 2), (8, 3), (6, 2), (4, 2), (4, 1))
            for gm in (16, 8, 4, 2, 1)
        )
        return tuple(p for p in panels if self.is_legal(p, problem, caps))

    def run(self, config: PanelConfig, product: Product) -> None:
        """The product, or several along k, whose results are added."""
        k, c = product.a.shape[-1], placed_operand(product.c)
        depth = math.ceil(k / math.ceil(k / MOST_TERMS))
        found = conversion(name_of(product.a.dtype), name_of(product.c.dtype), config.lanes)
        accumulator = np.dtype(found.vector.dtype.name)
        if k == depth or product.c.dtype == accumulator:
            _multiply_parts(config, product, c, depth)
            return
        # what is added again and again must not lose digits in between
        batch, m, n = product.batch, product.c.shape[-2], product.c.shape[-1]
        sums = workspaces.of(product.stream, "sums", (batch, 1, m, n), accumulator)
        _multiply_parts(config, replace(product, alpha=1, beta=0, fusion=None), Operand(sums, n, m * n, False), depth)
        add_parts(sums, c, (batch, m, n), found, product)


def _multiply_parts(config: PanelConfig, product: Product, c: Operand, depth: int) -> None:
    """The product of ``depth`` terms at a time, into c in place of the product's."""
    k = product.a.shape[-1]
    for begin in range(0, k, depth):
        terms = slice(begin, min(k, begin + depth))
        part = replace(product, a=product.a[..., terms], b=product.b[..., terms, :]) if depth < k else product
        part = part if begin == 0 else replace(part, beta=1)
        # the last part has the whole sums
        _multiply(config, part if terms.stop == k else replace(part, fusion=None), c, depth)


def _multiply(config: PanelConfig, product: Product, c: Operand, depth: int) -> None:
    """Pack both operands (one that a batch shares, once), then multiply panels. There are up to ``depth`` terms."""
    a, b, stream = placed_operand(product.a), placed_operand(product.b), product.stream
    m, n, k, batch = product.c.shape[-2], product.c.shape[-1], product.a.shape[-1], product.batch
    found = conversion(name_of(product.a.dtype), name_of(c.array.dtype), config.lanes)
    dtype = np.dtype(number_type(found.vector))
    panels_m, panels_n = -(-m // config.tile_m), -(-n // config.tile_n)
    shape_a = (batch if a.batch else 1, panels_m, depth, config.tile_m)
    shape_b = (batch if b.batch else 1, panels_n, depth, config.tile_n)
    packed_a = workspaces.of(stream, "packed a", shape_a, dtype)
    packed_b = workspaces.of(stream, "packed b", shape_b, dtype)
    number = index_type(packed_a, packed_b, a.array, b.array, c.array)
    for source, packed, lines, along in ((a, packed_a, m, not a.transposed), (b, packed_b, n, b.transposed)):
        tile = packed.shape[-1]
        chunk = max(1, min(k, _PACK_BYTES // (tile * dtype.itemsize)))
        grid = (packed.shape[1], -(-k // chunk), packed.shape[0])
        width = 1 if along else math.gcd(tile, config.lanes)
        vector = vector_type(name_of(dtype), width) if width > 1 else None
        pack[grid, 1, stream](
            matrix_of(source, number),
            packed,
            number(lines),
            number(k),
            number(chunk),
            tile,
            width,
            vector,
            along,
        )
    group_m, group_n = min(config.group_m, panels_m), min(config.group_n, panels_n)
    grid = (-(-panels_m // group_m), -(-panels_n // group_n), batch)
    multiply_panels[grid, 1, stream](
        Panels(packed_a, number(panels_m)),
        Panels(packed_b, number(panels_n)),
        matrix_of(c, number),
        Extents(number(m), number(n), number(k)),
        number(group_m),
        number(group_n),
        product.factors(number_type(found.scaled)),
        found.vector,
        PanelPlan(config.tile_m, config.vectors_n, config.unroll_k, found.whole),
        found.any_epilogue,
    )
