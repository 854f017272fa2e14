"""``cuda.jit(fma=False)``: a product and a sum are rounded each, in an expression, through a call and in a loop."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda

PRAGMA = "#pragma OPENCL FP_CONTRACT OFF"


@cuda.jit(device=True)
def product(x, y):
    return x * y


def sums(a, b, c, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i, 0] = a[i] * b[i] + c[i]
        out[i, 1] = product(a[i], b[i]) - c[i]
        total = c[i]
        for j in range(3):
            total += a[i - j] * b[i]
        out[i, 2] = total
        z = complex(a[i], b[i]) * complex(c[i], a[i])
        out[i, 3] = z.real
        out[i, 4] = z.imag


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_is_rounded(device, dtype):
    if dtype is np.float64 and not device.capabilities.fp64:
        pytest.skip("no float64")
    a, b, c = (np.random.default_rng(n).standard_normal(500).astype(dtype) for n in range(3))
    out = np.zeros((500, 5), dtype)
    cuda.jit(sums, fma=False)[4, 128](a, b, c, out)
    total = c.copy()
    for j in range(3):
        total += np.roll(a, j) * b
    wanted = [a * b + c, a * b - c, total, a * c - b * a, a * a + b * c]
    np.testing.assert_array_equal(out, np.stack(wanted, axis=1))


@pytest.mark.one_device
def test_the_text_says_so(device):
    signature = "void(float32[:], float32[:], float32[:], float32[:, :])"
    assert cuda.jit(signature, fma=False)(sums).inspect_opencl(signature).count(PRAGMA) == 1
    for asked in ({}, {"fma": True}, {"fma": None}):
        kernel = cuda.jit(signature, **asked)(sums)
        assert PRAGMA not in kernel.inspect_opencl(signature)
        assert kernel.targetoptions["fma"]


def test_functions_of_elements(device):
    a, b, c = (np.random.default_rng(n).standard_normal(500).astype(np.float32) for n in range(3))
    found = cuda.vectorize(["float32(float32, float32, float32)"], fma=False)(lambda x, y, z: x * y + z)(a, b, c)
    np.testing.assert_array_equal(found, a * b + c)
