"""The skinny-fragments variant: few rows or columns of 16-bit floats by CUDA's matrix units; one launch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from portagpu.blas.gemm.core.accumulation import OUTPUTS, conversion
from portagpu.blas.gemm.core.few_rows import few_rows, operands, read_only
from portagpu.blas.gemm.core.flat_operands import Operand
from portagpu.blas.gemm.core.interface import Config, Product, Variant
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.vector_types import name_of
from portagpu.blas.gemm.kernels.launch import split_of
from portagpu.blas.gemm.kernels.skinny_split_k import StripPlan
from portagpu.blas.gemm.variants.cost_model import REGISTER_FILE
from portagpu.blas.gemm.variants.skinny import launch as skinny_launch
from portagpu.blas.gemm.variants.skinny.launch import MOST_PARTS, launch_strips
from portagpu.blas.gemm.variants.skinny.mma_kernels import (
    COLUMNS,
    SLAB,
    SkinnyFragmentPlan,
    mma_bfloat16,
    mma_float16,
    multiply_skinny_fragments,
)
from portagpu.blas.gemm.variants.skinny.model import Block, seconds
from portagpu.cuda import jit
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.tuning.tunables.space import Axis

FEW = 32
"""Rows, or columns, at the most."""

_UNITS = {"float16": mma_float16, "bfloat16": mma_bfloat16}
_LEAST = 8  # columns of the large matrix: those of a load
_START = 0.3e-6  # seconds: nothing waits for what is in shared memory
_SLAB_CYCLES = 40  # of a compute unit for a warp's slab: instructions over four schedulers


@dataclass(frozen=True, slots=True, kw_only=True)
class SkinnyFragmentConfig(Config):
    """Parameters: warps of a block along columns and k's, slabs of k's under way, blocks that share a sum."""

    warps_n: int
    warps_k: int
    flight: int
    splits: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps_n * self.warps_k

    @property
    def width(self) -> int:
        """Columns of a block."""
        return COLUMNS * self.warps_n

    @property
    def turn(self) -> int:
        """The k's that a block takes at once."""
        return SLAB * self.warps_k * self.flight

    def local_memory(self, rows: int) -> int:
        """Bytes of shared memory: the sums of at most 16 rows of all warps."""
        return self.warps_k * min(rows, 16) * (self.width + 8) * 4 + 16

    def registers(self, rows: int) -> int:
        """32-bit registers of a thread: sums, slabs under way, addresses."""
        stacks = -(-rows // 16)
        return 14 + 50 * stacks + self.flight * (36 + 8 * stacks)


class SkinnyFragmentVariant(Variant):
    """See `portagpu.blas.gemm.variants.skinny.mma_kernels`."""

    name = "skinny_fragments"
    config_type = SkinnyFragmentConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Few rows or columns of 16-bit floats, where the instruction exists."""
        return (
            problem.dtype in _UNITS
            and not problem.precision
            and problem.out_dtype in OUTPUTS[problem.dtype]
            and "" not in (problem.a_order, problem.b_order, problem.c_order)
            and caps.ptx_target >= (8, 0)
            and min(problem.m, problem.n) <= FEW
            and max(problem.m, problem.n) >= _LEAST
        )

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Warps along either axis, slabs under way, parts of sums."""
        return (
            Axis("warps_n", (1, 2, 4, 8)),
            Axis("warps_k", (1, 2, 4, 8, 16)),
            Axis("flight", (1, 2, 3)),
            Axis("splits", (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 128)),
        )

    def is_legal(self, config: SkinnyFragmentConfig, problem: Problem, caps: Capabilities) -> bool:
        """Registers and shared memory suffice, and parts have terms enough."""
        view = few_rows(problem)
        registers = config.registers(view.rows)
        parts = math.ceil(view.n / config.width) * config.width * view.rows * problem.batch * config.splits
        return (
            64 <= config.threads <= min(512, caps.max_work_group_size)
            and registers <= 224
            and registers * config.threads <= REGISTER_FILE
            and config.local_memory(view.rows) <= caps.local_memory_static
            and (config.splits == 1 or (config.splits * config.turn <= view.k and parts <= MOST_PARTS))
        )

    def predict(self, config: SkinnyFragmentConfig, problem: Problem, caps: Capabilities) -> float:
        """Bytes over bandwidth, as far as loads enough are under way; see `variants.skinny.model`."""
        view = few_rows(problem)
        stacks = -(-view.rows // 16)
        # rows of the large matrix that begin anywhere are read element by element
        wide = problem.aligned or (view.k if view.along else view.n) % 8 == 0
        slab = _SLAB_CYCLES * (1 + stacks) / 2 * (1 if wide else 4)
        block = Block(
            rows=view.rows,
            width=config.width,
            threads=config.threads,
            registers=config.registers(view.rows),
            local_memory=config.local_memory(view.rows),
            flight=128 * config.flight,
            segment=64 * config.flight * config.warps_k if view.along else 128 * config.warps_n,
            cycles=config.warps_n * slab / SLAB,
            copies=False,
            changes=False,
            start=_START,
        )
        return seconds(problem, view, caps, config.splits, block)

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[SkinnyFragmentConfig, ...]:
        """Blocks of 128 and 256 threads, wide and deep."""
        known = (
            SkinnyFragmentConfig(warps_n=x, warps_k=y, flight=flight, splits=splits)
            for x, y in ((1, 8), (2, 4), (4, 2), (1, 4), (2, 2), (1, 2))
            for flight in (1, 2)
            for splits in (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64)
        )
        return tuple(c for c in known if self.is_legal(c, problem, caps))

    def run(self, config: SkinnyFragmentConfig, product: Product) -> None:
        """One launch."""
        launch(config, product, _UNITS[name_of(product.a.dtype)])


def launch(config: SkinnyFragmentConfig, product: Product, multiply: Dispatcher) -> None:
    """Enqueue a product whose fragments are multiplied by a device function."""
    problem = product.problem
    view = few_rows(problem)
    found = operands(product, view)
    types = conversion(problem.dtype, problem.out_dtype, 4)
    splits, chunk = split_of(config.splits, SLAB * config.warps_k, view.k)
    strip = StripPlan(
        rows=view.rows,
        width=config.width,
        threads=config.threads,
        lanes=1 if view.along else 8,
        stacked=False,
        split=splits > 1,
        arrive=splits > 1 and skinny_launch.arrives(product.c.context.capabilities),
        epilogue=types.epilogue(product.alpha, product.beta),
    )
    x_lies_along = found.few_steps[1] == 1
    vectors = _begins_wide(found.large, view.n) and (view.along or view.n % 8 == 0)
    x_vectors = x_lies_along and _begins_wide(found.few, view.rows)
    plan = SkinnyFragmentPlan(
        multiply=multiply,
        strip=strip,
        warps_n=config.warps_n,
        warps_k=config.warps_k,
        flight=config.flight,
        along=view.along,
        vectors=vectors,
        x_vectors=x_vectors,
    )
    launch_strips(
        _kernel(config.threads),
        product,
        view,
        found,
        _both(found.few),
        _both(found.large),
        types,
        strip=strip,
        splits=splits,
        chunk=chunk,
        constants=(plan,),
    )


def _begins_wide(operand: Operand, lines: int) -> bool:
    """Whether every line, or line of a batch, begins at a multiple of 16 bytes."""
    steps = (operand.memory.offset // 2, operand.batch, operand.pitch if lines > 1 else 0)
    return operand.memory.size >= 8 and all(step % 8 == 0 for step in steps)


def _both(operand: Operand) -> tuple[DeviceNDArray, DeviceNDArray]:
    """An operand's memory as numbers of 16 bits, and as numbers of 32, without an odd last element."""
    return read_only(operand.memory, np.dtype(np.uint16)), read_only(operand.memory, np.dtype(np.uint32))


@cache
def _kernel(threads: int) -> Dispatcher:
    """The kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    return jit(multiply_skinny_fragments.py_func, block_dim=(threads, 1, 1))
