"""Negated numbers that threads keep over barriers: one CPU's compiler takes them for the same in all threads."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from portagpu import cuda
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.device import DeviceRecord
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import COMPLEX64, FLOAT32, FLOAT64
from portagpu.ir.types import ArrayType, Layout, Scalar

N = 40  # more than a warp, and no multiple of a vector's lanes
SIGN = -1.0
SIGNS = np.array([3.0, -1.0], np.float32)


def negated(x, flat, out):
    """Values from before a barrier, after it."""
    i = cuda.threadIdx.x
    a, b, c = x[0, i], x[1, i], x[2, i]
    zero = type(a)(0)
    opposite, of_id, flipped, divided = -a, -type(a)(i), a * SIGN, b / SIGN
    power, difference, quotient = math.exp(-a), a - b * c, -(b / c)
    magnitude, subtracted, in_table = -abs(b), 0 - c, c * cuda.const.array_like(SIGNS)[1]
    pair = -cuda.vload(flat, 2 * i, 2)
    out[0, i] = opposite + of_id * flipped
    cuda.syncthreads()
    out[1, i], out[2, i], out[3, i], out[4, i] = opposite, of_id, flipped, divided
    out[5, i], out[6, i], out[7, i], out[8, i] = power, difference, quotient, magnitude
    out[9, i] = c - b * a
    cuda.syncthreads()
    out[10, i], out[11, i] = pair.x * b, pair.y
    out[12, i] = b * a - c
    out[13, i] = -(zero * abs(a))
    out[14, i], out[15, i] = subtracted, in_table


@cuda.jit
def turned(x, out):
    """Signs that change in a loop around barriers, and a neighbour's number."""
    i = cuda.threadIdx.x
    shared = cuda.shared.array(N, x.dtype)
    value, product = x[i], x[i]
    for _ in range(5):
        shared[i] = value
        cuda.syncthreads()
        other = shared[(i + 1) % N]
        cuda.syncthreads()
        value = -value
        product = product * other - product * value
    out[i] = product + value


def expected_of_turned(x):
    value, product = x.copy(), x.copy()
    for _ in range(5):
        other = np.roll(value, -1)
        value = -value
        product = product * other - product * value
    return product + value


@pytest.mark.oclgrind
@pytest.mark.parametrize(("dtype", "fast"), [("float32", True), ("float32", False), ("float64", False)])
def test_threads_keep_what_they_negate(device: DeviceRecord, dtype: str, fast: bool) -> None:
    if dtype == "float64" and not device.capabilities.fp64:
        pytest.skip("no float64")
    x = np.random.default_rng(5).uniform(0.5, 2, (3, N)).astype(dtype) * [[1], [-1], [1]]
    x = x.astype(dtype)
    a, b, c = x
    ids = np.arange(N)
    out = np.zeros((16, N), dtype)
    cuda.jit(fastmath=fast)(negated)[1, N](x, x.ravel(), out)
    expected = np.array(
        [
            *(ids * a - a, -a, -ids, -a, -b, np.exp(-a), a - b * c, -b / c, -np.abs(b)),
            *(c - b * a, -x.ravel()[: 2 * N : 2] * b, -x.ravel()[1 : 2 * N : 2], b * a - c, 0 * a, -c, -c),
        ]
    )
    bound = 16 * np.finfo(dtype).eps
    assert np.allclose(out, expected, rtol=bound, atol=bound)
    assert fast or np.signbit(out[13]).all()


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_signs_that_change_in_a_loop(device: DeviceRecord, dtype: str) -> None:
    generator = np.random.default_rng(6)
    x = generator.uniform(0.2, 0.8, N) + (1j * generator.uniform(0.2, 0.8, N) if dtype == "complex64" else 0)
    x = x.astype(dtype)
    out = np.zeros(N, dtype)
    turned[1, N](x, out)
    assert np.allclose(out, expected_of_turned(x), rtol=1e-5)


def test_negations_are_hidden_only_beside_barriers() -> None:
    """And only where the driver needs it; sums of products stay as they are."""

    @cuda.jit
    def alone(x):
        i = cuda.threadIdx.x
        x[i] = -x[i] - x[i + 1] * x[i + 2]

    @cuda.jit
    def beside(x):
        i = cuda.threadIdx.x
        a, b = x[i], x[i + 1]
        cuda.syncthreads()
        x[i] = -a - a * b
        x[i + 1] = a * b + a

    def text(kernel, dtype, *, keeps):
        caps = dataclasses.replace(IDEAL, keeps_negations=keeps)
        kind = ArrayType(Scalar(dtype), 1, Layout.C)
        return generate(lower_kernel(kernel.source, (kind,), caps), caps).source

    for dtype, name in ((FLOAT32, "float"), (FLOAT64, "double")):
        hidden = text(beside, dtype, keeps=False)
        assert f"pg_negated_{name}(a) - pg_rounded_{name}(a * b)" in hidden and "a * b + a" in hidden
        for plain in (text(alone, dtype, keeps=False), text(beside, dtype, keeps=True)):
            assert "pg_" not in plain
    assert "pg_negated_float2(a)" in text(beside, COMPLEX64, keeps=False)
    assert "FP_CONTRACT OFF" in text(beside, COMPLEX64, keeps=False)
    assert "FP_CONTRACT" not in text(beside, COMPLEX64, keeps=True)
