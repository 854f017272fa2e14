"""The roofs of matrix units as cases: bare instructions where there is a probe of them, and the shipped product."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from portagpu.bench.product_check import checker
from portagpu.bench.products import own_call
from portagpu.bench.records.cell import Memory, Role
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.roofs import lane_products, subgroups, warps, waves
from portagpu.bench.roofs.bare import Bare, error
from portagpu.bench.roofs.probe import contender
from portagpu.bench.running.case import Case, Contender, Options
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.tuning.trial import operand
from portagpu.device import Capabilities
from portagpu.runtime.execution.context import Context

SUFFIX = " matrix unit"
TURNS = 1024
_SMALL_TURNS = 16
_BLOCKS = {"warp": 16, "warp group": 4, "wave": 4, "subgroup": 8}  # for each compute unit
_LANES = {"wave": waves.instructions, "subgroup": subgroups.instructions}
_PRODUCT, _SMALL_PRODUCT = 8192, 256


def instructions(arithmetic: str, caps: Capabilities) -> list[str]:
    """The bare instructions that are probed on a device: "warp", "warp group", "wave", "subgroup"."""
    on_lanes = [team for team, known in _LANES.items() if any(True for _ in known(arithmetic, caps))]
    return warps.instructions(arithmetic, caps) + on_lanes


def has_units(caps: Capabilities) -> bool:
    """Whether the device has matrix units of any kind, so that the shipped product is a probe of them."""
    return bool(caps.matrix_units) or caps.ptx_target >= (8, 0)


def workload(arithmetic: str, size: str, flops: float = 1.0) -> Workload:
    """Multiply-adds of a matrix unit."""
    return Workload(
        suite="roofs", name="flops", arithmetic=arithmetic + SUFFIX, size=size, unit=Unit.GFLOPS, flops=flops
    )


# bare instructions ----------------------------------------------------------------------------------------------------


def case(arithmetic: str, instruction: str, options: Options, context: Context) -> Case:
    """A bare instruction."""
    caps = context.device.capabilities
    assert caps is not None
    probe = bare(arithmetic, instruction, caps, options)
    return Case(
        workload=workload(arithmetic, instruction, 2.0 * probe.multiplied),
        memory=Memory.DEVICE,
        contenders=(contender(context, probe.candidates),),
        check=lambda found: error(*found),
    )


def bare(arithmetic: str, instruction: str, caps: Capabilities, options: Options) -> Bare:
    """The probe of an instruction."""
    turns = _SMALL_TURNS if options.small else TURNS
    blocks = caps.compute_units * (1 if options.small else _BLOCKS[instruction])
    generator = np.random.default_rng([options.seed, 29])
    if instruction == "warp":
        return warps.of_warps(arithmetic, caps, blocks, turns, generator)
    if instruction == "warp group":
        return warps.of_warp_groups(arithmetic, blocks, turns, generator)
    forms = lane_products.forms(_LANES[instruction](arithmetic, caps), caps)
    return lane_products.of_lanes(forms, arithmetic, blocks, turns, generator)


# the shipped product --------------------------------------------------------------------------------------------------


def problem_of(arithmetic: str, *, small: bool = False) -> Problem:
    """A large square product in such an arithmetic."""
    n = _SMALL_PRODUCT if small else _PRODUCT
    if arithmetic == "tf32":
        return Problem(dtype="float32", precision="tf32", m=n, n=n, k=n)
    return Problem(dtype=arithmetic, m=n, n=n, k=n)


def product_workload(arithmetic: str, *, small: bool = False) -> Workload:
    """The shipped product, as a lower bound of the roof."""
    problem = problem_of(arithmetic, small=small)
    return workload(arithmetic, f"product of {problem.n}", float(problem.flops))


def product_case(arithmetic: str, options: Options, context: Context) -> Iterator[Case]:
    """`portagpu.matmul`: where no bare instruction is probed, what the device is known to reach."""
    problem = problem_of(arithmetic, small=options.small)
    generator = np.random.default_rng([options.seed, 31])
    a = operand(generator, problem, problem.m, problem.k, "C")
    b = operand(generator, problem, problem.k, problem.n, "C")
    ours = Contender(
        implementation="PortaGPU's product",
        role=Role.ROOF,
        prepare=lambda: own_call(context, problem, a, b, Memory.DEVICE),
        tuning=lambda: "the shipped product",
    )
    yield Case(
        workload=product_workload(arithmetic, small=options.small),
        memory=Memory.DEVICE,
        contenders=(ours,),
        check=checker(problem, a, b),
    )


__all__ = ["SUFFIX", "TURNS", "bare", "case", "has_units", "instructions", "problem_of", "product_case"]
__all__ += ["product_workload", "workload"]
