"""Arrays of numbers that take an unknown count of random words: the kernel, and its launch."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.dispatch import ready
from portagpu.random.filling import Place
from portagpu.random.samplers import Sampler
from portagpu.random.thread_shares import has_lanes_of_threads, share_of_thread
from portagpu.runtime.arrays.array import DeviceNDArray, device_array

_THREADS = 128
_TURNS = 16
_CHUNK = 64  # elements of a thread with loops at least


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
def try_by_loops(out, is_taken, place, a, b, plan: cuda.constexpr):
    """The first attempts of all elements, in a program of their own: what it calls at one place runs in lanes."""
    first, end = share_of_thread(out.size, True)
    for i in range(first, end):
        x = a[i] if plan.arrays else a
        y = b[i] if plan.arrays else b
        taken, value = plan.quick(place.start + np.uint64(i), place, x, y, plan)
        out[i] = plan.dtype(value)
        is_taken[i] = np.uint8(1) if taken else np.uint8(0)


@cuda.jit
def sample_by_loops(out, is_taken, place, a, b, plan: cuda.constexpr):
    """Numbers of neighbouring elements for each thread, but of those whose first attempt was taken."""
    first, end = share_of_thread(out.size, True)
    for i in range(first, end):
        if plan.quick is None or is_taken[i] == 0:
            x = a[i] if plan.arrays else a
            y = b[i] if plan.arrays else b
            out[i] = plan.dtype(plan.one(place.start + np.uint64(i), place, x, y, plan))


def sample(out: DeviceNDArray, place: Place, a: Any, b: Any, plan: Sampler, stream: Any) -> int:
    """Fill an array of one axis, without gaps, as ``a`` and ``b`` where these are arrays; how many blocks that took."""
    if out.size:
        caps = out.context.capabilities
        if has_lanes_of_threads(caps):
            threads = min(_THREADS, caps.max_work_group_size, caps.max_work_item_sizes[0])
            ready.launch(sample_by_threads, -(-out.size // threads), threads, (out, place, a, b, plan), stream)
        else:
            grid = min(-(-out.size // _CHUNK), caps.compute_units * _TURNS)
            is_taken = out  # stands where nothing is read
            if plan.quick is not None:
                is_taken = device_array(out.size, np.dtype(np.uint8), context=out.context)
                ready.launch(try_by_loops, grid, 1, (out, is_taken, place, a, b, plan), stream)
            ready.launch(sample_by_loops, grid, 1, (out, is_taken, place, a, b, plan), stream)
    return out.size
