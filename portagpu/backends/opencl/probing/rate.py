"""Rough rates of arithmetic, to rank devices by what they do and not by what they report."""

from __future__ import annotations

import logging
import time
from typing import Any

import numpy as np
import pyopencl as cl

from portagpu.backends.opencl.probing.workbench import DRIVER_ERRORS, Workbench, first_telling_line

_CHAINS = 8
_ENOUGH_S = 0.004
_MOST_STEPS = 1 << 14
_GROUP = 64
_logger = logging.getLogger(__name__)


def measured_gflops(bench: Workbench, dtype: type[np.floating[Any]] = np.float32) -> float:
    """Billions of operations a second in chains of multiply-adds; 0.0 where that fails."""
    try:
        return _measure(bench, dtype)
    except DRIVER_ERRORS as error:
        _logger.debug("rate: %s", first_telling_line(error))
        bench.check_alive()
        return 0.0


def _measure(bench: Workbench, dtype: type[np.floating[Any]]) -> float:
    device = bench.device
    double = dtype is np.float64
    lanes = int(device.native_vector_width_double if double else device.native_vector_width_float)
    lanes = lanes if lanes in (2, 4, 8, 16) else 1
    kernel = bench.build("fma_rate", f"-DLANES={lanes}" + " -DREAL=double" * double)
    group = min(_GROUP, int(device.max_work_group_size))
    cpu = bool(device.type & cl.device_type.CPU) and not device.type & cl.device_type.GPU
    items = group * int(device.max_compute_units) * (1 if cpu else 32)
    if bench.hints.simulated:
        items = group
    target = cl.Buffer(bench.context, cl.mem_flags.WRITE_ONLY, np.dtype(dtype).itemsize * items)
    flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    start = cl.Buffer(bench.context, flags, hostbuf=np.linspace(0.0, 1.0, 16, dtype=dtype))
    steps = 4
    while True:
        kernel.set_args(target, start, dtype(0.5), dtype(1.0), np.int32(steps))
        seconds = min(_timed(bench, kernel, items, group) for _ in range(3))
        if seconds >= _ENOUGH_S or steps >= _MOST_STEPS:
            return 2.0 * _CHAINS * lanes * items * steps / seconds / 1e9
        steps = min(_MOST_STEPS, steps * 16 if seconds < _ENOUGH_S / 16 else steps * 4)


def _timed(bench: Workbench, kernel: cl.Kernel, items: int, group: int) -> float:
    start = time.perf_counter()
    cl.enqueue_nd_range_kernel(bench.queue, kernel, (items,), (group,))
    bench.queue.finish()
    return time.perf_counter() - start
