"""Measures what a SYCL device reaches: arithmetic, memory, cache, launches. Takes a second, mostly for compiling."""

from __future__ import annotations

import logging

import numpy as np

from portagpu.backends.sycl.handles import Device
from portagpu.backends.sycl.library import Library, SyclError
from portagpu.backends.sycl.probing import kernels
from portagpu.backends.sycl.probing.trials import multiply_adds
from portagpu.backends.sycl.probing.workbench import Workbench
from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.device.rates import Rates

_logger = logging.getLogger(__name__)
_VECTOR = 16  # bytes
_GROUP = 64
_MOST_BYTES = 1 << 28
_CACHED_BYTES = 1 << 21  # where the driver tells no size of a cache
_CACHE_PASSES = 32
_REPEATS = 6
_LAUNCHES = 30


def measure(library: Library, device: Device, caps: Capabilities) -> Rates | None:
    """Measure a working device now; None where its driver fails."""
    try:
        bench = Workbench(library, device)
        kinds = ["float", "double"] if caps.fp64 else ["float"]
        bench.build_together({"copy": kernels.STREAM_COPY, **{f"rate_{kind}": kernels.rate(kind) for kind in kinds}})
        found = {kind: multiply_adds(bench, kind, caps.compute_units) * 1e9 for kind in kinds}
        return Rates(
            float32=found["float"],
            float64=found.get("double", 0.0),
            dram=_copy_rate(bench, caps, min(_MOST_BYTES, caps.max_allocation // 4), 1),
            cache=_copy_rate(bench, caps, (caps.global_cache or _CACHED_BYTES) // 4, _CACHE_PASSES),
            launch=_launch_seconds(bench),
        )
    except SyclError as error:
        _logger.debug("rates: %s", error)
        return None


def _copy_rate(bench: Workbench, caps: Capabilities, nbytes: int, passes: int) -> float:
    """Bytes a second, reads and writes together, of copying half of ``nbytes`` to the other half."""
    cpu = caps.device_type is DeviceType.CPU
    # neighbouring items of a GPU read neighbouring vectors; a CPU's group of one item reads runs of memory
    group = 1 if cpu else min(_GROUP, caps.max_work_group_size)
    vectors = max(group, nbytes // 2 // _VECTOR)
    items = min(caps.compute_units * group * (4 if cpu else 32), vectors // group * group)
    count = max(1, vectors // items)
    used = _VECTOR * items * count
    spacing, stride = (count, 1) if cpu else (1, items)
    with bench.scratch(used) as target, bench.scratch(used) as source:
        numbers = (np.int32(x) for x in (spacing, stride, count, passes))
        values = (target, source, *numbers)
        times = bench.times("copy", kernels.STREAM_COPY, items, group, *values, times=_REPEATS)
    return 2.0 * used * passes / max(min(times), 1e-9)


def _launch_seconds(bench: Workbench) -> float:
    """The median of launches that do nothing."""
    with bench.scratch(_VECTOR) as memory:
        values = (memory, memory, *(np.int32(0) for _ in range(4)))
        times = bench.times("copy", kernels.STREAM_COPY, 1, 1, *values, times=_LAUNCHES)
    return sorted(times)[len(times) // 2]
