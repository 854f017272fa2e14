"""The elementwise routines as a tunable: how many threads, how wide loads, how many of them under way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from portagpu.blas.level1 import map_kernels
from portagpu.blas.level1.chunks import chunked, cut, is_contiguous, kind_of, stored_kind, unread
from portagpu.blas.level1.map_kernels import Factors, MapPlan, Work, map_elements
from portagpu.blas.level1.problem import MAPS, VectorProblem
from portagpu.blas.level1.rates import LAUNCH_SECONDS, VectorConfig, is_sound, memory_seconds, vector_axes
from portagpu.blas.tunables.variant import Variant
from portagpu.cuda import jit
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream
from portagpu.tuning.tunables.space import Axis

_LEAST_BYTES = 16384  # of a vector that a block of one thread works on, where there are several


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A device function of `map_kernels`, and which of x and y it reads and writes."""

    function: Any
    reads: str
    writes: str


COPY = Operation(function=map_kernels.copied, reads="x", writes="y")
SCALE = Operation(function=map_kernels.scaled, reads="y", writes="y")
SCALE_COMPLEX = Operation(function=map_kernels.scaled_complex, reads="y", writes="y")
AXPY = Operation(function=map_kernels.multiplied_and_added, reads="xy", writes="y")
AXPY_COMPLEX = Operation(function=map_kernels.multiplied_and_added_complex, reads="xy", writes="y")
SWAP = Operation(function=map_kernels.exchanged, reads="xy", writes="xy")
ROTATE = Operation(function=map_kernels.rotated, reads="xy", writes="xy")


@dataclass(frozen=True, slots=True, kw_only=True)
class MapCall:
    """An operation on vectors x and y (n) on a device, of one dtype; x is y where the operation has one vector.

    ``routine``: one of `portagpu.blas.level1.problem.MAPS`; ``factors``: up to four numbers.
    """

    routine: str
    operation: Operation
    x: DeviceNDArray
    y: DeviceNDArray
    stream: Stream
    factors: tuple[float, ...] = ()

    @property
    def problem(self) -> VectorProblem:
        """What is asked for, without the arrays."""
        return VectorProblem(
            routine=self.routine,
            n=self.y.shape[0],
            dtype=self.y.dtype.name,
            contiguous=is_contiguous(self.x, self.y),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MapConfig(VectorConfig):
    """Parameters of `map_kernels`; with ``blocks`` 0 each block has one turn."""


class MapVariant(Variant[VectorProblem, MapCall]):
    """See `portagpu.blas.level1.map_kernels`."""

    name = "map"
    config_type = MapConfig

    def supports(self, problem: VectorProblem, caps: Capabilities) -> bool:
        """Every elementwise routine."""
        return problem.routine in MAPS

    def axes(self, problem: VectorProblem, caps: Capabilities) -> tuple[Axis, ...]:
        """Threads of a block, bytes and number of its loads, blocks of a compute unit."""
        return (*vector_axes(caps), Axis("blocks", (0, 2, 4, 8, 16, 32)))

    def is_legal(self, config: MapConfig, problem: VectorProblem, caps: Capabilities) -> bool:
        """The device has blocks of so many threads, and loads that are no smaller than an element."""
        return is_sound(config, problem, caps) and (config.blocks > 0 or config.threads > 1)

    def predict(self, config: MapConfig, problem: VectorProblem, caps: Capabilities) -> float:
        """Bytes over bandwidth, as far as loads enough are under way."""
        blocks = _blocks(config, math.ceil(problem.n * problem.itemsize / config.width), config.width, caps)
        return memory_seconds(config, problem, caps, blocks) + LAUNCH_SECONDS

    def shortlist(self, problem: VectorProblem, caps: Capabilities) -> tuple[MapConfig, ...]:
        """Blocks of 256 threads with some loads each; on CPUs of one, with vectors as wide as registers."""
        if caps.local_memory_dedicated:
            found = [
                MapConfig(threads=threads, width=width, items=items, blocks=blocks)
                for threads in (256, 128, 64, 32)
                for width in (16, 8)
                for items in (4, 2, 1)
                for blocks in (0, 16)
            ]
        else:
            found = [
                MapConfig(threads=1, width=width, items=items, blocks=blocks)
                for width in (max(16, caps.vector_width_float * 4), 16, 32)
                for items in (4, 2)
                for blocks in (8, 4, 2)
            ]
        legal = tuple(c for c in found if self.is_legal(c, problem, caps))
        return legal or tuple(c for c in self.candidates(problem, caps) if isinstance(c, MapConfig))

    def run(self, config: MapConfig, call: MapCall) -> None:
        """One launch."""
        problem, caps = call.problem, call.y.context.capabilities
        found = cut(problem, config.width, (call.x, call.y), caps)
        blocks = max(1, _blocks(config, found.chunks, found.lanes * problem.number_size, caps))
        turn = config.threads * config.items
        span = math.ceil(found.chunks / (blocks * turn)) * turn
        blocks = max(1, math.ceil(found.chunks / span)) if span else 1
        computed = _computed(problem)
        plan = _plan(call.operation, problem.number, computed, found.lanes, found.parts, found.aligned, config)
        number = kind_of("float32" if computed == "bfloat16" else computed, 1)
        factors = (*call.factors, 0.0, 0.0, 0.0, 0.0)[:4]
        _kernel(config.threads)[blocks, config.threads, call.stream](
            chunked(call.x, found, readonly=not plan.writes_x) if plan.reads_x or plan.writes_x else unread(found),
            chunked(call.y, found),
            Work(found.index(found.chunks), found.index(span), found.index(found.rest)),
            Factors(*(number(factor) for factor in factors)),
            plan,
        )


def _blocks(config: MapConfig, chunks: int, width: int, caps: Capabilities) -> int:
    """Blocks of a launch: for each turn one, or so many of a compute unit as there is work for."""
    turns = math.ceil(chunks / (config.threads * config.items))
    if config.blocks == 0:
        return turns
    most = config.blocks * max(1, caps.compute_units)
    if config.threads == 1:
        turns = math.ceil(chunks * width / _LEAST_BYTES)
    return min(turns, most)


def _computed(problem: VectorProblem) -> str:
    """Dtype in which is computed: copies leave bits as they are."""
    return problem.number if problem.routine in ("copy", "swap") else problem.computed


@lru_cache(maxsize=256)  # launches with the same constants are recognised by these
def _plan(
    operation: Operation, number: str, computed: str, lanes: int, parts: int, aligned: bool, config: MapConfig
) -> MapPlan:
    return MapPlan(
        operation=operation.function,
        kind=stored_kind(computed, lanes),
        stored=stored_kind(number, lanes),
        single=stored_kind(computed, parts),
        stored_single=stored_kind(number, parts),
        lanes=lanes,
        parts=parts,
        threads=config.threads,
        items=config.items,
        aligned=aligned,
        reads_x="x" in operation.reads,
        reads_y="y" in operation.reads,
        writes_x="x" in operation.writes,
        writes_y="y" in operation.writes,
    )


@cache
def _kernel(threads: int) -> Dispatcher:
    """The kernel for blocks of so many threads: the compiler then knows how many registers a thread may use."""
    return jit(map_elements.py_func, block_dim=(threads, 1, 1))
