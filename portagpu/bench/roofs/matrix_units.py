"""The roofs of matrix units as cases: bare instructions where there is a probe of them, and the shipped product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.bench.product_check import checker
from portagpu.bench.products import own_call
from portagpu.bench.records.cell import Memory, Role
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.roofs import fragments
from portagpu.bench.roofs.fragments import COLUMNS, ROWS, SIDE, TEAMS, WORDS, Fragment
from portagpu.bench.roofs.probe import Candidate, contender
from portagpu.bench.running.case import Case, Contender, Options
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.tuning.trial import operand
from portagpu.device import Capabilities
from portagpu.runtime.execution.context import Context

Array = np.ndarray[Any, Any]
SUFFIX = " matrix unit"
KINDS = {"float16": "float16", "bfloat16": "bfloat16", "tf32": "tfloat32", "int8": "int8", "float64": "float64"}
"""Arithmetics of matrix units, by the names that instructions have for their elements."""
TURNS = 1024
_SMALL_TURNS = 16
_BLOCKS = {"warp": 16, "warp group": 4}  # for each compute unit
_WARPS = 8
_PRODUCT, _SMALL_PRODUCT = 8192, 256
_FRAGMENTS = {
    "float16": Fragment("m16n8k16", "float16", 16, 16, 4, 2, 4),
    "bfloat16": Fragment("m16n8k16", "bfloat16", 16, 16, 4, 2, 4),
    "tf32": Fragment("m16n8k8", "tfloat32", 16, 8, 4, 2, 4),
    "int8": Fragment("m16n8k32", "int8", 16, 32, 4, 2, 4),
}
_DOUBLE = Fragment("m8n8k4", "float64", 8, 4, 1, 1, 2)
_TALL_DOUBLE = Fragment("m16n8k16", "float64", 16, 16, 8, 4, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Elements:
    """How an arithmetic's elements are stored: the dtype of registers, how many of them hold, the sums' dtype."""

    register: str
    each: int
    sums: str


_ELEMENTS = {
    "float16": Elements(register="uint32", each=2, sums="float32"),
    "bfloat16": Elements(register="uint32", each=2, sums="float32"),
    "tf32": Elements(register="uint32", each=1, sums="float32"),
    "int8": Elements(register="uint32", each=4, sums="int32"),
    "float64": Elements(register="float64", each=1, sums="float64"),
}


def instructions(arithmetic: str, caps: Capabilities) -> list[str]:
    """The bare instructions that are probed on a device: "warp", "warp group"."""
    found = []
    if caps.ptx_target >= (8, 0):
        found.append("warp")
    if caps.ptx_target[0] == 9 and caps.architecture_ptx and arithmetic != "float64":
        found.append("warp group")
    return found


def has_units(caps: Capabilities) -> bool:
    """Whether the device has matrix units of any kind, so that the shipped product is a probe of them."""
    return bool(caps.matrix_units) or caps.ptx_target >= (8, 0)


def workload(arithmetic: str, size: str, flops: float = 1.0) -> Workload:
    """Multiply-adds of a matrix unit."""
    return Workload(
        suite="roofs", name="flops", arithmetic=arithmetic + SUFFIX, size=size, unit=Unit.GFLOPS, flops=flops
    )


# bare instructions ----------------------------------------------------------------------------------------------------


def random_elements(arithmetic: str, shape: tuple[int, ...], generator: np.random.Generator) -> tuple[Array, Array]:
    """Random elements: their values, and their bits as whole numbers (float64 ones as they are)."""
    if arithmetic == "int8":
        whole = generator.integers(-128, 128, shape).astype(np.int8)
        return whole.astype(np.int64), whole.view(np.uint8)
    numbers = generator.uniform(-1, 1, shape)
    if arithmetic == "float64":
        return numbers, numbers
    if arithmetic == "float16":
        half = numbers.astype(np.float16)
        return half.astype(np.float64), half.view(np.uint16)
    kept = {"bfloat16": np.uint32(0xFFFF0000), "tf32": np.uint32(0xFFFFE000)}[arithmetic]
    bits = numbers.astype(np.float32).view(np.uint32) & kept
    return bits.view(np.float32).astype(np.float64), (bits >> 16).astype(
        np.uint16
    ) if arithmetic == "bfloat16" else bits


def error(found: Array, once: Array, turns: int) -> float:
    """How far sums are off the product that every turn adds; relative to half of what one turn adds.

    Matrix units cut off what a sum cannot hold, always towards zero: after all turns that was 0.3 of a turn at most (an
    H100, float16). A turn that is missing is a whole one.
    """
    table = found.reshape(-1, once.size)
    wanted = once.ravel() * turns
    if found.dtype.kind == "i":
        return 0.0 if np.array_equal(table, np.broadcast_to(wanted, table.shape)) else np.inf
    return float(np.max(np.abs(table - wanted))) / (0.5 * float(np.max(np.abs(once))))


def case(arithmetic: str, instruction: str, options: Options, context: Context) -> Case:
    """A bare instruction."""
    caps = context.device.capabilities
    assert caps is not None
    turns = _SMALL_TURNS if options.small else TURNS
    blocks = caps.compute_units * (1 if options.small else _BLOCKS[instruction])
    generator = np.random.default_rng([options.seed, 29])
    if instruction == "warp":
        run, out, once, multiplied = _warps(arithmetic, caps, blocks, turns, generator)
    else:
        run, out, once, multiplied = _warp_groups(arithmetic, blocks, turns, generator)
    candidate = Candidate(text=f"bare instructions of a {instruction}", run=run, fetch=out.copy_to_host)
    return Case(
        workload=workload(arithmetic, instruction, 2.0 * multiplied * blocks * turns),
        memory=Memory.DEVICE,
        contenders=(contender(context, lambda: [candidate]),),
        check=lambda found: error(found, once, turns),
    )


_Made = tuple[Callable[[], Any], Any, Array, int]


def _warps(arithmetic: str, caps: Capabilities, blocks: int, turns: int, generator: np.random.Generator) -> _Made:
    """A launch of warps, its sums, one thread's share of them after one turn, multiply-adds of a block in a turn."""
    form = fragment_of(arithmetic, caps)
    elements = _ELEMENTS[arithmetic]
    a, a_held = zip(*(random_elements(arithmetic, (form.m, form.k), generator) for _ in range(SIDE)), strict=True)
    b, b_held = zip(*(random_elements(arithmetic, (form.k, 8), generator) for _ in range(SIDE)), strict=True)
    words_a = _packed([fragments.held_of_a(one, elements.each) for one in a_held], elements)
    words_b = _packed([fragments.held_of_b(one, elements.each) for one in b_held], elements)
    once = np.stack([[fragments.held_of_c(x @ y) for y in b] for x in a])  # (SIDE, SIDE, 32, sums)
    once = np.moveaxis(once, 2, 0)  # a thread's sums lie together
    out = cuda.device_array(blocks * _WARPS * once.size, elements.sums)
    launch = fragments.multiply_fragments[blocks, 32 * _WARPS]
    run = partial(launch, out, cuda.to_device(words_a), cuda.to_device(words_b), np.int32(turns), form)
    return run, out, once, _WARPS * SIDE * SIDE * form.m * 8 * form.k


