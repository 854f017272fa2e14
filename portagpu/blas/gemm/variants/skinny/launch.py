"""Launches, and a model, that the skinny variants share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.accumulation import Conversion, number_type
from portagpu.blas.gemm.core.few_rows import FewRows, Operands
from portagpu.blas.gemm.core.interface import Product, clock_mhz
from portagpu.blas.gemm.core.kernel_arguments import Extents, Matrix, Parts, Split, StridedMatrix
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.kernels.skinny_split_k import StripPlan, add_strips
from portagpu.blas.gemm.variants.cost_model import FEW_ROWS, REGISTER_FILE, THREADS_OF_UNIT
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.arrays.array import DeviceNDArray

MOST_PARTS = 2**24
"""Sums of all parts of a product, at most."""
MOST_REGISTERS = 128
"""Registers of a thread, at most, where what is under way is in shared memory: 16 warps then fit into a unit."""
_NOTHING = np.int32(0)


def arrives(caps: Capabilities) -> bool:
    """Whether blocks can see what others wrote before: the last one then adds up the parts of sums."""
    return caps.device_fences


def launch_strips(
    kernel: Dispatcher,
    product: Product,
    view: FewRows,
    found: Operands,
    x: tuple[DeviceNDArray, ...],
    b: tuple[DeviceNDArray, ...],
    types: Conversion,
    *,
    strip: StripPlan,
    splits: int,
    chunk: int,
    constants: tuple[Any, ...],
) -> None:
    """Enqueue a block for each strip of sums and each of their ``splits`` parts of ``chunk`` terms.

    Unless the last block adds up the parts, a second launch does. x, b: the arrays that the kernel takes of the few
    rows and of the large matrix.
    """
    stream, batch = product.stream, product.batch
    accumulator = number_type(types.vector)
    places = -(-view.rows // strip.rows) * -(-view.n // strip.width) * batch
    parts: Any = _NOTHING
    arrived: Any = _NOTHING
    if strip.split:
        size = places * splits * strip.rows * strip.width
        parts = workspaces.of(stream, "parts", (size,), np.dtype(accumulator))
        arrived = workspaces.zeros(stream, "arrived", places) if strip.arrive else _NOTHING
    kind = np.uint64 if found.is_large else np.uint32
    few, large, result = found.few, found.large, found.result
    extents = Extents(kind(view.rows), kind(view.n), kind(view.k))
    split = Split(kind(splits), kind(chunk))
    steps = (kind(step) for step in (*found.few_steps, few.batch))
    target = StridedMatrix(result.memory, *(kind(step) for step in (*found.result_steps, result.batch)))
    factors = types.factors(product.alpha, product.beta)
    kernel[places * splits, strip.threads, stream](
        StridedMatrix(x[0], *steps),
        *x[1:],
        Matrix(b[0], kind(large.pitch), kind(large.batch)),
        *b[1:],
        target,
        Parts(parts, arrived),
        extents,
        split,
        factors,
        *constants,
    )
    if strip.split and not strip.arrive:
        add_strips[places, strip.threads, stream](
            target, Parts(parts, _NOTHING), extents, split, factors, strip, accumulator
        )


def seconds(
    problem: Problem,
    view: FewRows,
    caps: Capabilities,
    *,
    rows: int,
    width: int,
    splits: int,
    threads: int,
    registers: int,
    local_memory: int,
    flight: int,
    segment: int,
    cycles: float,
    copies: bool,
    changes: bool,
    start: float,
) -> float:
    """Seconds of a product in blocks of ``rows`` x ``width`` sums, ``splits`` of them for each.

    registers: of a thread; local_memory: bytes of a block; flight: bytes that a thread has under way; segment: bytes
    side by side that a block reads of the large matrix; cycles: of a compute unit for each k of a block; copies: the
    bytes are under way to shared memory, whatever the threads wait for; changes: the few rows are in panels there.
    start: seconds until the first products.
    """
    units, clock = max(1, caps.compute_units), clock_mhz(caps) * 1e6
    strips = math.ceil(view.n / width) * problem.batch
    stacks = math.ceil(view.rows / rows)
    blocks = strips * stacks * splits
    fit = min(REGISTER_FILE // registers, THREADS_OF_UNIT) // threads
    fit = max(1, min(fit, max(1, caps.local_memory_static) // max(1, local_memory)))
    of_unit = blocks / units
    together = min(fit, math.ceil(of_unit))
    under_way = together * threads * flight
    busy = under_way / (under_way + FEW_ROWS.flight) * min(1.0, 1.5 * of_unit)
    # units with a block less leave their share of memory's bandwidth to the others
    uneven = math.ceil(of_unit) / of_unit
    used = strips * width / (view.n * problem.batch)
    traffic = problem.nbytes + (stacks - 1) * view.n * view.k * problem.batch * problem.itemsize / 2
    if together == 1 and (threads < FEW_ROWS.many or copies):
        uneven *= (FEW_ROWS.alone_with_copies if changes else 1.0) if copies else FEW_ROWS.alone
    memory = (
        traffic
        * (1 + (uneven - 1) / 2)
        / (units * FEW_ROWS.memory_bytes * clock * busy * min(1.0, 0.4 + segment / 192))
    )
    arithmetic = strips * stacks * view.k * cycles / units / clock * uneven
    # a block reads its rows of x, too, from the cache
    few = strips * stacks * rows * view.k * problem.itemsize / (units * 3 * FEW_ROWS.memory_bytes * clock)
    exposed = min(1.0, FEW_ROWS.overlap * max(1.0, FEW_ROWS.many / (together * threads)))
    longest = max(memory, arithmetic) + exposed * min(memory, arithmetic)
    total = longest * max(1.0, used**0.5) + few / 4 + FEW_ROWS.launch + FEW_ROWS.in_block
    total += start
    if splits > 1:
        of_thread = math.ceil(rows * width / threads)
        total += FEW_ROWS.arrival if arrives(caps) else FEW_ROWS.further
        total += splits * (0.1e-6 + 0.03e-6 * of_thread)
    return float(total)
