"""Which elements a thread has: one where neighbouring threads run in lanes, many neighbours where each runs alone."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.device.capabilities import Capabilities
from portagpu.runtime.arrays.array import DeviceNDArray

_THREADS = 256
_TURNS = 16  # shares for each core of a CPU, so that all are done at the same time


def has_lanes_of_threads(caps: Capabilities) -> bool:
    """Whether neighbouring threads run together, and not each by itself."""
    return not caps.is_serial or caps.subgroup_size > 1


def grid_of(array: DeviceNDArray) -> tuple[int, int, bool]:
    """Blocks, threads of each, and whether a thread has neighbouring elements: `share_of_thread` tells which."""
    caps = array.context.capabilities
    if has_lanes_of_threads(caps):
        threads = min(_THREADS, caps.max_work_group_size, caps.max_work_item_sizes[0])
        return max(1, -(-array.size // threads)), threads, False
    return max(1, min(array.size, caps.compute_units * _TURNS)), 1, True


@cuda.jit(device=True)
def share_of_thread(size, chunked: cuda.constexpr):
    """The first of ``size`` elements that a thread has, and the end of those; with ``chunked`` blocks have one thread.

    Kernels call it at one place, where compilers put its body.
    """
    each = np.int64(1)
    if chunked:
        each = np.int64((size + cuda.gridDim.x - 1) // cuda.gridDim.x)
    first = (np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x) * each
    return first, min(first + each, np.int64(size))
