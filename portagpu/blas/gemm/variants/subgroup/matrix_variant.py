"""The subgroup-matrix variant: float16 and bfloat16 on matrix units of subgroups (`matrix_kernels`)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cache

import numpy as np

from portagpu.blas.gemm.core.interface import Config, Product, Variant
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.variants.subgroup.matrix_kernels import (
    DEPTH,
    ROWS,
    SubgroupMatrixPlan,
    instruction,
    multiply_subgroup_matrices,
)
from portagpu.cuda import jit
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.tuning.tunables.space import Axis

_OTHER_REGISTERS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupMatrixConfig(Config):
    """Parameters: instructions of a subgroup along m and n, its size, and the subgroups of a block."""

    parts_m: int
    parts_n: int
    size: int
    groups_m: int
    groups_n: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.size * self.groups_m * self.groups_n

    @property
    def tile_m(self) -> int:
        """Rows of a block's tile of C."""
        return ROWS * self.parts_m * self.groups_m

    @property
    def tile_n(self) -> int:
        """Columns of a block's tile of C."""
        return self.size * self.parts_n * self.groups_n


class SubgroupMatrixVariant(Variant):
    """See `portagpu.blas.gemm.variants.subgroup.matrix_kernels`."""

    name = "subgroup_matrix"
    config_type = SubgroupMatrixConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """float16 and bfloat16, results in them or in float32, where subgroups have matrix units."""
        return (
            problem.dtype in ("float16", "bfloat16")
            and problem.out_dtype in (problem.dtype, "float32")
            and not problem.precision
            and problem.batch == 1
            and all((problem.a_order, problem.b_order, problem.c_order))
            and "subgroup" in caps.matrix_units
            and caps.subgroup_block_io
            and min(caps.subgroup_sizes, default=0) in (8, 16)
        )

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Instructions of a subgroup, and subgroups of a block."""
        return (
            Axis("parts_m", (1, 2, 4)),
            Axis("parts_n", (1, 2, 4)),
            Axis("size", (min(caps.subgroup_sizes),)),
            Axis("groups_m", (1, 2, 4, 8)),
            Axis("groups_n", (1, 2, 4, 8)),
        )

    def is_legal(self, config: SubgroupMatrixConfig, problem: Problem, caps: Capabilities) -> bool:
        """The size is that of the matrix units, and registers suffice."""
        sums = ROWS * config.parts_m * config.parts_n
        operands = config.parts_m * ROWS * 8 // config.size + config.parts_n * 8
        return (
            config.size == min(caps.subgroup_sizes, default=0)
            and config.threads <= min(caps.max_work_group_size, caps.max_work_item_sizes[0])
            and sums + operands + _OTHER_REGISTERS <= caps.thread_registers
        )

    def predict(self, config: SubgroupMatrixConfig, problem: Problem, caps: Capabilities) -> float:
        """Padded multiply-adds over the share of time that matrix units are busy, times waves of blocks.

        Seconds at 64 multiply-adds a cycle and vector unit.
        """
        units = max(1, caps.compute_units)
        rows, columns = math.ceil(problem.m / config.tile_m), math.ceil(problem.n / config.tile_n)
        subgroups = rows * columns * config.groups_m * config.groups_n
        reuse = config.parts_m * config.parts_n / (config.parts_m + config.parts_n)
        block = config.tile_m * config.tile_n / (config.tile_m + config.tile_n)
        busy = reuse / (reuse + 1) * block / (block + 16)
        padded = rows * config.tile_m * columns * config.tile_n * problem.k
        return padded / busy * max(1.0, 4 * units / subgroups) / (units * 64 * max(1, caps.clock_mhz) * 1e6)

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[SubgroupMatrixConfig, ...]:
        """From 32 rows by two vectors of columns a subgroup down."""
        size = min(caps.subgroup_sizes)
        shapes = ((4, 2, 4, 4), (2, 2, 4, 4), (2, 2, 2, 2), (2, 1, 2, 2), (1, 1, 2, 2))
        found = (
            SubgroupMatrixConfig(parts_m=pm, parts_n=pn, size=size, groups_m=gm, groups_n=gn)
            for pm, pn, gm, gn in shapes
        )
        return tuple(c for c in found if self.is_legal(c, problem, caps))

    def run(self, config: SubgroupMatrixConfig, product: Product) -> None:
        """One launch: a block for each tile of C."""
        a, b, c = product.a, product.b, product.c
        (m, k), n = a.shape, b.shape[1]
        problem = product.problem
        a_transposed, b_transposed = problem.a_order == "F", problem.b_order == "F"
        bits_a, bits_b = ((x.T if t else x).view(np.int16) for x, t in ((a, a_transposed), (b, b_transposed)))
        whole = m % config.tile_m == n % config.tile_n == k % DEPTH == 0
        grid = (-(-n // config.tile_n), -(-m // config.tile_m))
        matrix_kernel(config.size, config.threads)[grid, config.threads, product.stream](
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


def plan_of(
    config: SubgroupMatrixConfig, dtype: str, a_transposed: bool, b_transposed: bool, *, exact: bool, scaled: bool
) -> SubgroupMatrixPlan:
    """What the compiler shall know of a launch."""
    return SubgroupMatrixPlan(
        **asdict(config),
        multiply=_instruction(dtype),
        a_transposed=a_transposed,
        b_transposed=b_transposed,
        exact=exact,
        scaled=scaled,
    )


_instruction = cache(instruction)


@cache
def matrix_kernel(size: int, threads: int) -> Dispatcher:
    """The kernel for subgroups of a size and blocks of so many threads."""
    return jit(multiply_subgroup_matrices.py_func, block_dim=(threads, 1, 1), subgroup_size=size)
