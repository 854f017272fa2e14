"""The vector variant: products with at most sixteen rows or columns on CPUs, limited by memory (`kernels`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from portagpu.blas.gemm.core.accumulation import conversion, is_plain, number_type
from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.few_rows import FewRows, few_rows
from portagpu.blas.gemm.core.interface import Config, Product, Variant, clock_mhz, order_of
from portagpu.blas.gemm.core.kernel_arguments import BETA_UNLESS_ZERO, Epilogue, Factors, Split, StridedMatrix
from portagpu.blas.gemm.core.operands import Operand, index_type, matrix_of, placed, placed_operand
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.kernels.launch import MOST_TERMS, split_of
from portagpu.blas.gemm.kernels.part_sums import add_parts
from portagpu.blas.gemm.kernels.transpose import swapped_order
from portagpu.blas.gemm.variants.vector.kernels import VectorPlan, multiply_across, multiply_along
from portagpu.blas.gemm.variants.vector.row_kernels import multiply_lines
from portagpu.device.capabilities import Capabilities
from portagpu.tuning.tunables.space import Axis

FEW = 16
"""Rows, or columns, that a thread keeps sums for at the most."""

_SUM_BYTES = 2048  # of registers and the nearest cache for the sums of a thread, at most
_MOST_LINES = 8  # of a block whose sums may be in registers
_WIDE_SUM_BYTES = 32768  # of the nearest cache for the sums of a block with more lines
_UNROLL_K = 4
_WIDE_UNROLL_K = 8
_BYTES_A_CYCLE = 12.0  # that a compute unit gets from memory
_BUSY_BLOCKS = 2  # of a compute unit, with which it gets that
_FEW_SUMS = 8  # rows whose sums stay in registers
_VECTORS_A_CYCLE = 0.2  # multiplied and added beyond that, across lines; measured with AVX-512
_VECTORS_A_CYCLE_WIDE = 0.5
_VECTORS_A_CYCLE_ALONG = 0.4
_SUM_CYCLES = 12.0  # for the sum of a vector's lanes, along k
_REST_CYCLES = 4.0  # for each term that fills no vector; both measured with AVX-512 and few terms
_LONG_SEGMENT = 2048  # bytes of a line that processors read ahead
_SHARE_OF_SHORT = 0.2  # of the bandwidth, without that; measured with AVX-512, 1 x 4096 x 1024 in float32
_SHARE_OF_FEW_LINES = 0.85  # of the bandwidth, with fewer lines along k at a time than eight; measured with the same
_BLOCK_CYCLES = 400.0  # of a block, at the least; 1000 of 8 x 8 x 8, two drivers
_LAUNCH_SECONDS = 4e-6
_FURTHER_SECONDS = 12e-6  # of a second launch


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorConfig(Config):
    """Parameters of the vector variant: lines of a block, which is one thread, and parts of sums.

    More than eight lines, which only matrices that lie along n have, are those of `row_kernels`.
    """

    lines: int
    split_k: int


class VectorVariant(Variant):
    """See `portagpu.blas.gemm.variants.vector.kernels`."""

    name = "vector"
    config_type = VectorConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Few rows or columns, all real dtypes, where local memory is not on the chip: GPUs have the skinny variant."""
        return is_plain(problem) and not caps.local_memory_dedicated and min(problem.m, problem.n) <= FEW

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Lines and parts."""
        return (
            Axis("lines", (1, 2, 4, 8, 16, 32, 64, 128)),
            Axis("split_k", (1, 2, 4, 8, 16)),
        )

    def is_legal(self, config: VectorConfig, problem: Problem, caps: Capabilities) -> bool:
        """Sums fit into registers, and parts have terms enough."""
        view = few_rows(problem)
        lanes = _lanes(problem, caps, view.rows)
        sums = view.rows * config.lines * lanes * problem.accumulator_itemsize
        step = lanes if view.along else _WIDE_UNROLL_K if config.lines > _MOST_LINES else _UNROLL_K  # terms at once
        if config.lines > _MOST_LINES:
            fits = not view.along and sums <= _WIDE_SUM_BYTES
        else:
            fits = config.lines == 1 or sums <= _SUM_BYTES
        return fits and (config.split_k == 1 or problem.k >= 2 * config.split_k * step)

    def predict(self, config: VectorConfig, problem: Problem, caps: Capabilities) -> float:
        """Bytes over bandwidth, as far as there are blocks enough for it, and a second launch for parts."""
        view = few_rows(problem)
        units, lanes = max(1, caps.compute_units), _lanes(problem, caps, view.rows)
        width = config.lines * (1 if view.along else lanes)
        split = _parts(config, view, lanes)
        blocks = math.ceil(view.n / width) * split * problem.batch
        used = math.ceil(view.n / width) * width / view.n
        # loads of a row of the few by several lines at once keep the caches free
        share = _share(width, problem, view) * (1.0 if config.lines > 1 or view.rows == 1 else 0.9)
        if view.along and config.lines < _MOST_LINES:
            share *= _SHARE_OF_FEW_LINES
        wide = config.lines > _MOST_LINES
        busy = min(1.0, blocks / (units * (1 if wide else _BUSY_BLOCKS))) * min(1.0, blocks / units)
        rounds = math.ceil(blocks / units) * units / blocks if blocks < 4 * units else 1.0
        bandwidth = units * _BYTES_A_CYCLE * clock_mhz(caps) * 1e6
        terms = view.k / split / (lanes if view.along else 1)
        latency = terms * 100.0 / _UNROLL_K / (clock_mhz(caps) * 1e6)
        parts = 0.0
        if split > 1:
            parts = _FURTHER_SECONDS + 2 * split * problem.batch * view.rows * view.n * 8 / bandwidth
        work = _arithmetic_seconds(problem, view, wide, units * lanes * clock_mhz(caps) * 1e6)
        if view.along and view.swapped:  # others have to transpose what is not
            sums = view.rows * view.n * problem.batch * split
            cycles = _SUM_CYCLES + _REST_CYCLES * (view.k % lanes) / split
            work += sums * cycles / (min(units, blocks) * clock_mhz(caps) * 1e6)
        started = blocks * _BLOCK_CYCLES / (units * clock_mhz(caps) * 1e6)
        read = problem.nbytes * used * rounds / (bandwidth * busy * share)
        return max(read, latency, work, started) + parts + _LAUNCH_SECONDS

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[VectorConfig, ...]:
        """Blocks of one thread."""
        widths = (64, 128, 32, 16, 8, 4, 2, 1)
        found = (VectorConfig(lines=lines, split_k=split) for lines in widths for split in (1, 2, 4, 8, 16, 32, 64))
        legal = tuple(c for c in found if self.is_legal(c, problem, caps))
        return legal or tuple(c for c in self.candidates(problem, caps) if isinstance(c, VectorConfig))

    def run(self, config: VectorConfig, product: Product) -> None:
        """One launch, and one that adds the parts of split sums."""
        problem, context = product.problem, product.c.context
        view, batch = few_rows(problem), product.batch
        m, n = problem.m, problem.n
        few, c = _few(product, view), placed_operand(product.c)
        large = placed_operand(product.a if view.swapped else product.b)
        # as rows: of the transpose, where the large matrix is a
        few_transposed = not few.transposed if view.swapped else few.transposed
        lanes = _lanes(problem, context.capabilities, view.rows)
        found = conversion(problem.dtype, problem.out_dtype, lanes)
        split, chunk = split_of(_parts(config, view, lanes), lanes, view.k)
        target, epilogue = c, found.any_epilogue
        factors = product.factors(number_type(found.scaled), turned=view.swapped)
        if split > 1:
            parts = workspaces.of(product.stream, "parts", (batch, split, m, n), np.dtype(number_type(found.vector)))
            kind = number_type(found.vector)
            target = Operand(placed(parts), n, m * n, False)
            epilogue, factors = Epilogue(BETA_UNLESS_ZERO, found.vector, found.vector), Factors(kind(1), kind(0))
        c_row, c_column = (1, target.pitch) if view.swapped else (target.pitch, 1)
        x_row, x_step = (1, few.pitch) if few_transposed else (few.pitch, 1)
        width = config.lines * (1 if view.along else lanes)
        number = index_type(few.array, large.array, target.array)
        wide = config.lines > _MOST_LINES
        plan = VectorPlan(
            rows=view.rows,
            lines=config.lines,
            vector=found.vector,
            accumulator=number_type(found.vector),
            whole=found.whole,
            aligned=large.is_aligned(lanes),
            x_vectors=view.along and x_step == 1,
            terms=0 if view.along else _WIDE_UNROLL_K if wide else _UNROLL_K,
        )
        kernel = multiply_along if view.along else multiply_lines if wide else multiply_across
        kernel[-(-view.n // width) * split * batch, 1, product.stream](
            StridedMatrix(few.array, number(x_row), number(x_step), number(few.batch)),
            matrix_of(large, number),
            StridedMatrix(target.array, number(c_row), number(c_column), number(target.batch)),
            number(view.n),
            number(view.k),
            Split(number(split), number(chunk)),
            factors,
            plan,
            epilogue,
        )
        if split > 1:
            add_parts(parts, c, (batch, m, n), found, product)


def _share(width: int, problem: Problem, view: FewRows) -> float:
    """Of the bandwidth, that a block gets which reads ``width`` columns: short segments of lines are not read ahead."""
    if view.along or width >= view.n:
        return 1.0
    return min(1.0, max(_SHARE_OF_SHORT, width * problem.itemsize / _LONG_SEGMENT))


def _arithmetic_seconds(problem: Problem, view: FewRows, wide: bool, lanes_a_second: float) -> float:
    """What multiplying takes where that may be more than reading: with more rows than have their sums in registers.

    Other variants, which keep tiles in registers, are then twice as fast; but not where the large matrix is b and lies
    along k, which they would have to transpose, nor where it has to be converted.
    """
    converted = problem.itemsize < problem.accumulator_itemsize
    if (view.rows <= _FEW_SUMS and not wide) or (view.along and (not view.swapped or converted)):
        return 0.0
    terms = view.rows * view.n * view.k * problem.batch
    rate = _VECTORS_A_CYCLE_ALONG if view.along else _VECTORS_A_CYCLE_WIDE if wide else _VECTORS_A_CYCLE
    return terms / (lanes_a_second * rate)


def _few(product: Product, view: FewRows) -> Operand:
    """The few rows. Where vectors go along k they have to lie along it, too: gathering them takes ten times as long."""
    matrix = product.b if view.swapped else product.a
    columns = matrix if view.swapped else swapped(matrix)  # (k, rows)
    if not view.along or min(columns.shape[-2:]) == 1 or order_of(columns) != "C":
        return placed_operand(matrix)
    made = swapped_order(columns, "few rows", product.stream)
    return placed_operand(made if view.swapped else swapped(made))


def _parts(config: VectorConfig, view: FewRows, lanes: int) -> int:
    """Parts of the sums: more than the configuration says where a thread's sum would have too many terms."""
    return max(config.split_k, math.ceil(view.k / (MOST_TERMS * (lanes if view.along else 1))))


def _lanes(problem: Problem, caps: Capabilities, rows: int) -> int:
    """Lanes of a vector: those of a vector register, fewer where sums need the registers."""
    lanes = min(16, max(2, caps.vector_width_float * 4 // problem.accumulator_itemsize))
    while lanes > 2 and rows * lanes * problem.accumulator_itemsize > _SUM_BYTES:
        lanes //= 2
    return lanes
