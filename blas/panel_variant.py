"""The panel variant: packed panels and vector registers, for devices without on-chip local memory (`cpu_kernels`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.blas.cpu_kernels import multiply_panels, pack_columns, pack_rows
from portagpu.blas.problem import Problem
from portagpu.blas.variant import Config, Product, Variant
from portagpu.blas.vectors import vector_type
from portagpu.device.capabilities import Capabilities
from portagpu.runtime.array import DeviceNDArray, device_array
from portagpu.tuning.space import Axis

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


def register_count(caps: Capabilities) -> int:
    """Architectural vector registers: 32 with 512-bit vectors (AVX-512), 16 below (AVX2)."""
    return 32 if caps.vector_width_float >= 16 else 16


def native_lanes(caps: Capabilities, itemsize: int) -> int:
    """Lanes of the device's vector registers for an element size."""
    width = caps.vector_width_float * 4 // itemsize
    return min(16, max(2, width))


class PanelVariant(Variant):
    """BLIS's scheme: see `portagpu.blas.cpu_kernels`."""

    name = "panel"
    config_type = PanelConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Real floating-point products; local memory that is only emulated would be in the way of tiles."""
        plain = not (problem.out or problem.precision or problem.batch > 1 or problem.scaled)
        return plain and not caps.local_memory_dedicated and problem.dtype in ("float32", "float64")

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Register tile, unrolling, and register tiles of a work-group."""
        return (
            Axis("tile_m", tuple(range(2, 15))),
            Axis("vectors_n", (1, 2, 3, 4)),
            Axis("lanes", (native_lanes(caps, problem.itemsize),)),
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
        groups = math.ceil(rows / config.group_m) * math.ceil(columns / config.group_n)
        loads = config.tile_m + 2 * config.vectors_n
        work = config.tile_m * config.vectors_n
        busy = work / (work + 0.6 * loads) * min(1.0, work / 16)
        # other programs take turns on the cores: many small groups balance that, each costs a little
        waves = (groups + units) / groups
        started = 15_000 * groups
        # the panel of B that the micro-kernel walks again and again must stay in the second-level cache
        cached = config.tile_n * k * problem.itemsize <= 2**19
        overhead = 1.0 + 0.02 * config.unroll_k + (0.0 if cached else 0.1)
        multiplied = rows * config.tile_m * columns * config.tile_n * k / busy * overhead + started
        return multiplied * waves / (units * config.lanes * max(1, caps.clock_mhz) * 1e6)

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[PanelConfig, ...]:
        """Register tiles that fill the register files of today's processors."""
        lanes = native_lanes(caps, problem.itemsize)
        panels = (
            PanelConfig(tile_m=m, vectors_n=v, lanes=lanes, unroll_k=1, group_m=gm, group_n=1)
            for m, v in ((12, 2), (14, 2), (8, 3), (6, 2), (4, 2), (4, 1))
            for gm in (16, 8, 4, 2, 1)
        )
        return tuple(p for p in panels if self.is_legal(p, problem, caps))

    def run(self, config: PanelConfig, product: Product) -> None:
        """Pack both operands, then multiply panels."""
        a, b, c, stream = product.a, product.b, product.c, product.stream
        (m, k), n = a.shape, b.shape[1]
        dtype, context = c.dtype, c.context
        vector = vector_type(dtype.name, config.lanes)
        panels_m, panels_n = -(-m // config.tile_m), -(-n // config.tile_n)
        packed_a = device_array((panels_m, k, config.tile_m), dtype, context=context)
        packed_b = device_array((panels_n, k, config.tile_n), dtype, context=context)
        number = _index_type(packed_a, packed_b, a, b, c)
        for kernel, source, packed, extent, tile in (
            (pack_rows, a, packed_a, m, config.tile_m),
            (pack_columns, b, packed_b, n, config.tile_n),
        ):
            chunk = max(1, min(k, _PACK_BYTES // (tile * dtype.itemsize)))
            grid = (packed.shape[0], -(-k // chunk))
            extra = () if kernel is pack_rows else (config.lanes, source.layout == "C")
            kernel[grid, 1, stream](source, packed, number(extent), number(k), number(chunk), tile, *extra)
        group_m, group_n = min(config.group_m, panels_m), min(config.group_n, panels_n)
        grid = (-(-panels_m // group_m), -(-panels_n // group_n))
        multiply_panels[grid, 1, stream](
            packed_a,
            packed_b,
            c,
            number(k),
            number(panels_m),
            number(panels_n),
            number(group_m),
            number(group_n),
            config.tile_m,
            config.vectors_n,
            vector,
            config.unroll_k,
            c.layout == "C",
        )


def _index_type(*arrays: DeviceNDArray) -> Any:
    return np.int64 if any(a.is_large for a in arrays) else np.int32
