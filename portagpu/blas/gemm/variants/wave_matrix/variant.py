"""The wave-matrix variant: float16 and bfloat16 on matrix units of wavefronts (`kernels`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from portagpu.blas.gemm.core.interface import Config, Product, Variant
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.variants.wave_matrix.kernels import PADDING, WavePlan, instruction, multiply_waves
from portagpu.cuda import jit
from portagpu.device.capabilities import Capabilities
from portagpu.dialect.names import VectorMaker
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.tuning.tunables.space import Axis


@dataclass(frozen=True, slots=True)
class Layout:
    """An instruction and what its lanes hold.

    ``size`` rows and columns, ``depth`` of k. A lane holds ``elements`` of row (column) ``lane % size`` of A (B), those
    from ``lane // size * elements`` on if ``splits_depth``, else all. Its result ``e`` of ``results`` is in column
    ``lane % size`` and row ``e // run * stride + e % run + lane // size * part``.
    """

    function: str
    unit: str
    size: int
    depth: int
    lanes: int
    elements: int
    results: int
    run: int
    stride: int
    part: int
    splits_depth: bool = True

    @property
    def shape(self) -> str:
        """The instruction's shape by name."""
        return f"m{self.size}n{self.size}k{self.depth}"

    @property
    def operand(self) -> VectorMaker:
        """The vector of an operand, by its bits."""
        return vector_type("int16", self.elements)

    @property
    def total(self) -> VectorMaker:
        """The vector of sums."""
        return vector_type("float32", self.results)


