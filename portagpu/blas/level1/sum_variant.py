"""The routines with one number as their result as a tunable: threads, loads under way, blocks that share a vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.level1 import amax_kernels, sum_kernels
from portagpu.blas.level1.amax_kernels import AmaxPlan, amax_elements, amax_left_parts
from portagpu.blas.level1.chunks import Cut, chunked, cut, is_contiguous, kind_of, stored_kind, unread
from portagpu.blas.level1.problem import SUMS, VectorProblem
from portagpu.blas.level1.rates import (
    FURTHER_SECONDS,
    LAUNCH_SECONDS,
    VectorConfig,
    is_sound,
    memory_seconds,
    vector_axes,
)
from portagpu.blas.level1.sum_kernels import (
    ALONE,
    ARRIVING,
    LEFT,
    Scales,
    SumPlan,
    SumWork,
    add_left_parts,
    sum_elements,
)
from portagpu.blas.tunables.variant import Variant
from portagpu.cuda import jit
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream
from portagpu.tuning.tunables.space import Axis

_MOST_CHUNKS = 64 * sum_kernels.FOLD  # of a thread: longer sums lose digits
_LEAST_BYTES = 16384  # of a vector that a block of one thread adds up, where there are several
_NOTHING = np.int32(0)  # in place of an array that is not needed

# of nrm2: exponents of the factors that make elements smaller and larger, and of the sums that need neither
_EXPONENTS = {"float32": (-90, 100, -80, 100), "float64": (-600, 700, -800, 800)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Device functions of `sum_kernels`, and how many sums they form."""

    add: Any
    finish: Any
    result: Any
    count: int = 1


_MAGNITUDES = Terms(add=sum_kernels.add_magnitudes, finish=sum_kernels.lanes_added, result=sum_kernels.as_it_is)
_SQUARES = Terms(add=sum_kernels.add_squares, finish=sum_kernels.lanes_added, result=sum_kernels.root)
_SCALED_SQUARES = Terms(
    add=sum_kernels.add_scaled_squares, finish=sum_kernels.lanes_added, result=sum_kernels.root_of_scaled, count=3
)
_PRODUCTS = Terms(add=sum_kernels.add_products, finish=sum_kernels.lanes_added, result=sum_kernels.as_it_is)
_COMPLEX_PRODUCTS = Terms(
    add=sum_kernels.add_complex_products, finish=sum_kernels.plain_products, result=sum_kernels.as_it_is, count=2
)
_CONJUGATE_PRODUCTS = Terms(
    add=sum_kernels.add_complex_products, finish=sum_kernels.conjugate_products, result=sum_kernels.as_it_is, count=2
)


def terms_of(problem: VectorProblem) -> Terms:
    """The terms of a routine's sums."""
    if problem.routine == "asum":
        return _MAGNITUDES
    if problem.routine == "nrm2":
        return _SQUARES if problem.dtype == "float16" else _SCALED_SQUARES  # squares of halves fit into float32
    if not problem.is_complex:
        return _PRODUCTS
    return _CONJUGATE_PRODUCTS if problem.routine == "dotc" else _COMPLEX_PRODUCTS


