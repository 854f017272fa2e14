"""The walk variant: products of bands on CPUs, a thread for each block of rows, see `walk_kernels`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.accumulation import number_type
from portagpu.blas.gemm.core.kernel_arguments import Complex
from portagpu.blas.gemm.core.operands import index_type, placed, real_dtype
from portagpu.blas.gemm.core.vector_registers import native_lanes
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.level2.bands.problem import BandProblem, ProductCall
from portagpu.blas.level2.bands.row_kernels import Range
from portagpu.blas.level2.bands.storage import ACROSS, ALONG, DIAGONALLY, NO_DIAGONAL, Window
from portagpu.blas.level2.bands.walk_kernels import SHORT, WalkPlan, walk_rows
from portagpu.blas.level2.products.call import given_vector, real_vector
from portagpu.blas.level2.products.form import Given
from portagpu.blas.tunables.variant import Config, Variant, clock_mhz
from portagpu.device.capabilities import Capabilities
from portagpu.tuning.tunables.space import Axis

_NARROW = 12  # terms of rows and columns with which vectors gain nothing
_BYTES_A_CYCLE = 8.0  # that a compute unit gets from memory
_COLUMN_CYCLES = 12.0  # for a column, whatever its length
_BLOCK_CYCLES = 600.0
_LAUNCH_SECONDS = 6e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkConfig(Config):
    """Parameters of the walk variant: rows of a block."""

    rows: int


class WalkVariant(Variant[BandProblem, ProductCall]):
    """See `portagpu.blas.level2.bands.walk_kernels`."""

    name = "walk"
    config_type = WalkConfig

    def supports(self, problem: BandProblem, caps: Capabilities) -> bool:
        """Where local memory is not on the chip, and lines of neighbours are long enough for vectors."""
        real = problem.dtype.startswith("float")  # of complex numbers x has to be packed
        long = problem.terms > _NARROW or (real and problem.order == DIAGONALLY)
        return not caps.local_memory_dedicated and problem.adjacent and long

    def axes(self, problem: BandProblem, caps: Capabilities) -> tuple[Axis, ...]:
        """Rows."""
        return (Axis("rows", (32, 64, 128, 256, 512, 1024)),)

    def is_legal(self, config: WalkConfig, problem: BandProblem, caps: Capabilities) -> bool:
        """Sums fit into what the device calls shared memory."""
        return 3 * config.rows * problem.itemsize <= caps.local_memory_static

    def predict(self, config: WalkConfig, problem: BandProblem, caps: Capabilities) -> float:
        """Bytes over bandwidth, and what blocks and their columns cost: of a block there are some beside its rows."""
        units = max(1, caps.compute_units)
        blocks = -(-problem.rows // config.rows)
        turns = -(-blocks // units)
        lines = (config.rows + problem.terms) if problem.order != DIAGONALLY else problem.terms
        cycles = config.rows * problem.terms * problem.itemsize / _BYTES_A_CYCLE + lines * _COLUMN_CYCLES
        return turns * (cycles + _BLOCK_CYCLES) / (clock_mhz(caps) * 1e6) + _LAUNCH_SECONDS

    def shortlist(self, problem: BandProblem, caps: Capabilities) -> tuple[WalkConfig, ...]:
        """Blocks of some hundred rows."""
        found = (WalkConfig(rows=rows) for rows in (256, 1024, 64))
        return tuple(config for config in found if self.is_legal(config, problem, caps))

    def run(self, config: WalkConfig, call: ProductCall) -> None:
        """One launch, and one before it where x has to be packed."""
        parts, dtype = call.parts, call.dtype
        nothing = call.alpha == 0
        along = [part for part in parts.parts if part.order == ALONG]
        given, *places = given_vector(
            call.x,
            call.stream,
            along=any(part.order != ACROSS for part in parts.parts),
            conjugate=any(part.conjugated for part in along),
        )
        memory = call.storage.for_kernels(int, turned=parts.turned, real=True).memory
        number = index_type(memory, call.x, call.y, given)
        numbers, real = (2, real_dtype(dtype)) if dtype.kind == "c" else (1, dtype)
        vector = vector_type(real.name, native_lanes(call.y.context.capabilities, real.itemsize))
        plan = WalkPlan(
            rows=config.rows,
            numbers=numbers,
            number=number_type(vector),
            vector=vector,
            short=vector_type(real.name, SHORT),
            parts=() if nothing else parts.parts,
            diagonal=NO_DIAGONAL if nothing else parts.diagonal,
        )
        y = real_vector(call.y)
        walk_rows[-(-call.rows // config.rows), 1, call.stream](
            call.storage.for_kernels(number, turned=parts.turned, real=True),
            Given(placed(given), *map(number, places)),
            y._replace(first=number(y.first), step=number(y.step)),
            Range(*map(number, call.bounds)),
            tuple(Window(number(low), number(high)) for low, high in parts.windows),
            number(call.x.size * numbers),
            _factor(call.alpha, real),
            _factor(call.beta, real),
            plan,
        )


def _factor(value: complex, real: np.dtype[Any]) -> Complex:
    return Complex(real.type(complex(value).real), real.type(complex(value).imag))
