"""Kernels with a fault that some targets find: one spills, one uses what few have. Lines are counted by tests."""

from __future__ import annotations

import numpy as np

from portagpu import cuda


@cuda.jit("void(float32[::1])")
def spills(x):
    t = cuda.threadIdx.x
    a = cuda.local.array(100, np.float32)
    for i in range(100):
        a[i] = x[i * 64 + t]
    for i in range(100):
        x[i * 64 + t] = a[(i * 7) % 100] * a[(i + t) % 100]  # the scratch accesses


@cuda.jit("void(float32[::1])")
def matrix(x):
    x[0] = 1
    sums = cuda.mfma("m16n16k16", "float16", cuda.int16x4(0), cuda.int16x4(0), cuda.float32x4(x[1]))  # a feature
    x[0] = sums[0]


@cuda.jit("void(float32[::1], float32[::1])")
def wide(x, y):
    i = cuda.grid(1) * 4
    v = cuda.vload(x, i, 4, aligned=True) * 3 + cuda.vload(y, i, 4, aligned=True)
    cuda.vstore(v, y, i, aligned=True)


@cuda.jit
def plane(x):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        x[i, j] += 1
