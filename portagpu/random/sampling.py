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
_CHUNK = 64  # elements whose first attempts a thread with loops makes at a time


@cuda.jit
def sample_by_threads(out, place, a, b, plan: cuda.constexpr):
    """A number for each thread."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    if i < out.size:
        block = place.start + np.uint64(i)
        x = a[i] if plan.arrays else a
        y = b[i] if plan.arrays else b
        if plan.quick is None:
            out[i] = plan.dtype(plan.one(block, place, x, y, plan))
        else:
            taken, value = plan.quick(block, place, x, y, plan)
            out[i] = plan.dtype(value if taken else plan.one(block, place, x, y, plan))


@cuda.jit
def sample_by_loops(out, place, a, b, plan: cuda.constexpr):
    """Neighbouring numbers for each thread: the first attempts of many, then what those did not give."""
    values = cuda.local.array(_CHUNK, plan.dtype)
    is_taken = cuda.local.array(_CHUNK, np.int32)
    chunks = (out.size + _CHUNK - 1) // _CHUNK
    each = (chunks + cuda.gridDim.x - 1) // cuda.gridDim.x
    first = each * cuda.blockIdx.x
    for chunk in range(first, min(first + each, chunks)):
        at = np.int64(chunk) * _CHUNK
        count = min(np.int64(_CHUNK), out.size - at)
        block = place.start + np.uint64(at)
        if plan.quick is not None and count == _CHUNK:
            for k in range(_CHUNK):
                x = a[at + k] if plan.arrays else a
                y = b[at + k] if plan.arrays else b
                taken, value = plan.quick(block + np.uint64(k), place, x, y, plan)
                values[k] = plan.dtype(value)
                is_taken[k] = 1 if taken else 0
        else:
            for k in range(_CHUNK):
                is_taken[k] = 0
        for k in range(count):
            if is_taken[k] == 0:
                x = a[at + k] if plan.arrays else a
                y = b[at + k] if plan.arrays else b
                values[k] = plan.dtype(plan.one(block + np.uint64(k), place, x, y, plan))
        for k in range(count):
            out[at + k] = values[k]


def sample(out: DeviceNDArray, place: Place, a: Any, b: Any, plan: Sampler, stream: Any) -> int:
    """Fill an array of one axis, without gaps, as ``a`` and ``b`` where these are arrays; how many blocks that took."""
    if out.size:
        caps = out.context.capabilities
        if has_lanes_of_threads(caps):
            threads = min(_THREADS, caps.max_work_group_size, caps.max_work_item_sizes[0])
            sample_by_threads[-(-out.size // threads), threads, stream](out, place, a, b, plan)
        else:
            grid = min(-(-out.size // _CHUNK), caps.compute_units * _TURNS)
            sample_by_loops[grid, 1, stream](out, place, a, b, plan)
    return out.size