def fragment_of(arithmetic: str, caps: Capabilities) -> Fragment:
    """The largest instruction of a warp."""
    if arithmetic == "float64":
        return _TALL_DOUBLE if caps.ptx_target >= (9, 0) else _DOUBLE
    return _FRAGMENTS[arithmetic]


def _packed(held: list[Array], elements: Elements) -> Array:
    """Registers of all fragments in the order in which the kernel reads them."""
    found = np.ascontiguousarray(np.stack(held))
    return found.view(elements.register).ravel()


def _warp_groups(arithmetic: str, blocks: int, turns: int, generator: np.random.Generator) -> _Made:
    """The same of warp groups, whose operands are tiles."""
    elements = _ELEMENTS[arithmetic]
    depth = WORDS * elements.each
    a, a_held = random_elements(arithmetic, (ROWS, depth), generator)
    b, b_held = random_elements(arithmetic, (COLUMNS, depth), generator)
    words_a, words_b = (np.ascontiguousarray(one).view(np.uint32) for one in (a_held, b_held))
    once = fragments.held_of_tile(a @ b.T)
    out = cuda.device_array(blocks * TEAMS * once.size, elements.sums)
    launch = fragments.multiply_tiles[blocks, 128 * TEAMS]
    run = partial(launch, out, cuda.to_device(words_a), cuda.to_device(words_b), np.int32(turns), KINDS[arithmetic])
    return run, out, once, TEAMS * ROWS * COLUMNS * depth


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


__all__ = ["KINDS", "case", "error", "fragment_of", "has_units", "instructions", "problem_of", "product_case"]
__all__ += ["product_workload", "random_elements", "workload"]