@dataclass(frozen=True, slots=True, kw_only=True)
class SumCall:
    """A sum over x and y (n), or over those of a batch (batch, n), on a device; y is x where there is one vector.

    ``result``: (batch,) or (1,), of x's dtype, of its real one for asum and nrm2, int64 for amax. No axis has length 0.
    """

    routine: str
    x: DeviceNDArray
    y: DeviceNDArray
    result: DeviceNDArray
    stream: Stream

    @property
    def problem(self) -> VectorProblem:
        """What is asked for, without the arrays."""
        return VectorProblem(
            routine=self.routine,
            n=self.x.shape[-1],
            dtype=self.x.dtype.name,
            batch=self.x.shape[0] if self.x.ndim == 2 else 1,
            contiguous=is_contiguous(self.x, self.y),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SumConfig(VectorConfig):
    """Parameters of `sum_kernels` and `amax_kernels`."""


class SumVariant(Variant[VectorProblem, SumCall]):
    """See `portagpu.blas.level1.sum_kernels`."""

    name = "sum"
    config_type = SumConfig

    def supports(self, problem: VectorProblem, caps: Capabilities) -> bool:
        """Every routine with one number as its result."""
        return problem.routine in SUMS

    def axes(self, problem: VectorProblem, caps: Capabilities) -> tuple[Axis, ...]:
        """Threads of a block, bytes and number of its loads, blocks of a compute unit."""
        return (*vector_axes(caps), Axis("blocks", (1, 2, 4, 8, 16, 32)))

    def is_legal(self, config: SumConfig, problem: VectorProblem, caps: Capabilities) -> bool:
        """The device has blocks of so many threads, and loads that are no smaller than an element."""
        return is_sound(config, problem, caps) and config.blocks > 0

    def predict(self, config: SumConfig, problem: VectorProblem, caps: Capabilities) -> float:
        """Bytes over bandwidth, as far as loads enough are under way, and a second launch for parts."""
        blocks = _blocks(config, math.ceil(problem.n * problem.itemsize / config.width), config.width, problem, caps)
        further = 0.0 if blocks == 1 else 1e-6 if caps.device_fences else FURTHER_SECONDS
        adding = 2e-9 * blocks / config.threads
        return memory_seconds(config, problem, caps, blocks) + LAUNCH_SECONDS + further + adding

    def shortlist(self, problem: VectorProblem, caps: Capabilities) -> tuple[SumConfig, ...]:
        """Blocks of 256 threads with some loads each; on CPUs of one, with vectors as wide as registers."""
        if caps.local_memory_dedicated:
            found = [
                SumConfig(threads=threads, width=width, items=items, blocks=blocks)
                for threads in (256, 512, 128, 64, 32)
                for width in (16, 8)
                for items in (4, 2, 1)
                for blocks in (8, 4, 2)
            ]
        else:
            found = [
                SumConfig(threads=1, width=width, items=items, blocks=blocks)
                for width in (max(16, caps.vector_width_float * 4), 16, 32)
                for items in (4, 2)
                for blocks in (4, 2, 8)
            ]
        legal = tuple(c for c in found if self.is_legal(c, problem, caps))
        return legal or tuple(c for c in self.candidates(problem, caps) if isinstance(c, SumConfig))

    def run(self, config: SumConfig, call: SumCall) -> None:
        """One launch, or a second one where blocks do not see what others wrote."""
        problem, caps = call.problem, call.x.context.capabilities
        found = cut(problem, config.width, (call.x, call.y), caps)
        blocks = _blocks(config, found.chunks, found.lanes * problem.number_size, problem, caps)
        turn = config.threads * config.items
        span = max(1, math.ceil(found.chunks / (blocks * turn))) * turn
        blocks = max(1, math.ceil(found.chunks / span))
        left = ALONE if blocks == 1 else ARRIVING if caps.device_fences else LEFT
        work = SumWork(*(found.index(value) for value in (found.chunks, span, blocks, found.rest)))
        launch = _launch_amax if problem.routine == "amax" else _launch_sums
        launch(config, call, problem, found, work, left)


def _blocks(config: SumConfig, chunks: int, width: int, problem: VectorProblem, caps: Capabilities) -> int:
    """Blocks of a vector: as many as there is work for, and so many that no thread's sum is too long."""
    turns = math.ceil(chunks / (config.threads * config.items))
    if config.threads == 1:
        turns = math.ceil(chunks * width / _LEAST_BYTES)
    wanted = math.ceil(config.blocks * max(1, caps.compute_units) / problem.batch)
    return max(1, min(turns, wanted), math.ceil(chunks / (config.threads * _MOST_CHUNKS)))


def _launch_sums(
    config: SumConfig, call: SumCall, problem: VectorProblem, found: Cut, work: SumWork, left: int
) -> None:
    terms, threads, stream = terms_of(problem), config.threads, call.stream
    number = kind_of(problem.computed, 1)
    plan = _sum_plan(
        terms,
        (problem.number, problem.computed),
        _shape(found),
        config,
        problem.routine.startswith("dot"),
        left,
    )
    parts: Any = _NOTHING
    arrived: Any = _NOTHING
    blocks = int(work.blocks)
    if left != ALONE:
        size = problem.batch * terms.count * blocks
        parts = workspaces.of(stream, "sums", (_rounded(size),), np.dtype(number))
    if left == ARRIVING:
        arrived = workspaces.zeros(stream, "arrived", problem.batch)
    result = chunked(call.result, Cut(1, problem.parts if terms.count == 2 else 1, False, found.index, 0, 0)).memory
    scales = Scales(*(number(2.0**exponent) for exponent in _EXPONENTS[problem.computed]))
    x = chunked(call.x, found, readonly=True)
    y = chunked(call.y, found, readonly=True) if plan.reads_y else unread(found)
    _kernel(sum_elements, threads)[problem.batch * blocks, threads, stream](
        x, y, parts, arrived, result, work, scales, plan
    )
    if left == LEFT:
        _kernel(add_left_parts, threads)[problem.batch, threads, stream](parts, result, work.blocks, scales, plan)


def _launch_amax(
    config: SumConfig, call: SumCall, problem: VectorProblem, found: Cut, work: SumWork, left: int
) -> None:
    threads, stream, blocks = config.threads, call.stream, int(work.blocks)
    bits = "uint32" if problem.number == "float32" else "uint64"
    plan = _amax_plan(problem.number, bits, _shape(found), config, left)
    values: Any = _NOTHING
    places: Any = _NOTHING
    arrived: Any = _NOTHING
    if left != ALONE:
        size = _rounded(problem.batch * blocks)
        values = workspaces.of(stream, "largest", (size,), np.dtype(bits))
        places = workspaces.of(stream, "places", (size,), np.dtype(found.index))
    if left == ARRIVING:
        arrived = workspaces.zeros(stream, "arrived", problem.batch)
    x = chunked(call.x, found, readonly=True)
    _kernel(amax_elements, threads)[problem.batch * blocks, threads, stream](
        x, values, places, arrived, call.result, work, plan
    )
    if left == LEFT:
        _kernel(amax_left_parts, threads)[problem.batch, threads, stream](
            values, places, call.result, work.blocks, plan
        )


def _shape(found: Cut) -> tuple[int, int, bool]:
    return found.lanes, found.parts, found.aligned


@lru_cache(maxsize=256)  # launches with the same constants are recognised by these
def _sum_plan(
    terms: Terms, form: tuple[str, str], shape: tuple[int, int, bool], config: SumConfig, reads_y: bool, left: int
) -> SumPlan:
    (stored, computed), (lanes, parts, aligned) = form, shape
    return SumPlan(
        add=terms.add,
        finish=terms.finish,
        result=terms.result,
        sums=terms.count,
        kind=kind_of(computed, lanes),
        single=kind_of(computed, parts),
        number=kind_of(computed, 1),
        stored=stored_kind(stored, 1),
        lanes=lanes,
        parts=parts,
        threads=config.threads,
        items=config.items,
        aligned=aligned,
        reads_y=reads_y,
        left=left,
    )


@lru_cache(maxsize=256)
def _amax_plan(number: str, bits: str, shape: tuple[int, int, bool], config: SumConfig, left: int) -> AmaxPlan:
    lanes, parts, aligned = shape
    return AmaxPlan(
        kind=kind_of(number, lanes),
        bits=kind_of(bits, lanes),
        single=kind_of(number, parts),
        single_bits=kind_of(bits, parts),
        number=kind_of(bits, 1),
        nan=amax_kernels.NAN_BITS[number],
        lanes=lanes,
        parts=parts,
        threads=config.threads,
        items=config.items,
        aligned=aligned,
        left=left,
    )


def _rounded(size: int) -> int:
    """A size of workspaces: few different ones are kept."""
    return max(64, 1 << (size - 1).bit_length())


@cache
def _kernel(kernel: Dispatcher, threads: int) -> Dispatcher:
    """A kernel for blocks of so many threads: the compiler then knows how many registers a thread may use."""
    return jit(kernel.py_func, block_dim=(threads, 1, 1))
