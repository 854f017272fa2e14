"""The registry of steps: what changed and why, the kernel, how it is launched, and what the device must have for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from portagpu.bench.ladder.kernels.elements import coalesced, naive
from portagpu.bench.ladder.kernels.pipelined import pipelined
from portagpu.bench.ladder.kernels.tiles import register_column, register_tile, shared_tile
from portagpu.bench.ladder.kernels.vectors import double_buffered, vectorised
from portagpu.bench.ladder.library import matrix_units, no_matrix_units, no_tiles, shipped, tuned_tiles
from portagpu.bench.ladder.plan import Operands, Prepared
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.variants.tile.launch import tile_lanes
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher

_VECTOR_BYTES = 16
_PIPELINES = ((16, 4), (16, 3), (8, 3), (8, 2))  # depth of a tile and stages, the best first
_TILE = (128, 128, 8, 8, 8)  # rows, columns and depth of a block's tile, rows and columns of a thread's


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a kernel is launched for given operands.

    ``parameters``: the kernel's arguments after a, b and c. ``tile``: rows and columns of C of a block that shares what
    it loads from global memory. ``thread_tile``: those of a thread. ``shared_bytes``: what the kernel declares.
    """

    grid: tuple[int, int]
    block: tuple[int, int]
    parameters: tuple[Any, ...] = ()
    tile: tuple[int, int] = (1, 1)
    thread_tile: tuple[int, int] = (1, 1)
    shared_bytes: int = 0
    note: str = ""


