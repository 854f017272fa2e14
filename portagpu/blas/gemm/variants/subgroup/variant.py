"""The subgroup variant: float32 and float64 by loads of blocks and broadcasts (`kernels`)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from portagpu.blas.gemm.core.interface import Config, Product, Variant
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.variants.subgroup.kernels import SubgroupPlan, multiply_subgroups
from portagpu.cuda import jit
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.tuning.tunables.space import Axis

_OTHER_REGISTERS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupConfig(Config):
    """Parameters of the subgroup variant: rows and vectors of columns of a subgroup, subgroups of a block."""

    rows: int
    vectors: int
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
        return self.rows * self.groups_m

    @property
    def tile_n(self) -> int:
        """Columns of a block's tile of C."""
        return self.size * self.vectors * self.groups_n


class SubgroupVariant(Variant):
    """See `portagpu.blas.gemm.variants.subgroup.kernels`."""

    name = "subgroup"
    config_type = SubgroupConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Real products in one dtype where subgroups have sizes and load blocks."""
        return (
            problem.dtype in ("float32", "float64")
            and not (problem.out or problem.precision)
            and problem.batch == 1
            and all((problem.a_order, problem.b_order, problem.c_order))
            and caps.subgroup_block_io
            and bool(caps.subgroup_sizes)
            and caps.local_memory_dedicated
        )

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Rows and columns of a subgroup, its size, and the subgroups of a block."""
        return (
            Axis("rows", (4, 8, 12, 16)),
            Axis("vectors", (1, 2, 4)),
            Axis("size", caps.subgroup_sizes),
            Axis("groups_m", (1, 2, 4, 8)),
            Axis("groups_n", (1, 2, 4, 8)),
        )

    def is_legal(self, config: SubgroupConfig, problem: Problem, caps: Capabilities) -> bool:
        """Registers suffice: wider subgroups leave fewer to a thread."""
        smallest = min(caps.subgroup_sizes, default=0)
        numbers = config.rows * config.vectors + config.rows + config.vectors
        held = numbers * problem.itemsize // 4 + _OTHER_REGISTERS
        return (
            config.size in caps.subgroup_sizes
            and config.threads <= min(caps.max_work_group_size, caps.max_work_item_sizes[0])
            and held <= caps.thread_registers * smallest // config.size
        )

    def predict(self, config: SubgroupConfig, problem: Problem, caps: Capabilities) -> float:
        """Padded multiply-adds over the share of time that the arithmetic units are busy, times waves of blocks.

        Seconds at 8 multiply-adds of 32 bits a cycle and vector unit.
        """
        m, n, k = problem.m, problem.n, problem.k
        units = max(1, caps.compute_units)
        rows, columns = math.ceil(m / config.tile_m), math.ceil(n / config.tile_n)
        subgroups = rows * columns * config.groups_m * config.groups_n
        waves = max(1.0, 4 * units / subgroups)
        loads = config.vectors + config.rows / config.size
        busy = config.rows * config.vectors / (config.rows * config.vectors + 4 * loads)
        padded = rows * config.tile_m * columns * config.tile_n * k
        rate = units * 32 / problem.itemsize * max(1, caps.clock_mhz) * 1e6
        return padded / busy * waves / rate

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[SubgroupConfig, ...]:
        """The smallest subgroups, which have the most registers, with tiles of several heights."""
        size = min(caps.subgroup_sizes)
        shapes = ((16, 4, 2, 2), (16, 2, 4, 2), (8, 4, 4, 2), (8, 2, 4, 2), (8, 1, 4, 2), (4, 1, 4, 2))
        found = (SubgroupConfig(rows=r, vectors=v, size=size, groups_m=gm, groups_n=gn) for r, v, gm, gn in shapes)
        return tuple(c for c in found if self.is_legal(c, problem, caps))

    def run(self, config: SubgroupConfig, product: Product) -> None:
        """One launch: a block for each tile of C."""
        a, b, c = product.a, product.b, product.c
        (m, k), n = a.shape, b.shape[1]
        problem = product.problem
        a_transposed, b_transposed = problem.a_order == "F", problem.b_order == "F"
        whole = m % config.tile_m == n % config.tile_n == k % config.size == 0
        number = c.dtype.type
        grid = (-(-n // config.tile_n), -(-m // config.tile_m))
        subgroup_kernel(config.size, config.threads)[grid, config.threads, product.stream](
            a.T if a_transposed else a,
            b.T if b_transposed else b,
            c,
            product.factors(number),
            plan_of(config, number, a_transposed, b_transposed, exact=whole and problem.aligned, scaled=problem.scaled),
        )


def plan_of(
    config: SubgroupConfig, number: Any, a_transposed: bool, b_transposed: bool, *, exact: bool, scaled: bool
) -> SubgroupPlan:
    """What the compiler shall know of a launch; ``number``: the scalar type of the dtype."""
    return SubgroupPlan(
        **asdict(config),
        zero=number(0),
        a_transposed=a_transposed,
        b_transposed=b_transposed,
        exact=exact,
        scaled=scaled,
    )


@cache
def subgroup_kernel(size: int, threads: int) -> Dispatcher:
    """The kernel for subgroups of a size and blocks of so many threads."""
    return jit(multiply_subgroups.py_func, block_dim=(threads, 1, 1), subgroup_size=size)
