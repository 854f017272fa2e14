"""Arrays of numbers that take an unknown count of random words: the kernel, and its launch."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.random.filling import Place, has_lanes_of_threads
from portagpu.random.samplers import Sampler
from portagpu.runtime.arrays.array import DeviceNDArray

_THREADS = 128
_TURNS = 16


@cuda.jit
def sample_elements(out, place, a, b, plan: cuda.constexpr):
    """A number for each element; a thread has one, or neighbouring ones."""
    thread = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    if plan.chunked:
        each = (out.size + cuda.gridDim.x - 1) // cuda.gridDim.x
        first = thread * each
        end = min(first + each, out.size)
    else:
        first = thread
        end = min(first + 1, out.size)
    for i in range(first, end):
        block = place.start + np.uint64(i)
        if plan.arrays:
            out[i] = plan.dtype(plan.one(block, place, a[i], b[i], plan))
        else:
            out[i] = plan.dtype(plan.one(block, place, a, b, plan))


def sample(out: DeviceNDArray, place: Place, a: Any, b: Any, plan: Sampler, stream: Any) -> int:
    """Fill an array of one axis, without gaps, as ``a`` and ``b`` where these are arrays; how many blocks that took."""
    if out.size:
        caps = out.context.capabilities
        if has_lanes_of_threads(caps):
            threads = min(_THREADS, caps.max_work_group_size, caps.max_work_item_sizes[0])
            sample_elements[-(-out.size // threads), threads, stream](out, place, a, b, plan)
        else:
            grid = min(out.size, caps.compute_units * _TURNS)
            sample_elements[grid, 1, stream](out, place, a, b, plan._replace(chunked=True))
    return out.size
