"""The batch variant: batches of small matrices, for devices without on-chip local memory (see `kernels`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from portagpu.blas.gemm.core.accumulation import conversion, is_plain, number_type
from portagpu.blas.gemm.core.interface import Config, Product, Variant, clock_mhz
from portagpu.blas.gemm.core.operands import index_type, matrix_of, placed_operand, strided_matrix_of
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.vector_registers import native_lanes, register_count
from portagpu.blas.gemm.core.vector_types import name_of
from portagpu.blas.gemm.variants.batch.kernels import BatchPlan, multiply_matrices
from portagpu.device.capabilities import Capabilities
from portagpu.tuning.tunables.space import Axis

_LARGEST = 32  # rows, columns and terms: of larger matrices, packing costs less than it gains
_LEAST_LANES = 4
_LAUNCH_SECONDS = 4e-6
_TILE_CYCLES = 20.0  # of a register tile, besides its steps along k
_MATRIX_CYCLES = 30.0
_BYTES_A_CYCLE = 6.5  # that a core reads from far caches, and writes there
_GROUPS_OF_UNIT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchConfig(Config):
    """Parameters of the batch variant: a register tile, and work-groups for each compute unit."""

    tile_m: int
    vectors_n: int
    lanes: int
    groups: int


class BatchVariant(Variant):
    """See `portagpu.blas.gemm.variants.batch.kernels`."""

    name = "batch"
    config_type = BatchConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Batches of small matrices of all real dtypes, b's rows of whole vectors."""
        small = max(problem.m, problem.n, problem.k) <= _LARGEST and problem.batch > 1
        in_rows = problem.b_order == problem.c_order == "C" and problem.n % _LEAST_LANES == 0
        return small and in_rows and not caps.local_memory_dedicated and is_plain(problem)

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Register tile, and work-groups."""
        return (
            Axis("tile_m", tuple(range(1, 17))),
            Axis("vectors_n", (1, 2, 4)),
            Axis("lanes", (4, 8, 16)),
            Axis("groups", (2, 4, 8, 16, 32)),
        )

    def is_legal(self, config: BatchConfig, problem: Problem, caps: Capabilities) -> bool:
        """The register tile divides the matrix, and fits the register file."""
        registers = config.tile_m * config.vectors_n + config.vectors_n + 1
        return (
            config.lanes <= max(_LEAST_LANES, native_lanes(caps, problem.accumulator_itemsize))
            and registers <= register_count(caps)
            and problem.m % config.tile_m == 0
            and problem.n % (config.vectors_n * config.lanes) == 0
        )

    def predict(self, config: BatchConfig, problem: Problem, caps: Capabilities) -> float:
        """Cycles of the register tiles, two multiply-adds and two loads of vectors each, or what reading takes."""
        units = max(1, caps.compute_units)
        tiles = problem.m // config.tile_m * (problem.n // (config.vectors_n * config.lanes))
        work, loads = config.tile_m * config.vectors_n, config.tile_m + config.vectors_n
        # sums of few registers wait for the units, which finish four cycles later
        step = max(work / 2, loads / 2, 4.0) + 0.15 * loads
        cycles = tiles * (step * problem.k + 2 * work + _TILE_CYCLES) + _MATRIX_CYCLES
        moved = problem.nbytes / problem.batch / _BYTES_A_CYCLE
        shares = math.ceil(problem.batch / self._share(config, problem, caps) / units) * units
        waves = shares * self._share(config, problem, caps) / problem.batch
        return max(cycles, moved) * problem.batch * waves / (units * clock_mhz(caps) * 1e6) + _LAUNCH_SECONDS

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[BatchConfig, ...]:
        """The largest tiles for each width of vectors."""
        found = (
            BatchConfig(tile_m=m, vectors_n=v, lanes=lanes, groups=_GROUPS_OF_UNIT)
            for lanes in (16, 8, 4)
            for v in (4, 2, 1)
            for m in range(16, 0, -1)
        )
        return tuple(c for c in found if self.is_legal(c, problem, caps))

    def run(self, config: BatchConfig, product: Product) -> None:
        """One launch."""
        a, b, c = placed_operand(product.a), placed_operand(product.b), placed_operand(product.c)
        problem = product.problem
        found = conversion(name_of(product.a.dtype), name_of(product.c.dtype), config.lanes)
        number = index_type(a.array, b.array, c.array)
        share = self._share(config, problem, product.c.context.capabilities)
        plan = BatchPlan(
            m=problem.m,
            n=problem.n,
            k=problem.k,
            tile_m=config.tile_m,
            vectors_n=config.vectors_n,
            vector=found.vector,
            accumulator=number_type(found.vector),
            whole=found.whole,
            along=problem.a_order == "C",
        )
        multiply_matrices[-(-problem.batch // share), 1, product.stream](
            strided_matrix_of(a, number),
            matrix_of(b, number),
            matrix_of(c, number),
            number(problem.batch),
            number(share),
            product.factors(number_type(found.scaled)),
            plan,
            found.any_epilogue,
        )

    def _share(self, config: BatchConfig, problem: Problem, caps: Capabilities) -> int:
        """Matrices of a work-group."""
        return math.ceil(problem.batch / (max(1, caps.compute_units) * config.groups))
