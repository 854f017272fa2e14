"""Matrix units whose operands are vectors of a team's lanes (a wave's, a subgroup's): nothing but their instruction.

Each team multiplies the same fragments again and again, into several sums in registers, so that every sum is the number
of turns times one small product, which NumPy knows. Elements are random, for what a matrix unit is given decides what
power it takes. Forms differ in the instruction and in how many sums a team has; all of them do the same work.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.bench.roofs.bare import Bare, random_elements
from portagpu.bench.roofs.probe import Candidate
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.device import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher

Array = np.ndarray[Any, Any]

TEAMS = 8
"""Waves or subgroups of a block: so many waves that a compiler keeps sums where the units read them.

Of four it gives a lane twice the registers, and copied sums of float64 from one half to the other at every turn
(LLVM 19).
"""
_SIDES = ((4, 4), (4, 2), (2, 2))  # fragments of A and of B in a team
_OTHER_REGISTERS = 24  # places, the loop's counter


class Held(NamedTuple):
    """What a lane holds of an operand: so many numbers of a dtype, the elements by their bits."""

    dtype: str
    numbers: int

    @property
    def words(self) -> int:
        """Registers of 32 bits."""
        return max(1, np.dtype(self.dtype).itemsize * self.numbers // 4)

    @property
    def type(self) -> Any:
        """The dialect's type: a vector, or the number itself."""
        return np.dtype(self.dtype).type if self.numbers == 1 else vector_type(self.dtype, self.numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """``m`` x ``n`` sums, ``k`` deep, on the lanes of a team.

    ``a``, ``b`` and ``sums`` are what each lane holds; ``of_a``, ``of_b`` and ``of_sums`` tell which elements of the
    matrices these are, by lane and place. ``multiply(a, b, acc)`` is the device function.
    """

    name: str
    m: int
    n: int
    k: int
    lanes: int
    subgroup_size: int | None = None
    a: Held
    b: Held
    sums: Held
    of_a: Callable[[Array], Array]
    of_b: Callable[[Array], Array]
    of_sums: Callable[[Array], Array]
    multiply: Any


class Plan(NamedTuple):
    """What the compiler shall know: ``rows`` x ``columns`` sums of a team, its lanes, what they hold."""

    rows: int
    columns: int
    lanes: int
    a: Held
    b: Held
    sums: Held
    multiply: Any


@dataclass(frozen=True, slots=True)
class Form:
    """An instruction, and the fragments of A and of B that a team has."""

    instruction: Instruction
    rows: int
    columns: int

    @property
    def plan(self) -> Plan:
        """What the compiler shall know."""
        one = self.instruction
        return Plan(self.rows, self.columns, one.lanes, one.a, one.b, one.sums, one.multiply)

    @property
    def multiplied(self) -> int:
        """Multiply-adds of a team in a turn; a power of two."""
        one = self.instruction
        return self.rows * self.columns * one.m * one.n * one.k

    @property
    def registers(self) -> int:
        """32-bit registers of a lane."""
        one = self.instruction
        operands = self.rows * one.a.words + self.columns * one.b.words
        return self.rows * self.columns * one.sums.words + operands + _OTHER_REGISTERS

    @property
    def text(self) -> str:
        """What it is, for people."""
        return f"{self.instruction.name}, {self.rows} x {self.columns} sums"


def forms(instructions: Iterator[Instruction], caps: Capabilities) -> list[Form]:
    """Of each instruction those two with most sums that fit in registers."""
    made = [[Form(one, *sides) for sides in _SIDES] for one in instructions]
    fitting = [[form for form in several if form.registers <= caps.thread_registers] for several in made]
    return [form for several in fitting for form in several[:2]]


@cuda.jit(device=True)
def _load(words, place, count: cuda.constexpr):
    if count == 1:
        return words[place]
    return cuda.vload(words, place * count, count)


@cuda.jit
def multiply_lanes(out, a, b, turns, plan: cuda.constexpr):
    """``plan.rows`` x ``plan.columns`` products of fragments in each team, so many times."""
    height, width, lanes, held_a, held_b, held_sums, multiply = plan
    lane = np.int32(cuda.threadIdx.x) % lanes
    rows = cuda.local.array(height, held_a.type)
    columns = cuda.local.array(width, held_b.type)
    sums = cuda.local.array((height, width), held_sums.type)
    for i in cuda.unroll(range(height)):
        rows[i] = _load(a, i * lanes + lane, held_a.numbers)
    for j in cuda.unroll(range(width)):
        columns[j] = _load(b, j * lanes + lane, held_b.numbers)
    for i in cuda.unroll(range(height)):
        for j in cuda.unroll(range(width)):
            sums[i, j] = held_sums.type(0)
    for _turn in range(turns):
        for i in cuda.unroll(range(height)):
            for j in cuda.unroll(range(width)):
                sums[i, j] = multiply(rows[i], columns[j], sums[i, j])
    first = np.int32(cuda.grid(1)) * (height * width)
    for i in cuda.unroll(range(height)):
        for j in cuda.unroll(range(width)):
            cuda.vstore(sums[i, j], out, (first + (i * width + j)) * held_sums.numbers)


@cache
def kernel_of(threads: int, subgroup_size: int | None) -> Dispatcher:
    """The kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    return cuda.jit(multiply_lanes.py_func, block_dim=(threads, 1, 1), subgroup_size=subgroup_size)


# launches -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Operands:
    """Fragments as the kernel reads them, and one team's sums after a turn, by lane."""

    a: Array
    b: Array
    once: Array


def operands(form: Form, arithmetic: str, generator: np.random.Generator) -> Operands:
    """Random fragments, by what lanes hold of them."""
    one = form.instruction
    a, bits_a = _fragments(arithmetic, (form.rows, one.m, one.k), generator)
    b, bits_b = _fragments(arithmetic, (form.columns, one.k, one.n), generator)
    once = np.stack([[one.of_sums(x @ y) for y in b] for x in a])  # (rows, columns, lanes, sums)
    return Operands(
        a=_packed(map(one.of_a, bits_a), one.a.dtype),
        b=_packed(map(one.of_b, bits_b), one.b.dtype),
        once=np.moveaxis(once, 2, 0),  # a lane's sums lie together
    )


def _fragments(
    arithmetic: str, shape: tuple[int, int, int], generator: np.random.Generator
) -> tuple[list[Array], list[Array]]:
    """Values and bits of so many fragments."""
    count, *of_one = shape
    made = [random_elements(arithmetic, tuple(of_one), generator) for _ in range(count)]
    return [values for values, _ in made], [bits for _, bits in made]


def _packed(held: Iterator[Array], dtype: str) -> Array:
    """All lanes' elements as numbers of a dtype, in the order in which the kernel reads them."""
    packed: Array = np.ascontiguousarray(np.stack(list(held))).view(dtype).ravel()
    return packed


def of_lanes(made: list[Form], arithmetic: str, blocks: int, turns: int, generator: np.random.Generator) -> Bare:
    """All forms: ``turns`` of the one that does least in a turn, and the others do the same work."""
    least = min(form.multiplied for form in made)

    def candidates() -> Iterator[Candidate]:
        for form in made:
            given = operands(form, arithmetic, generator)
            yield candidate(form, given, turns * least // form.multiplied, blocks)

    return Bare(multiplied=blocks * TEAMS * turns * least, candidates=candidates)


def candidate(form: Form, given: Operands, turns: int, blocks: int) -> Candidate:
    """A launch of a form."""
    one = form.instruction
    out = cuda.device_array(blocks * TEAMS * given.once.size, one.sums.dtype)
    launch = kernel_of(TEAMS * one.lanes, one.subgroup_size)[blocks, TEAMS * one.lanes]
    return Candidate(
        text=form.text,
        run=partial(launch, out, cuda.to_device(given.a), cuda.to_device(given.b), np.int32(turns), form.plan),
        fetch=lambda: (out.copy_to_host(), given.once, turns),
    )


__all__ = ["TEAMS", "Form", "Held", "Instruction", "Operands", "Plan", "candidate", "forms", "kernel_of"]
__all__ += ["multiply_lanes", "of_lanes", "operands"]
