"""Kernels that tests export as SYCL: beside those of `exported_kernels`."""

import numpy as np

from portagpu import cuda

WEIGHTS = np.array([1, 2.5, -1, 0.125], np.float32)
TURNS = np.array([1, 1j, -1, -1j], np.complex64)


@cuda.jit("void(float32[::1], int32[::1])")
def counts(x, bins):
    """Static shared memory, barriers, atomic operations on both memories."""
    own = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        own[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(own, int(x[i] * 4) % 16, 1)
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(bins, t, own[t])


@cuda.jit
def sum_and_difference(x, y):
    return x + y, x - y


@cuda.jit("void(float32[:, ::1], complex64[:, ::1])", block_dim=(16, 4))
def turned(a, z):
    """Two axes, a device function of two results, constant arrays, complex numbers, a block of one size."""
    weights, turns = cuda.const.array_like(WEIGHTS), cuda.const.array_like(TURNS)
    j, i = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        more, less = sum_and_difference(a[i, j], weights[j % 4])
        z[i, j] = z[i, j] * turns[i % 4]
        a[i, j] = more * less


@cuda.jit("void(float32[::1], float32)")
def prints(x, limit):
    """Text, and an atomic maximum of floats, which is a loop."""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(x, 0, x[i] * limit)
        if i == 1:
            print("one", x[i])
