"""Measures what an OpenCL device reaches: arithmetic, memory, cache, launches. Takes some tenths of a second."""

from __future__ import annotations

import logging
import time

import numpy as np
import pyopencl as cl

from portagpu.backends.opencl.probing.rate import measured_gflops
from portagpu.backends.opencl.probing.workbench import DRIVER_ERRORS, Workbench, first_telling_line
from portagpu.backends.opencl.quirks import hints_for
from portagpu.device.rates import Rates
from portagpu.device.record import DeviceRecord

_logger = logging.getLogger(__name__)
_GROUP = 64
_MOST_BYTES = 1 << 28
_CACHED_BYTES = 1 << 21  # where the driver tells no size of a cache
_REPEATS = 5


def measure(record: DeviceRecord) -> Rates | None:
    """Measure a working device now; None for a simulator, whose times mean nothing, or a driver that fails."""
    hints = hints_for(record.platform, record.vendor)
    if hints.simulated or record.capabilities is None:
        return None
    try:
        bench = Workbench(record.native, hints)
        double = record.capabilities.fp64
        return Rates(
            float32=max(measured_gflops(bench) for _ in range(_REPEATS)) * 1e9,
            float64=max(measured_gflops(bench, np.float64) for _ in range(_REPEATS)) * 1e9 if double else 0.0,
            dram=_copy_rate(bench, min(_MOST_BYTES, int(bench.device.max_mem_alloc_size) // 4), 1),
            cache=_copy_rate(bench, (int(bench.device.global_mem_cache_size) or _CACHED_BYTES) // 4, 32),
            launch=_launch_seconds(bench),
        )
    except DRIVER_ERRORS as error:
        _logger.debug("rates: %s", first_telling_line(error))
        return None


def _copy_rate(bench: Workbench, nbytes: int, passes: int) -> float:
    """Bytes a second, reads and writes together, of copying half of ``nbytes`` to the other half."""
    kernel = bench.build("stream_copy")
    units = int(bench.device.max_compute_units)
    cpu = bool(bench.device.type & cl.device_type.CPU)
    # neighbouring items of a GPU read neighbouring vectors; a CPU's work-group of one item reads runs of memory (some
    # compilers for CPUs put the items of larger groups into the lanes of vectors, and gather)
    group = 1 if cpu else min(_GROUP, int(bench.device.max_work_group_size))
    vectors = max(group, nbytes // 2 // 16)
    items = min(units * group * (4 if cpu else 32), vectors // group * group)
    count = max(1, vectors // items)
    used = items * count
    target = cl.Buffer(bench.context, cl.mem_flags.READ_WRITE, 16 * used)
    source = cl.Buffer(bench.context, cl.mem_flags.READ_WRITE, 16 * used)
    for buffer in (target, source):  # pages exist only once they were written
        cl.enqueue_fill_buffer(bench.queue, buffer, np.float32(1), 0, 16 * used)
    spacing, stride = (count, 1) if cpu else (1, items)
    kernel.set_args(target, source, *(np.int32(x) for x in (spacing, stride, count, passes)))
    seconds = min(_timed(bench, kernel, items, group) for _ in range(_REPEATS + 1))
    return 2.0 * 16 * used * passes / seconds


def _launch_seconds(bench: Workbench) -> float:
    kernel = bench.build("stream_copy")
    buffer = cl.Buffer(bench.context, cl.mem_flags.READ_WRITE, 64)
    kernel.set_args(buffer, buffer, *(np.int32(0) for _ in range(4)))
    times = [_timed(bench, kernel, 1, 1) for _ in range(30)]
    return sorted(times)[len(times) // 2]


def _timed(bench: Workbench, kernel: cl.Kernel, items: int, group: int) -> float:
    bench.queue.finish()
    start = time.perf_counter()
    cl.enqueue_nd_range_kernel(bench.queue, kernel, (items,), (group,))
    bench.queue.finish()
    return time.perf_counter() - start
