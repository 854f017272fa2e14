"""The cost model of products with few rows on GPUs: bytes over bandwidth, as far as loads enough are under way."""

from __future__ import annotations

import math
from typing import NamedTuple

from portagpu.blas.gemm.core.few_rows import FewRows
from portagpu.blas.gemm.core.interface import clock_mhz
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.variants.cost_model import FEW_ROWS, REGISTER_FILE, THREADS_OF_UNIT, cores
from portagpu.blas.gemm.variants.skinny.launch import arrives
from portagpu.device.capabilities import Capabilities


class Block(NamedTuple):
    """What a block of a kernel is, needs and does.

    ``rows`` x ``width`` sums by ``threads``, each with so many ``registers``; ``local_memory``: bytes. ``flight``:
    bytes that a thread has under way; ``segment``: bytes side by side that the block reads of the large matrix;
    ``cycles``: of a compute unit for each k. ``copies``: the bytes are under way to shared memory, whatever the threads
    wait for; ``changes``: the few rows are in panels there. ``start``: seconds until the first products.
    """

    rows: int
    width: int
    threads: int
    registers: int
    local_memory: int
    flight: int
    segment: int
    cycles: float
    copies: bool
    changes: bool
    start: float


def seconds(problem: Problem, view: FewRows, caps: Capabilities, splits: int, block: Block) -> float:
    """Seconds of a product whose sums are in ``splits`` parts, one for each block."""
    units, clock = cores(caps), clock_mhz(caps) * 1e6
    strips = math.ceil(view.n / block.width) * problem.batch
    stacks = math.ceil(view.rows / block.rows)
    blocks = strips * stacks * splits
    fit = min(REGISTER_FILE // block.registers, THREADS_OF_UNIT) // block.threads
    fit = max(1, min(fit, max(1, caps.local_memory_static) // max(1, block.local_memory)))
    of_unit = blocks / units
    together = min(fit, math.ceil(of_unit))
    under_way = together * block.threads * block.flight
    busy = under_way / (under_way + FEW_ROWS.flight) * min(1.0, 1.5 * of_unit)
    # units with a block less leave their share of memory's bandwidth to the others
    uneven = math.ceil(of_unit) / of_unit
    used = strips * block.width / (view.n * problem.batch)
    traffic = problem.nbytes + (stacks - 1) * view.n * view.k * problem.batch * problem.itemsize / 2
    if together == 1 and (block.threads < FEW_ROWS.many or block.copies):
        uneven *= (FEW_ROWS.alone_with_copies if block.changes else 1.0) if block.copies else FEW_ROWS.alone
    memory = (
        traffic
        * (1 + (uneven - 1) / 2)
        / (units * FEW_ROWS.memory_bytes * clock * busy * min(1.0, 0.4 + block.segment / 192))
    )
    arithmetic = strips * stacks * view.k * block.cycles / units / clock * uneven
    # a block reads its rows of x, too, from the cache
    few = strips * stacks * block.rows * view.k * problem.itemsize / (units * 3 * FEW_ROWS.memory_bytes * clock)
    exposed = min(1.0, FEW_ROWS.overlap * max(1.0, FEW_ROWS.many / (together * block.threads)))
    longest = max(memory, arithmetic) + exposed * min(memory, arithmetic)
    total = longest * max(1.0, used**0.5) + few / 4 + FEW_ROWS.launch + FEW_ROWS.in_block
    total += block.start
    if splits > 1:
        of_thread = math.ceil(block.rows * block.width / block.threads)
        total += FEW_ROWS.arrival if arrives(caps) else FEW_ROWS.further
        total += splits * (0.1e-6 + 0.03e-6 * of_thread)
    return float(total)