LAYOUTS = {
    "mfma32": Layout("mfma", "mfma", 32, 8, 64, 4, 16, 4, 8, 4),
    "mfma16": Layout("mfma", "mfma", 16, 16, 64, 4, 4, 4, 0, 4),
    "wmma": Layout("wmma", "wmma", 16, 16, 32, 16, 8, 1, 2, 1, splits_depth=False),
    "wmma_halves": Layout("wmma", "wmma_halves", 16, 16, 32, 8, 8, 8, 0, 8),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveConfig(Config):
    """Parameters of the wave-matrix variant; ``layout`` is a key of `LAYOUTS`."""

    layout: str
    tile_m: int
    tile_n: int
    tile_k: int
    wave_m: int
    wave_n: int
    group: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return (self.tile_m // self.wave_m) * (self.tile_n // self.wave_n) * LAYOUTS[self.layout].lanes

    @property
    def local_memory(self) -> int:
        """Bytes of local memory: a tile of A and one of B, rows padded."""
        return (self.tile_m + self.tile_n) * (self.tile_k + PADDING) * 2

    @property
    def registers(self) -> int:
        """32-bit registers of a lane: sums, operands, the next tiles, and others."""
        layout = LAYOUTS[self.layout]
        parts_m, parts_n = self.wave_m // layout.size, self.wave_n // layout.size
        following = (self.tile_m + self.tile_n) * self.tile_k // (2 * self.threads)
        return parts_m * parts_n * layout.results + (parts_m + parts_n) * layout.elements // 2 + following + 40


class WaveMatrixVariant(Variant):
    """See `portagpu.blas.gemm.variants.wave_matrix.kernels`."""

    name = "wave_matrix"
    config_type = WaveConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """float16 and bfloat16, results in them or in float32, where wavefronts have matrix units."""
        known = problem.dtype == "float16" or (problem.dtype == "bfloat16" and "mfma" not in caps.matrix_units)
        known = known or (problem.dtype == "bfloat16" and "mfma_bfloat16" in caps.matrix_units)
        return (
            known
            and bool(_layouts(caps))
            and caps.local_memory_dedicated
            and problem.out_dtype in (problem.dtype, "float32")
            and not problem.precision
            and problem.batch == 1
            and all((problem.a_order, problem.b_order, problem.c_order))
        )

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """The instruction, tiles of a block and of a wavefront, and the height of the bands that blocks walk."""
        return (
            Axis("layout", _layouts(caps)),
            Axis("tile_m", (32, 64, 128, 256)),
            Axis("tile_n", (32, 64, 128, 256)),
            Axis("tile_k", (16, 32, 64)),
            Axis("wave_m", (16, 32, 64, 128)),
            Axis("wave_n", (16, 32, 64, 128)),
            Axis("group", (1, 4, 8, 16)),
        )

    def is_legal(self, config: WaveConfig, problem: Problem, caps: Capabilities) -> bool:
        """Work divides evenly among the wavefronts, and registers and local memory suffice."""
        layout = LAYOUTS.get(config.layout)
        return (
            layout is not None
            and layout.unit in caps.matrix_units
            and config.tile_m % config.wave_m == config.tile_n % config.wave_n == 0
            and config.wave_m % layout.size == config.wave_n % layout.size == config.tile_k % layout.depth == 0
            and config.threads <= min(caps.max_work_group_size, caps.max_work_item_sizes[0])
            and config.tile_m * config.tile_k % (8 * config.threads) == 0
            and config.tile_n * config.tile_k % (8 * config.threads) == 0
            and config.local_memory <= caps.local_memory_static
            and config.registers <= caps.thread_registers * 13 // 16
        )

    def predict(self, config: WaveConfig, problem: Problem, caps: Capabilities) -> float:
        """Padded multiply-adds over the share of time that matrix units are busy, times waves of blocks.

        Seconds at 512 multiply-adds a cycle and compute unit.
        """
        m, n, k = problem.m, problem.n, problem.k
        units = max(1, caps.compute_units)
        rows, columns = math.ceil(m / config.tile_m), math.ceil(n / config.tile_n)
        resident = max(
            1, min(65536 // (config.registers * config.threads), caps.local_memory_static // config.local_memory)
        )
        slots, tiles = units * resident, rows * columns
        waves = math.ceil(tiles / slots) * slots / tiles if tiles > slots else max(1.0, units / tiles)
        intensity = config.tile_m * config.tile_n / (config.tile_m + config.tile_n)
        reuse = config.wave_m * config.wave_n / (config.wave_m + config.wave_n)
        busy = intensity / (intensity + 32) * reuse / (reuse + 8) * config.tile_k / (config.tile_k + 8)
        padded = rows * config.tile_m * columns * config.tile_n * k
        return padded / busy * waves / (units * 512 * max(1, caps.clock_mhz) * 1e6)

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[WaveConfig, ...]:
        """Four wavefronts of 64 lanes or eight of 32, down to tiles for small products."""
        shapes = (
            (128, 128, 32, 64, 64),
            (128, 128, 32, 64, 32),
            (128, 64, 32, 64, 32),
            (64, 64, 32, 32, 32),
            (64, 64, 32, 32, 16),
            (32, 32, 32, 16, 16),
        )
        found = (
            WaveConfig(layout=layout, tile_m=m, tile_n=n, tile_k=k, wave_m=wm, wave_n=wn, group=8)
            for layout in _layouts(caps)
            for m, n, k, wm, wn in shapes
        )
        return tuple(c for c in found if self.is_legal(c, problem, caps))

    def run(self, config: WaveConfig, product: Product) -> None:
        """One launch: a block for each tile of C."""
        a, b, c = product.a, product.b, product.c
        (m, k), n = a.shape, b.shape[1]
        problem = product.problem
        a_transposed, b_transposed = problem.a_order == "F", problem.b_order == "F"
        bits_a, bits_b = ((x.T if t else x).view(np.int16) for x, t in ((a, a_transposed), (b, b_transposed)))
        whole = m % config.tile_m == n % config.tile_n == k % config.tile_k == 0
        tiles = -(-m // config.tile_m) * -(-n // config.tile_n)
        kernel = wave_kernel(config.threads)
        kernel[tiles, config.threads, product.stream](
            bits_a,
            bits_b,
            c,
            product.factors(np.float32),
            plan_of(
                config,
                problem.dtype,
                a_transposed,
                b_transposed,
                exact=whole and problem.aligned,
                scaled=problem.scaled,
            ),
        )


def _layouts(caps: Capabilities) -> tuple[str, ...]:
    return tuple(name for name, layout in LAYOUTS.items() if layout.unit in caps.matrix_units)


def plan_of(
    config: WaveConfig, dtype: str, a_transposed: bool, b_transposed: bool, *, exact: bool, scaled: bool
) -> WavePlan:
    """What the compiler shall know of a launch."""
    layout = LAYOUTS[config.layout]
    return WavePlan(
        tile_m=config.tile_m,
        tile_n=config.tile_n,
        tile_k=config.tile_k,
        wave_m=config.wave_m,
        wave_n=config.wave_n,
        layout=layout,
        multiply=_instruction(layout.function, layout.shape, dtype),
        a_transposed=a_transposed,
        b_transposed=b_transposed,
        exact=exact,
        scaled=scaled,
        group=config.group,
    )


_instruction = cache(instruction)


@cache
def wave_kernel(threads: int) -> Dispatcher:
    """The kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    return jit(multiply_waves.py_func, block_dim=(threads, 1, 1))
