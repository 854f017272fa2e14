"""The smallest and the largest element of an array in one pass, for the host."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.primitives.shares import threads_of
from portagpu.runtime.arrays.array import DeviceNDArray, device_array

_LANES = 16  # of a CPU's thread: compares for vectors of that many elements
_ITEMS = 8  # of a GPU's thread, loaded at once
_BLOCKS_PER_UNIT = 8
_LEAST = 4096  # elements for which another block is worth it


def extremes(values: DeviceNDArray) -> tuple[Any, Any]:
    """The smallest and the largest of a flat, contiguous, not empty array as NumPy scalars: NaN where one is NaN.

    The host waits for them.
    """
    context = values.context
    caps = context.capabilities
    threads = threads_of(caps)
    most = caps.compute_units * (1 if caps.is_serial else _BLOCKS_PER_UNIT)
    blocks = max(1, min(most, values.size // _LEAST))
    share = -(-values.size // blocks)
    with context.unsettled:
        found = device_array((2, blocks), values.dtype, context=context)
        nans = device_array(blocks, np.int32, context=context)
        _kernel(threads, values.dtype)[blocks, threads](values, found, nans, share)
        host = found.copy_to_host()
        if values.dtype.kind == "f" and nans.copy_to_host().any():
            return values.dtype.type(np.nan), values.dtype.type(np.nan)
    return host[0].min(), host[1].max()


@cache
def _kernel(threads: int, dtype: np.dtype[Any]) -> Dispatcher:
    if threads == 1:

        def extremes_serially(values, found, nans, share):
            first = min(cuda.blockIdx.x * share, values.size - 1)  # of an empty share: an element that others have
            last = min(first + share, values.size)
            low, high = cuda.local.array(_LANES, dtype), cuda.local.array(_LANES, dtype)
            bad = cuda.local.array(_LANES, np.int32)
            for k in cuda.unroll(range(_LANES)):
                low[k] = values[first]
                high[k] = values[first]
                bad[k] = 0
            i = first
            while i + _LANES <= last:
                for k in cuda.unroll(range(_LANES)):
                    value = values[i + k]
                    low[k] = value if value < low[k] else low[k]
                    high[k] = value if value > high[k] else high[k]
                    bad[k] |= np.int32(value != value)
                i += _LANES
            while i < last:
                value = values[i]
                low[0] = value if value < low[0] else low[0]
                high[0] = value if value > high[0] else high[0]
                bad[0] |= np.int32(value != value)
                i += 1
            for k in cuda.unroll(range(1, _LANES)):
                low[0] = low[k] if low[k] < low[0] else low[0]
                high[0] = high[k] if high[k] > high[0] else high[0]
                bad[0] |= bad[k]
            found[0, cuda.blockIdx.x] = low[0]
            found[1, cuda.blockIdx.x] = high[0]
            nans[cuda.blockIdx.x] = bad[0]

        return cuda.jit(extremes_serially)

    def extremes_of_block(values, found, nans, share):
        lows, highs = cuda.shared.array(threads, dtype), cuda.shared.array(threads, dtype)
        bads = cuda.shared.array(threads, np.int32)
        held = cuda.local.array(_ITEMS, dtype)
        thread = cuda.threadIdx.x
        first = min(cuda.blockIdx.x * share, values.size - 1)
        last = min(first + share, values.size)
        low = values[first]
        high = low
        bad = False
        i = first + thread
        while i + (_ITEMS - 1) * threads < last:
            for k in cuda.unroll(range(_ITEMS)):
                held[k] = values[i + k * threads]
            for k in cuda.unroll(range(_ITEMS)):
                low = held[k] if held[k] < low else low
                high = held[k] if held[k] > high else high
                bad = bad or held[k] != held[k]
            i += _ITEMS * threads
        while i < last:
            value = values[i]
            low = value if value < low else low
            high = value if value > high else high
            bad = bad or value != value
            i += threads
        lows[thread] = low
        highs[thread] = high
        bads[thread] = np.int32(bad)
        cuda.syncthreads()
        step = threads // 2
        while step > 0:
            if thread < step:
                other = lows[thread + step]
                lows[thread] = other if other < lows[thread] else lows[thread]
                other = highs[thread + step]
                highs[thread] = other if other > highs[thread] else highs[thread]
                bads[thread] |= bads[thread + step]
            cuda.syncthreads()
            step //= 2
        if thread == 0:
            found[0, cuda.blockIdx.x] = lows[0]
            found[1, cuda.blockIdx.x] = highs[0]
            nans[cuda.blockIdx.x] = bads[0]

    return cuda.jit(extremes_of_block)
