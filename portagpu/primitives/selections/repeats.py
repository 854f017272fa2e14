"""Which elements a sequence has in which each element is repeated a number of times of its own."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.dispatch import ready
from portagpu.errors import ShapeError
from portagpu.primitives.selections.compaction_kernels import places_kernel
from portagpu.primitives.selections.predicates import flags_by
from portagpu.primitives.selections.selection import flatnonzero
from portagpu.primitives.shares import threads_of
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.ufuncs.kernel_source import launch


@cuda.jit
def _owners(places, out):
    """``out[i]`` = the last k with ``places[k] <= i``."""
    i = cuda.grid(1)
    if i < out.size:
        low, high = np.int64(0), np.int64(places.size - 1)
        while high - low > 1:
            middle = (low + high) // 2
            if places[middle] <= i:
                low = middle
            else:
                high = middle
        out[i] = low


@cuda.jit(device=True)
def _is_negative(count):
    return count < 0


def numbers_of_repeats(counts: DeviceNDArray) -> DeviceNDArray:
    """0 ``counts[0]`` times, 1 ``counts[1]`` times ...: int64. The host waits for their sum. Raises `ShapeError`."""
    context = counts.context
    flat = counts if counts.is_c_contiguous() else counts.copy()
    if flatnonzero(flags_by(flat, _is_negative)).size:
        raise ShapeError("elements are not repeated a negative number of times")
    with context.unsettled:
        places = device_array(flat.size + 1, np.int64, context=context)
        threads = threads_of(context.capabilities)
        ready.launch(places_kernel(threads), 1, threads, (flat, places))
        out = device_array(int(places[flat.size :].copy_to_host()[0]), np.int64, context=context)
        if out.size:
            launch(_owners, out.size, None, 0, (places, out), context)
    return out