class Step(Protocol):
    """One step of the ladder."""

    @property
    def name(self) -> str:
        """A word or two, unique: files and `--compare` know the step by it."""

    @property
    def change(self) -> str:
        """What is different from the step before, and why."""

    def obstacle(self, operands: Operands) -> str | None:
        """Why the operands' device cannot run the step, or None."""

    def prepare(self, operands: Operands) -> Prepared:
        """The step, ready to run on the operands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelStep:
    """A step that is one launch of a kernel of this folder. ``rule`` says how it is launched."""

    name: str
    change: str
    kernel: Dispatcher
    rule: Callable[[Operands], Launch]

    def obstacle(self, operands: Operands) -> str | None:
        """What the launch needs and the device does not have: threads of a block, or shared memory."""
        launch, caps = self.rule(operands), operands.capabilities
        threads, largest = launch.block[0] * launch.block[1], _largest_block(caps)
        if threads > largest:
            return f"needs blocks of {threads} threads; the device runs {largest}"
        if launch.shared_bytes > caps.local_memory_static:
            return f"needs {launch.shared_bytes} bytes of shared memory; the device has {caps.local_memory_static}"
        return None

    def prepare(self, operands: Operands) -> Prepared:
        """Bind operands and launch parameters."""
        launch = self.rule(operands)
        configured = self.kernel[launch.grid, launch.block, operands.context.default_stream]
        arguments = (operands.a, operands.b, operands.c, *launch.parameters)

        def enqueue() -> None:
            configured(*arguments)

        return Prepared(enqueue=enqueue, tile=launch.tile, thread_tile=launch.thread_tile, note=launch.note)


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryStep:
    """A step that runs kernels of `portagpu.blas`. ``needs`` says why a device cannot run them, or None."""

    name: str
    change: str
    make: Callable[[Operands], Prepared]
    needs: Callable[[Operands], str | None] = lambda operands: None

    def obstacle(self, operands: Operands) -> str | None:
        """What ``needs`` says."""
        return self.needs(operands)

    def prepare(self, operands: Operands) -> Prepared:
        """Bind the operands."""
        return self.make(operands)


def _largest_block(caps: Capabilities) -> int:
    return min(caps.max_work_group_size, caps.max_work_item_sizes[0])


def _blocks(operands: Operands, tile_m: int, tile_n: int) -> tuple[int, int]:
    """A grid with a block for each tile of C: x along the columns, y along the rows."""
    m, n = operands.c.shape
    return -(-n // tile_n), -(-m // tile_m)


def _by_column(operands: Operands) -> Launch:
    m, n = operands.c.shape
    return Launch(grid=(-(-m // 32), -(-n // 8)), block=(32, 8))  # x along the rows


def _by_row(operands: Operands) -> Launch:
    return Launch(grid=_blocks(operands, 8, 32), block=(32, 8))


def _square_tile(operands: Operands) -> Launch:
    """Tiles of 32 x 32 where blocks may have 1024 threads, else of 16 x 16."""
    tile = 32 if operands.capabilities.max_work_group_size >= 1024 else 16
    return Launch(
        grid=_blocks(operands, tile, tile),
        block=(tile, tile),
        parameters=(tile,),
        tile=(tile, tile),
        shared_bytes=2 * tile * tile * operands.itemsize,
    )


def _column(operands: Operands) -> Launch:
    """Tiles of 64 x 64; eight elements a thread where blocks may have 512 threads, else sixteen."""
    thread_m = 8 if _largest_block(operands.capabilities) >= 512 else 16
    return Launch(
        grid=_blocks(operands, 64, 64),
        block=(64 * 64 // thread_m, 1),
        parameters=(64, 64, 8, thread_m),
        tile=(64, 64),
        thread_tile=(thread_m, 1),
        shared_bytes=2 * 64 * 8 * operands.itemsize,
    )


def _register_tile(operands: Operands) -> Launch:
    tile_m, tile_n, tile_k, thread_m, thread_n = _TILE
    return Launch(
        grid=_blocks(operands, tile_m, tile_n),
        block=(tile_m // thread_m * (tile_n // thread_n), 1),
        parameters=_TILE,
        tile=(tile_m, tile_n),
        thread_tile=(thread_m, thread_n),
        shared_bytes=tile_k * (tile_m + tile_n) * operands.itemsize,
    )


def _vectors(operands: Operands, buffers: int = 1) -> Launch:
    """As the register tile, with the vector type, and whether tiles divide the matrices and rows are aligned."""
    tile_m, tile_n, tile_k, thread_m, thread_n = _TILE
    vector = vector_type(operands.c.dtype.name, tile_lanes(operands.itemsize))
    exact = _is_exact(operands, tile_m, tile_n, tile_k)
    return Launch(
        grid=_blocks(operands, tile_m, tile_n),
        block=(tile_m // thread_m * (tile_n // thread_n), 1),
        parameters=(*_TILE, vector, exact),
        tile=(tile_m, tile_n),
        thread_tile=(thread_m, thread_n),
        shared_bytes=buffers * tile_k * (tile_m + vector.lanes + tile_n) * operands.itemsize,
    )


def _pipeline(operands: Operands) -> Launch:
    """As many stages as fit into half of the shared memory, so that two blocks may share a compute unit."""
    tile_m, tile_n, _, thread_m, thread_n = _TILE
    sizes = {(k, stages): stages * k * (tile_m + tile_n) * operands.itemsize for k, stages in _PIPELINES}
    half = operands.capabilities.local_memory_static // 2
    tile_k, stages = next((p for p, size in sizes.items() if size <= half), _PIPELINES[-1])
    vector = vector_type(operands.c.dtype.name, tile_lanes(operands.itemsize))
    exact = _is_exact(operands, tile_m, tile_n, tile_k)
    return Launch(
        grid=_blocks(operands, tile_m, tile_n),
        block=(tile_m // thread_m * (tile_n // thread_n), 1),
        parameters=(tile_m, tile_n, tile_k, thread_m, thread_n, stages, vector, exact),
        tile=(tile_m, tile_n),
        thread_tile=(thread_m, thread_n),
        shared_bytes=sizes[tile_k, stages],
        note=f"{stages} stages of depth {tile_k}",
    )


def _is_exact(operands: Operands, tile_m: int, tile_n: int, tile_k: int) -> bool:
    """Whether tiles divide the matrices and all rows are aligned to vectors."""
    (m, n), k = operands.c.shape, operands.a.shape[1]
    whole = m % tile_m == n % tile_n == k % tile_k == 0
    return whole and all(x.offset % _VECTOR_BYTES == 0 for x in (operands.a, operands.b, operands.c))


STEPS: tuple[Step, ...] = (
    KernelStep(
        name="naive",
        change="A thread computes one element of C. Threads that run together read different rows of A: a transaction "
        "of global memory brings one useful element.",
        kernel=naive,
        rule=_by_column,
    ),
    KernelStep(
        name="coalesced",
        change="Threads that run together take neighbouring columns: they read one element of A and neighbours of B, "
        "so that a transaction brings useful elements only.",
        kernel=coalesced,
        rule=_by_row,
    ),
    KernelStep(
        name="shared tile",
        change="A block copies tiles of A and B into shared memory: each element is read from global memory once for "
        "all its threads.",
        kernel=shared_tile,
        rule=_square_tile,
    ),
    KernelStep(
        name="1-D register tile",
        change="A thread computes a short column of C in registers: an element of B that it reads from shared memory "
        "serves several multiply-adds.",
        kernel=register_column,
        rule=_column,
    ),
    KernelStep(
        name="2-D register tile",
        change="A thread computes 8 x 8 elements of C: 16 reads from shared memory serve 64 multiply-adds, and tiles "
        "of 128 x 128 read global memory half as often.",
        kernel=register_tile,
        rule=_register_tile,
    ),
    KernelStep(
        name="vectorised",
        change="Loads and stores of 16 bytes, with A transposed in shared memory: a quarter of the instructions.",
        kernel=vectorised,
        rule=_vectors,
    ),
    KernelStep(
        name="double buffered",
        change="The next tiles travel from global memory into registers during the arithmetic, and two buffers in "
        "shared memory need one barrier a step: the arithmetic waits for neither.",
        kernel=double_buffered,
        rule=lambda operands: _vectors(operands, buffers=2),
    ),
    LibraryStep(
        name="tuned",
        change="The library's tile kernel, built like the step before, with the tuner's sizes of tiles (before "
        "tuning, its model's), and blocks ordered so that neighbours share what is in the cache.",
        make=tuned_tiles,
        needs=no_tiles,
    ),
    KernelStep(
        name="pipelined",
        change="Copies to shared memory run by themselves, several steps ahead, without passing through registers: "
        "they hide longer waits than one step of arithmetic.",
        kernel=pipelined,
        rule=_pipeline,
    ),
    LibraryStep(
        name="matrix units",
        change="A warp multiplies whole tiles at once: float64 as it is, float32 in pieces of float16, whose products "
        "are added in float32: three products for one and still faster than the float32 units.",
        make=matrix_units,
        needs=no_matrix_units,
    ),
    LibraryStep(
        name="shipped",
        change="What portagpu.matmul does on this device.",
        make=shipped,
    ),
)


def step_named(name: str) -> Step:
    """The step of a name. Raises KeyError."""
    return {step.name: step for step in STEPS}[name]


__all__ = ["STEPS", "KernelStep", "Launch", "LibraryStep", "Operands", "Prepared", "Step", "step_named"]
