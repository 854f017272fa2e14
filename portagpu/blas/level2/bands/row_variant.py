"""The rows variant: some threads for each row, see `row_kernels`."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.blas.gemm.core.kernel_arguments import Factors
from portagpu.blas.gemm.core.operands import index_type
from portagpu.blas.level1.vectors import vector_of
from portagpu.blas.level2.bands.problem import BandProblem, ProductCall
from portagpu.blas.level2.bands.row_kernels import ADDED, LEFT_OUT, SCALED, SUBTOTAL, Range, RowPlan, multiply_rows
from portagpu.blas.level2.bands.storage import ACROSS, NO_DIAGONAL, Window
from portagpu.blas.tunables.variant import Config, Variant, clock_mhz
from portagpu.device.capabilities import Capabilities
from portagpu.tuning.tunables.space import Axis

_BYTES_A_CYCLE = 16.0  # that a compute unit gets from memory
_THREADS_OF_UNIT = 1024  # with whose loads on their way it gets that
_BLOCKS_OF_UNIT = 4  # of a device whose threads run one after the other: each walks along rows
_LEAST = 64  # rows of such a block
_TERM_CYCLES = 4.0  # of a thread there
_TURN_CYCLES = 40.0  # of a term on a GPU: what a thread waits for
_BLOCK_CYCLES = 2000.0
_LAUNCH_SECONDS = 5e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class RowConfig(Config):
    """Parameters of the rows variant: rows of a block, and threads of each row."""

    rows: int
    lanes: int


class RowVariant(Variant[BandProblem, ProductCall]):
    """See `portagpu.blas.level2.bands.row_kernels`."""

    name = "rows"
    config_type = RowConfig

    def supports(self, problem: BandProblem, caps: Capabilities) -> bool:
        """All of them."""
        return True

    def axes(self, problem: BandProblem, caps: Capabilities) -> tuple[Axis, ...]:
        """Rows and lanes."""
        return Axis("rows", (1, 16, 32, 64, 128, 256)), Axis("lanes", (1, 2, 4, 8, 16, 32))

    def is_legal(self, config: RowConfig, problem: BandProblem, caps: Capabilities) -> bool:
        """The device runs such blocks, whose sums fit into shared memory."""
        threads = config.rows * config.lanes
        room = (config.rows + 1) * config.lanes * problem.itemsize
        fits = config.lanes == 1 or room <= caps.local_memory_static
        return fits and threads <= min(caps.max_work_group_size, caps.max_work_item_sizes[0])

    def predict(self, config: RowConfig, problem: BandProblem, caps: Capabilities) -> float:
        """Bytes over bandwidth, as far as there are threads enough for it, and what a thread takes for its terms."""
        units, threads = max(1, caps.compute_units), config.rows * config.lanes
        blocks = -(-problem.rows // config.rows)
        hertz = clock_mhz(caps) * 1e6
        if not caps.local_memory_dedicated:
            waste = 1.0 if threads == 1 else 4.0  # of threads that run one after the other
            cycles = -(-blocks // units) * config.rows * problem.terms * _TERM_CYCLES * waste
            return cycles / hertz + _LAUNCH_SECONDS
        busy = min(1.0, blocks * threads / (units * _THREADS_OF_UNIT))
        bandwidth = units * hertz * _BYTES_A_CYCLE * busy
        turns = -(-blocks * threads // (units * _THREADS_OF_UNIT))
        terms = -(-problem.terms // config.lanes) * max(1.0, 32 / config.rows)
        waits = (turns * _BLOCK_CYCLES * (config.lanes > 1)) / hertz + terms * _TURN_CYCLES / hertz
        return max(problem.nbytes / bandwidth, waits) + _LAUNCH_SECONDS

    def shortlist(self, problem: BandProblem, caps: Capabilities) -> tuple[RowConfig, ...]:
        """A thread a block where threads run one after the other; else 32 rows of some lanes, or 128 of one."""
        if not caps.local_memory_dedicated:
            return (RowConfig(rows=1, lanes=1),)
        found = [RowConfig(rows=128, lanes=1), *(RowConfig(rows=32, lanes=lanes) for lanes in (4, 8, 16, 32))]
        legal = tuple(config for config in found if self.is_legal(config, problem, caps))
        return legal or (RowConfig(rows=1, lanes=1),)

    def run(self, config: RowConfig, call: ProductCall) -> None:
        """One launch."""
        caps, parts = call.y.context.capabilities, call.parts
        number = index_type(call.storage.array, call.x, call.y)
        nothing, real = call.alpha == 0, call.dtype.kind == "f"  # complex infinities times 1 become NaN
        given = parts.parts if config.lanes > 1 else tuple(part._replace(order=ACROSS) for part in parts.parts)
        plan = RowPlan(
            dtype=call.dtype.type,
            rows=config.rows,
            lanes=config.lanes,
            parts=() if nothing else given,
            diagonal=NO_DIAGONAL if nothing else parts.diagonal,
            common=config.lanes > 1 and parts.terms >= config.rows,
            brief=parts.terms <= SUBTOTAL,
            scaled=real or call.alpha != 1,
            present=LEFT_OUT if call.beta == 0 else SCALED if real or call.beta != 1 else ADDED,
        )
        strip = config.rows
        if config.rows * config.lanes == 1:
            strip = max(_LEAST, -(-call.rows // (_BLOCKS_OF_UNIT * max(1, caps.compute_units))))
        blocks = -(-call.rows // strip)
        multiply_rows[blocks, config.rows * config.lanes, call.stream](
            call.storage.for_kernels(number, turned=parts.turned),
            vector_of(call.x, number),
            vector_of(call.y, number),
            Range(*map(number, call.bounds)),
            number(strip),
            tuple(Window(number(low), number(high)) for low, high in parts.windows),
            Factors(call.dtype.type(call.alpha), call.dtype.type(call.beta)),
            plan,
        )
