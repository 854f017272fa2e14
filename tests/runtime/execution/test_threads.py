"""Threads that compile and launch specialisations of one kernel at the same time, on all devices."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from portagpu import cuda
from portagpu.device import working_devices
from portagpu.runtime.execution.context import Context

DTYPES = [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.float32, np.float64]


def made():
    """A kernel that nobody has compiled."""

    @cuda.jit(device=True)
    def combine(a, b):
        return a * 2 + b

    @cuda.jit
    def kernel(x, y, n):
        tile = cuda.shared.array(64, np.float64)
        i = cuda.grid(1)
        tile[cuda.threadIdx.x] = combine(x[i], y[i])
        cuda.syncthreads()
        for _ in range(n):
            y[i] = tile[cuda.threadIdx.x]

    return kernel


@pytest.mark.parametrize("repeat", range(3))
def test_specialisations_at_once_on_all_devices(repeat):
    records = [d for d in working_devices() if d.capabilities.fp64]
    kernel = made()
    start = threading.Barrier(8)

    def work(number):
        with Context.for_device(records[number % len(records)]):
            start.wait(60)
            for turn in range(12):  # all threads meet in each specialisation, in another order
                dtype = DTYPES[(number + turn) % 8]
                x = np.arange(64).astype(dtype)
                y = cuda.to_device(np.full(64, 1, dtype))
                kernel[1, 64](x, y, 1 if turn % 2 else np.int32(1))
                np.testing.assert_array_equal(y.copy_to_host(), (np.arange(64) * 2 + 1).astype(dtype))
        return number

    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(work, n) for n in range(8)]
        assert [d.result(timeout=120) for d in done] == list(range(8))
