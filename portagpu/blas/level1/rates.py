"""What the variants of BLAS 1 have in common: parameters, which are legal, and how fast memory is with them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from portagpu.blas.gemm.variants.cost_model import FEW_ROWS, THREADS_OF_UNIT
from portagpu.blas.level1.problem import SUMS, TRAFFIC, VectorProblem
from portagpu.blas.tunables.variant import Config, clock_mhz
from portagpu.device.capabilities import Capabilities
from portagpu.tuning.tunables.space import Axis

LAUNCH_SECONDS = 4e-6
FURTHER_SECONDS = 8e-6  # of a second launch
_BYTES_OF_CPU = 12.0  # in a cycle, that a compute unit gets from memory
_WIDE = 16  # bytes of a load, with which it gets that
_REGISTER_BYTES = 512  # of a thread for loads under way


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorConfig(Config):
    """``threads`` of a block, each with ``items`` loads of ``width`` bytes under way; ``blocks`` of a compute unit."""

    threads: int
    width: int
    items: int
    blocks: int


def vector_axes(caps: Capabilities) -> tuple[Axis, ...]:
    """The axes of threads, width and items."""
    if caps.local_memory_dedicated:
        return (
            Axis("threads", (32, 64, 128, 256, 512, 1024)),
            Axis("width", (4, 8, 16, 32)),
            Axis("items", (1, 2, 4, 8)),
        )
    return Axis("threads", (1,)), Axis("width", (8, 16, 32, 64, 128)), Axis("items", (1, 2, 4, 8))


def is_sound(config: VectorConfig, problem: VectorProblem, caps: Capabilities) -> bool:
    """The device has blocks of so many threads, and loads hold an element at least, 16 numbers at most."""
    vectors = 2 if problem.routine not in SUMS or TRAFFIC[problem.routine] == 2 else 1
    return (
        1 <= config.threads <= min(caps.max_work_group_size, caps.max_work_item_sizes[0])
        and config.threads & (config.threads - 1) == 0
        and problem.itemsize <= config.width <= 16 * problem.number_size
        and config.items * config.width * vectors <= _REGISTER_BYTES
    )


def memory_seconds(config: VectorConfig, problem: VectorProblem, caps: Capabilities, blocks: int) -> float:
    """Bytes over bandwidth, as far as loads enough are under way."""
    units = max(1, caps.compute_units)
    width = config.width if problem.contiguous else problem.itemsize
    busy = min(1.0, blocks * problem.batch / units)
    if not caps.local_memory_dedicated:
        rate = units * _BYTES_OF_CPU * clock_mhz(caps) * 1e6
        rounds = math.ceil(blocks / units) * units / max(1, blocks) if blocks else 1.0
        share = min(1.0, (0.5 + width / 128) * (0.8 + config.items / 20))
        return problem.nbytes * rounds / (rate * max(busy, 1 / units) * share)
    loads = min(2, TRAFFIC[problem.routine])
    resident = min(THREADS_OF_UNIT, config.threads * max(1, blocks * problem.batch // units))
    flight = resident * config.items * width * loads
    share = flight / (flight + FEW_ROWS.flight) * min(1.0, 0.8 + width / 80)
    rate = units * FEW_ROWS.memory_bytes * clock_mhz(caps) * 1e6
    return problem.nbytes / (rate * max(busy, 1 / units) * share)
