"""Chains of multiply-adds: nothing but arithmetic, as many independent ones as hide an instruction's latency.

Every thread has some vectors ``v``, and ``v = v * factor + addend`` is repeated; all vectors are stored at the end. The
factor is a little below -1, so values change their sign and grow with each step: a chain that is a step short, or left
out, is far off what NumPy finds with the same roundings. Starts, factor and addend have random mantissas, for what a
device's units are given decides what power they take.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.device import Capabilities, DeviceType

Array = np.ndarray[Any, Any]

STARTS = 1024
"""Elements that chains begin with, again and again."""
UNROLLED = 16
"""Steps that a turn of the loop has."""
_GROWTH = 8.0  # of a chain's logarithm, from its first step to its last
_WIDE = {"float16": np.float64, "float32": np.float64, "float64": np.longdouble}
_ALLOWED = {"float16": 4.0, "float32": 16.0, "float64": 64.0}  # in roundings; no wider number holds a fused float64
_MOST_STEPS = {"float16": 8192, "float32": 1 << 16, "float64": 1 << 16, "int32": 1 << 16}


@cuda.jit
def chains(out, start, factor, addend, turns, vector: cuda.constexpr, count: cuda.constexpr, fused: cuda.constexpr):
    """``count`` chains of vectors in each thread, `UNROLLED` steps in each of ``turns``."""
    lanes = vector.lanes
    first = np.int32(cuda.grid(1)) * (count * lanes)
    values = cuda.local.array(count, vector)
    for chain in cuda.unroll(range(count)):
        values[chain] = cuda.vload(start, (first + chain * lanes) % STARTS, lanes, aligned=True)
    times, plus = vector(factor), vector(addend)
    for _turn in range(turns):
        for _step in cuda.unroll(range(UNROLLED)):
            for chain in cuda.unroll(range(count)):
                if fused:
                    values[chain] = cuda.fma(values[chain], times, plus)
                else:
                    values[chain] = values[chain] * times + plus
    for chain in cuda.unroll(range(count)):
        cuda.vstore(values[chain], out, first + chain * lanes, aligned=True)


@cuda.jit
def scalar_chains(out, start, factor, addend, turns, count: cuda.constexpr, fused: cuda.constexpr):
    """The same of numbers that are no vectors; chains of a thread are as far apart as there are threads."""
    thread, threads = np.int32(cuda.grid(1)), np.int32(cuda.gridsize(1))
    values = cuda.local.array(count, out.dtype)
    for chain in cuda.unroll(range(count)):
        values[chain] = start[(thread + chain * threads) % STARTS]
    for _turn in range(turns):
        for _step in cuda.unroll(range(UNROLLED)):
            for chain in cuda.unroll(range(count)):
                if fused:
                    values[chain] = cuda.fma(values[chain], factor, addend)
                else:
                    values[chain] = values[chain] * factor + addend
    for chain in cuda.unroll(range(count)):
        out[thread + chain * threads] = values[chain]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One way to keep a device busy: powers of two, so that all forms do the same work."""

    lanes: int
    chains: int
    threads: int  # of a block
    blocks: int  # for each compute unit

    @property
    def elements(self) -> int:
        """Independent chains of numbers for each compute unit."""
        return self.lanes * self.chains * self.threads * self.blocks

    @property
    def text(self) -> str:
        """As tables tell it."""
        vectors = f"vectors of {self.lanes}, " if self.lanes > 1 else ""
        return f"{vectors}{self.chains} chains in each of {self.threads} x {self.blocks} threads a unit"


def forms(dtype: str, caps: Capabilities) -> list[Form]:
    """What is tried on a device; the fastest one is its roof."""
    if caps.device_type is DeviceType.CPU:
        width = 64 // np.dtype(dtype).itemsize if caps.vector_width_float >= 16 else 32 // np.dtype(dtype).itemsize
        width = min(16, width)
        # of a few blocks a driver may give most to one core, and a launch below a millisecond is mostly its waking
        explicit = [Form(lanes=width, chains=n, threads=16, blocks=8) for n in (8, 16)]
        return [*explicit, Form(lanes=1, chains=8, threads=64, blocks=32)]
    found = [Form(lanes=1, chains=n, threads=256, blocks=blocks) for n, blocks in ((8, 8), (4, 16), (16, 4))]
    if dtype == "float16":
        found += [Form(lanes=2, chains=n, threads=256, blocks=8) for n in (4, 8)]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """What chains of so many steps begin with, and are multiplied by."""

    start: Array
    factor: Any
    addend: Any


def numbers(dtype: str, steps: int, seed: int = 0) -> Numbers:
    """Random ones; see the module's text. Raises ValueError for more steps than the dtype's numbers can count."""
    if steps > _MOST_STEPS[dtype]:
        raise ValueError(f"{steps} steps are more than {dtype} can tell apart")
    generator = np.random.default_rng([seed, 7])
    kind = np.dtype(dtype).type
    if dtype == "int32":
        start = generator.integers(-(1 << 31), 1 << 31, STARTS).astype(dtype)
        return Numbers(start=start, factor=kind(1664525), addend=kind(1013904223))
    growth = max(_GROWTH / steps * generator.uniform(0.9, 1.0), float(np.finfo(dtype).eps))
    scale = 2.0**-6
    start = (scale * generator.uniform(1, 2, STARTS)).astype(dtype)
    return Numbers(start=start, factor=kind(-(1 + growth)), addend=kind(scale / 16 * generator.uniform(1, 2)))


def expected(given: Numbers, steps: int) -> list[Array]:
    """What may come of each start: with one rounding in each step, and with two."""
    start, dtype = given.start, given.start.dtype
    if dtype == np.int32:
        value = start.astype(np.uint32)
        factor, addend = np.uint32(given.factor), np.uint32(given.addend)
        for _ in range(steps):
            value = value * factor + addend
        return [value.astype(np.int32)]
    wide = _WIDE[dtype.name]
    factor, addend = wide(given.factor), wide(given.addend)
    fused, apart = start.copy(), start.copy()
    for _ in range(steps):
        fused = (fused.astype(wide) * factor + addend).astype(dtype)
        apart = apart * given.factor + given.addend
    return [fused, apart]


def error(found: Array, wanted: Iterable[Array]) -> float:
    """How far all chains are off, relative to what is allowed; infinite for whole numbers that differ."""
    table = found.reshape(-1, STARTS) if found.size % STARTS == 0 else np.resize(found, (1, STARTS))
    if found.dtype.kind == "i":
        return 0.0 if any(np.array_equal(table, np.broadcast_to(one, table.shape)) for one in wanted) else np.inf
    allowed = _ALLOWED[found.dtype.name] * float(np.finfo(found.dtype).eps)
    return min(float(np.max(np.abs(table.astype(np.float64) / one.astype(np.float64) - 1))) / allowed for one in wanted)


__all__ = ["STARTS", "UNROLLED", "Form", "Numbers", "chains", "error", "expected", "forms", "numbers", "scalar_chains"]
