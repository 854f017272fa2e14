"""The skinny variant: products with few rows or columns on GPUs, limited by memory (see `across_kernels`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from portagpu.blas.gemm.core.accumulation import conversion, is_plain, number_type
from portagpu.blas.gemm.core.few_rows import FewRows, few_rows, operands, read_only
from portagpu.blas.gemm.core.interface import Config, Product, Variant
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.kernels.launch import planned_registers, split_of, subgroup_of
from portagpu.blas.gemm.kernels.skinny_split_k import StripPlan
from portagpu.blas.gemm.variants.cost_model import REGISTER_FILE
from portagpu.blas.gemm.variants.skinny import launch
from portagpu.blas.gemm.variants.skinny.across_kernels import multiply_skinny_across
from portagpu.blas.gemm.variants.skinny.along_kernels import multiply_skinny_along
from portagpu.blas.gemm.variants.skinny.launch import MOST_PARTS, MOST_REGISTERS, launch_strips
from portagpu.blas.gemm.variants.skinny.model import Block, seconds
from portagpu.blas.gemm.variants.skinny.plan import SkinnyPlan, broadcast_lanes, panel_pitch
from portagpu.cuda import jit
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.tuning.tunables.space import Axis

FEW = 32
"""Rows, or columns, at the most."""

_START = 4e-6  # seconds until the few rows are in shared memory, where the large matrix waits for them
_START_OF_COPIES = 1e-6  # where copies of it are under way meanwhile
_ROWS = 16  # of a block, at most
_SUM_BYTES = 256  # of the registers for a thread's sums where each is that of a vector of columns
_PANEL_BYTES = 20480  # of the few rows in shared memory, about
_ADDED_BYTES = 16384  # of shared memory in which the sums of a block's threads are added, about


@dataclass(frozen=True, slots=True, kw_only=True)
class SkinnyConfig(Config):
    """Parameters of the skinny variant.

    ``threads_x`` threads of a block lie along what is contiguous in the large matrix, ``threads_y`` along the other
    axis; ``lines``: columns of a thread, where k is contiguous (else 1); ``flight``: vectors, of each line, that a
    thread has under way; ``splits`` blocks share each sum. ``stages`` above 1: so many groups of ``flight`` vectors are
    under way to a ring in shared memory (see `portagpu.blas.gemm.variants.skinny.across_kernels`).
    """

    threads_x: int
    threads_y: int
    lines: int
    flight: int
    splits: int
    stages: int = 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.threads_x * self.threads_y


@dataclass(frozen=True, slots=True)
class _Shape:
    """What follows from a configuration, a problem's view and its dtype."""

    config: SkinnyConfig
    along: bool
    rows: int  # of a block
    lanes: int  # of a vector of the large matrix
    size: int  # bytes of a sum
    itemsize: int  # bytes of an element of the large matrix
    converts: bool  # elements are not what sums are formed of

    @property
    def width(self) -> int:
        """Columns of a block."""
        config = self.config
        return config.threads_y * config.lines if self.along else config.threads_x * self.lanes

    @property
    def turn(self) -> int:
        """The k's that a block takes at once."""
        config = self.config
        return config.flight * (config.threads_x * self.lanes if self.along else config.threads_y)

    @property
    def pitch(self) -> int:
        """Elements in shared memory for each k; along k, at least."""
        return self.rows if self.along else panel_pitch(self.rows, self.size)

    @property
    def panel(self) -> int:
        """The k's that are in shared memory at once."""
        line = self.pitch * self.size
        most = _PANEL_BYTES if self.config.stages == 1 else max(_PANEL_BYTES, self.config.threads * line)
        return max(1, most // line // self.turn) * self.turn

    @property
    def row_bytes(self) -> int:
        """Shared memory for the sums of a row of a block."""
        config = self.config
        return self.width * self.size * (config.threads_x + 1 if self.along else config.threads_y)

    @property
    def together(self) -> int:
        """Rows whose sums are added at once."""
        return min(self.rows, max(1, (self.ring or _ADDED_BYTES) // self.row_bytes))

    @property
    def local_memory(self) -> int:
        """Bytes of shared memory."""
        panel = (self.rows * (self.panel + 16) if self.along else self.panel * self.pitch) * self.size
        sums = self.together * self.row_bytes
        return panel + max(self.ring, sums) + 192 if self.ring else max(panel, sums) + 16

    @property
    def ring(self) -> int:
        """Bytes of the ring in shared memory."""
        config = self.config
        return 0 if config.stages == 1 else config.threads * self.flight

    @property
    def flight(self) -> int:
        """Bytes of a thread's loads or copies that are under way at once."""
        config = self.config
        return config.stages * config.flight * config.lines * self.lanes * self.itemsize

    @property
    def registers(self) -> int:
        """32-bit registers of a thread: sums, loads under way, addresses and elements of x."""
        config = self.config
        sums = self.rows * (config.lines if self.along else self.lanes)
        other = 24 + 5 * self.rows // 2
        vectors = config.lines * (config.flight if config.stages == 1 else 1)
        count = (sums + vectors * self.lanes) * self.size // 4 + other
        return count if config.stages == 1 else min(count, MOST_REGISTERS)

    @property
    def cycles(self) -> float:
        """Of a compute unit for each k of a block: multiply-adds, 128 in a cycle, and loads, 128 bytes in a cycle."""
        wide = self.size // 4
        once = 16 if self.config.stages == 1 else 32  # through the ring
        if self.along:
            read = (self.width * once / self.lanes + self.config.threads_y * self.rows * self.size) / 128
        else:
            read = self.config.threads_x * (once + self.pitch * self.size) / 128
        converted = self.width / 32 if self.converts else 0.0
        added = self.rows * self.width * wide / 128
        return (max(added, read) + 0.4 * min(added, read)) / 0.9 + converted  # units of their own, and waits


def _rows(view: FewRows) -> int:
    """Rows of a block: of as few blocks as can be, alike."""
    return -(-view.rows // -(-view.rows // _ROWS))


def _lanes(problem: Problem, view: FewRows) -> int:
    """Elements of a vector of the large matrix."""
    rows = _rows(view)
    lanes = 16 // problem.itemsize
    while not view.along and lanes > 2 and rows * lanes * problem.accumulator_itemsize > _SUM_BYTES:
        lanes //= 2
    return lanes


def _shape(config: SkinnyConfig, problem: Problem, view: FewRows) -> _Shape:
    lanes = _lanes(problem, view)
    converts = problem.dtype != problem.accumulator
    return _Shape(config, view.along, _rows(view), lanes, problem.accumulator_itemsize, problem.itemsize, converts)


class SkinnyVariant(Variant):
    """See `portagpu.blas.gemm.variants.skinny.across_kernels`."""

    name = "skinny"
    config_type = SkinnyConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Few rows or columns, all real dtypes, local memory on the chip."""
        if not (is_plain(problem) and caps.local_memory_dedicated and min(problem.m, problem.n) <= FEW):
            return False
        view = few_rows(problem)
        return view.along or view.n >= _lanes(problem, view)  # rows are read in whole vectors

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Threads along either axis, lines, loads under way, parts of sums."""
        return (
            Axis("threads_x", (4, 8, 16, 32, 64, 128)),
            Axis("threads_y", (1, 2, 4, 8, 16, 32, 64)),
            Axis("lines", (1, 2, 4, 8) if few_rows(problem).along else (1,)),
            Axis("flight", (1, 2, 4, 8)),
            Axis("splits", (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 128)),
            Axis("stages", (1, 4, 8) if caps.async_copies else (1,)),
        )

    def is_legal(self, config: SkinnyConfig, problem: Problem, caps: Capabilities) -> bool:
        """Sums fit into registers and local memory, and parts have terms enough."""
        view = few_rows(problem)
        shape = _shape(config, problem, view)
        stacks, strips = -(-view.rows // shape.rows), -(-view.n // shape.width)
        parts = stacks * strips * problem.batch * config.splits * shape.rows * shape.width
        return (
            64 <= config.threads <= min(1024, caps.max_work_group_size, caps.max_work_item_sizes[0])
            and (config.stages == 1 or caps.async_copies)
            and (view.along or (config.lines == 1 and view.n >= shape.lanes))
            and shape.registers <= min(224, REGISTER_FILE // config.threads, planned_registers(caps) or 255)
            and shape.local_memory - shape.ring <= min(49152, caps.local_memory_static)
            and shape.local_memory <= caps.local_memory_static
            and (config.splits == 1 or (problem.k >= config.splits * shape.turn and parts <= MOST_PARTS))
        )

    def predict(self, config: SkinnyConfig, problem: Problem, caps: Capabilities) -> float:
        """Bytes over bandwidth, as far as loads enough are under way; see `variants.skinny.model`."""
        view = few_rows(problem)
        shape = _shape(config, problem, view)
        block = Block(
            rows=shape.rows,
            width=shape.width,
            threads=config.threads,
            registers=shape.registers * 4 // 5 if config.stages == 1 else shape.registers,  # compilers do with less
            local_memory=shape.local_memory,
            flight=shape.flight,
            segment=config.threads_x * shape.lanes * problem.itemsize,
            cycles=shape.cycles,
            copies=config.stages > 1,
            changes=shape.panel * config.splits < view.k,
            start=_START if config.stages == 1 else _START_OF_COPIES,
        )
        return seconds(problem, view, caps, config.splits, block)

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[SkinnyConfig, ...]:
        """Blocks of 128 and 256 threads, wide and deep."""
        legal = tuple(c for c in self._known(few_rows(problem)) if self.is_legal(c, problem, caps))
        return legal or tuple(c for c in self.candidates(problem, caps) if isinstance(c, SkinnyConfig))

    def _known(self, view: FewRows) -> Iterator[SkinnyConfig]:
        if view.along:
            shapes = [
                (32, 4, 4, 1, 1),
                (32, 8, 4, 2, 1),
                (32, 8, 2, 4, 1),
                (32, 4, 4, 2, 1),
                (32, 8, 1, 8, 1),
                (32, 8, 1, 4, 1),
                (64, 4, 1, 4, 1),
                *(
                    (32, y, lines, f, s)
                    for y in (4, 8, 16)
                    for lines, f, s in ((4, 1, 4), (2, 1, 8), (2, 2, 4), (1, 2, 8))
                ),
            ]
        else:
            shapes = [(x, t // x, 1, f, 1) for t in (256, 128) for x in (32, 16, 8) for f in (8, 4)]
            shapes += [(x, t // x, 1, f, s) for t in (512, 256, 128) for x in (32, 16, 8) for f, s in ((2, 8), (4, 4))]
        for x, y, lines, flight, stages in shapes:
            for splits in (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64):
                yield SkinnyConfig(threads_x=x, threads_y=y, lines=lines, flight=flight, splits=splits, stages=stages)

    def run(self, config: SkinnyConfig, product: Product) -> None:
        """One launch, or a second one that adds parts."""
        problem = product.problem
        view = few_rows(problem)
        shape = _shape(config, problem, view)
        found = operands(product, view)
        types = conversion(problem.dtype, problem.out_dtype, shape.lanes)
        splits, chunk = split_of(config.splits, shape.turn, view.k)
        aligned = found.large.wide >= shape.lanes
        copies = config.stages > 1 and aligned and (not view.along or view.k % shape.lanes == 0)
        strip = StripPlan(
            rows=shape.rows,
            width=shape.width,
            threads=config.threads,
            lanes=1 if view.along else shape.lanes,
            stacked=True,
            split=splits > 1,
            arrive=splits > 1 and launch.arrives(product.c.context.capabilities),
            epilogue=types.epilogue(product.alpha, product.beta),
        )
        plan = SkinnyPlan(
            strip=strip,
            threads_x=config.threads_x,
            threads_y=config.threads_y,
            lines=config.lines,
            flight=config.flight,
            panel=shape.panel,
            together=shape.together,
            few=broadcast_lanes(shape.rows, shape.size),
            x_lies_along=found.few_steps[1] == 1,
            whole=types.whole,
            aligned=aligned,
            stages=config.stages if copies else 1,
        )
        packed = vector_type(types.vector.dtype.name, max(2, broadcast_lanes(shape.rows, shape.size)))
        launch_strips(
            _kernel(view.along, copies, config.threads, subgroup_of(product.c.context.capabilities)),
            product,
            view,
            found,
            (read_only(found.few.memory),),
            (read_only(found.large.memory),),
            types,
            strip=strip,
            splits=splits,
            chunk=chunk,
            constants=(plan, types.vector, packed, number_type(types.vector)),
        )


@cache
def _kernel(along: bool, copies: bool, threads: int, lanes: int | None) -> Dispatcher:
    """A kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    kernel = multiply_skinny_along if along else multiply_skinny_across
    if copies:  # blocks beside each other have more bytes under way
        registers = min(MOST_REGISTERS, REGISTER_FILE // threads)
        return jit(kernel.py_func, block_dim=(threads, 1, 1), max_registers=registers)
    return jit(kernel.py_func, block_dim=(threads, 1, 1), subgroup_size=lanes)
