"""The lines variant: products with a vector on CPUs, a thread for a strip of lines (`line_kernels`)."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.blas.gemm.core.accumulation import number_type
from portagpu.blas.gemm.core.vector_registers import native_lanes
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.level2.products.call import ProductCall, add_parts
from portagpu.blas.level2.products.form import Extents, Given, ProductProblem, Sheet, Sums, Tiling
from portagpu.blas.level2.products.line_kernels import Walk, add_lines
from portagpu.blas.tunables.variant import Config, Variant, clock_mhz
from portagpu.device.capabilities import Capabilities
from portagpu.tuning.tunables.space import Axis

_MOST_LINES = 512  # of a strip: terms of a sum across, which lose digits as it gets larger
_SMALL = 16384  # bytes that a block should read at least
_BYTES_A_CYCLE = 12.0  # that a compute unit gets from memory
_BYTES_A_CYCLE_ACROSS = 20.0  # of sums across, from the nearest caches
_BLOCK_SECONDS = 1e-6
_LAUNCH_SECONDS = 8e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class LineConfig(Config):
    """Parameters of the lines variant: lines read at a time, strips for each compute unit, numbers of a chunk."""

    group: int
    strips: int
    chunk: int


class LineVariant(Variant[ProductProblem, ProductCall]):
    """See `portagpu.blas.level2.products.line_kernels`."""

    name = "lines"
    config_type = LineConfig

    def supports(self, problem: ProductProblem, caps: Capabilities) -> bool:
        """Where local memory is not on the chip: GPUs have tiles."""
        return not caps.local_memory_dedicated

    def axes(self, problem: ProductProblem, caps: Capabilities) -> tuple[Axis, ...]:
        """Lines, strips and chunks."""
        return (
            Axis("group", (2, 4, 8)),
            Axis("strips", (1, 2, 4, 8, 16)),
            Axis("chunk", (512, 1024, 2048, 4096, 8192, 16384)),
        )

    def is_legal(self, config: LineConfig, problem: ProductProblem, caps: Capabilities) -> bool:
        """Sums fit into registers."""
        return config.group * problem.parts <= 8

    def predict(self, config: LineConfig, problem: ProductProblem, caps: Capabilities) -> float:
        """Bytes over bandwidth, sums across over that of the caches, and what blocks cost."""
        units = max(1, caps.compute_units)
        strip, chunk = _tiling(config, problem, caps)
        blocks = -(-problem.lines // strip) * -(-problem.columns * problem.parts // chunk)
        cycle = units * clock_mhz(caps) * 1e6
        seconds = problem.nbytes / (cycle * _BYTES_A_CYCLE)
        if problem.across:
            seconds += 2 * problem.parts * problem.nbytes / config.group / (cycle * _BYTES_A_CYCLE_ACROSS)
        if problem.along and problem.across:  # their sums want registers, too
            seconds *= 1.0 + 0.02 * config.group
        spare = 1.0 + 0.5 / max(1, blocks // units)  # the last blocks run alone
        return seconds * spare + blocks / units * _BLOCK_SECONDS + _LAUNCH_SECONDS

    def shortlist(self, problem: ProductProblem, caps: Capabilities) -> tuple[LineConfig, ...]:
        """Four or eight lines at a time, in long chunks."""
        found = (
            LineConfig(group=group, strips=strips, chunk=chunk)
            for group in (4, 8)
            for strips in (4, 8)
            for chunk in (2048, 4096)
        )
        return tuple(config for config in found if self.is_legal(config, problem, caps))

    def run(self, config: LineConfig, call: ProductCall) -> None:
        """One launch, and one that makes y of the sums."""
        name, caps = call.memory.dtype.name, call.memory.context.capabilities
        vector = vector_type(name, native_lanes(caps, call.memory.itemsize))
        walk = Walk(config.group, vector, number_type(vector))
        strip, chunk = _tiling_of(config, call.lines, call.columns, call.memory.itemsize, caps)
        blocks = -(-call.lines // strip) * -(-call.columns // chunk)

        def launch(m: Sheet, x: Given, sums: Sums, extents: Extents) -> None:
            kind = type(extents.lines)
            add_lines[blocks, 1, call.stream](m, x, sums, extents, Tiling(kind(strip), kind(chunk)), call.form, walk)

        add_parts(call, (strip, chunk), launch)


def _tiling(config: LineConfig, problem: ProductProblem, caps: Capabilities) -> tuple[int, int]:
    return _tiling_of(config, problem.lines, problem.columns * problem.parts, problem.itemsize, caps)


def _tiling_of(config: LineConfig, lines: int, columns: int, itemsize: int, caps: Capabilities) -> tuple[int, int]:
    """Lines of a strip, and numbers of a chunk: strips are not so small that blocks do nearly nothing."""
    least = max(1, _SMALL // (min(columns, config.chunk) * itemsize))
    wanted = max(least, -(-lines // (max(1, caps.compute_units) * config.strips)))
    strip = min(_MOST_LINES, -(-wanted // config.group) * config.group)
    return strip, config.chunk
