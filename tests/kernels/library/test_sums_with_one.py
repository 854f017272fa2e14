"""``1 + tanh(x)`` and ``1 + erf(x)`` in float32: functions of their own, right everywhere, alone and in vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from portagpu import cuda
from portagpu.runtime.arrays.creation import to_device

ENDS = [0.0, -0.0, np.inf, -np.inf, np.nan, 100.0, -100.0, 1e30, -1e30]
POINTS = np.concatenate([np.linspace(-12, 12, 20_001), ENDS]).astype(np.float32)
POINTS = np.resize(POINTS, -(-len(POINTS) // 8) * 8)
UNITS = 3  # in the last place of the larger of 1 and the function


@cuda.jit
def one_by_one(x, with_tanh, with_erf):
    i = cuda.grid(1)
    if i < x.size:
        with_tanh[i] = 1 + math.tanh(x[i])
        with_erf[i] = math.erf(x[i]) + 1.0


@cuda.jit
def eight_at_once(x, with_tanh, with_erf):
    i = cuda.grid(1) * 8
    if i < x.size:
        values = cuda.vload(x, i, 8)
        cuda.vstore(_vector_of(values), with_tanh, i)
        cuda.vstore(_others_of(values), with_erf, i)


@cuda.jit(device=True)
def _tanh(value):
    return 1 + math.tanh(value)


@cuda.jit(device=True)
def _erf(value):
    return 1 + math.erf(value)


@cuda.jit(device=True)
def _vector_of(x):
    return cuda.float32x8(
        _tanh(x[0]), _tanh(x[1]), _tanh(x[2]), _tanh(x[3]), _tanh(x[4]), _tanh(x[5]), _tanh(x[6]), _tanh(x[7])
    )


@cuda.jit(device=True)
def _others_of(x):
    return cuda.float32x8(
        _erf(x[0]), _erf(x[1]), _erf(x[2]), _erf(x[3]), _erf(x[4]), _erf(x[5]), _erf(x[6]), _erf(x[7])
    )


@pytest.mark.parametrize("kernel, each", [(one_by_one, 1), (eight_at_once, 8)])
def test_sums_with_one(device, kernel, each):
    x = to_device(POINTS)
    with_tanh, with_erf = cuda.device_array_like(x), cuda.device_array_like(x)
    threads = len(POINTS) // each
    kernel[-(-threads // 64), 64](x, with_tanh, with_erf)
    wide = POINTS.astype(np.float64)
    # 1 + tanh(x) is twice the logistic function of 2 x, 1 + erf(x) the complementary function of -x
    for found, wanted in ((with_tanh, 2 * special.expit(2 * wide)), (with_erf, special.erfc(-wide))):
        unit = np.spacing((1 + np.abs(wanted - 1)).astype(np.float32))
        np.testing.assert_array_equal(np.isnan(found.copy_to_host()), np.isnan(wide))
        known = ~np.isnan(wide)
        error = np.abs(found.copy_to_host() - wanted)[known] / unit[known]
        assert error.max() <= UNITS
