"""Functions and operators of constants have the results that they have of variables."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

from portagpu import cuda

LOW, HIGH = np.int64(-(2**63)), np.int64(2**63 - 1)
# functions, constants of NumPy's dtypes, the results
CASES = [
    (math.trunc, (np.int16(-32768),), -32768),
    (math.trunc, (np.float32(-1.5),), -1),
    (math.floor, (HIGH,), HIGH),
    (math.ceil, (np.uint64(2**63 + 1),), np.uint64(2**63 + 1).astype(np.int64)),
    (math.ldexp, (np.float32(0.75), np.int8(3)), 6),
    (math.ulp, (np.float32(1.0),), 2.0**-23),
    (np.hypot, (np.uint8(255), np.uint8(1)), math.hypot(255, 1)),
    (np.logaddexp2, (np.int8(0), np.uint16(1)), math.log2(3)),
    (np.sin, (np.int8(1),), math.sin(1)),
    (np.angle, (np.int8(-1),), math.pi),
    (np.spacing, (np.float16(-1),), -(2.0**-10)),
    (np.subtract, (np.False_, np.True_), -1),
    (operator.sub, (np.False_, np.True_), -1),
    (operator.add, (np.True_, np.True_), 2),
    (operator.neg, (np.True_,), -1),
    (round, (np.True_,), 1),
    (np.left_shift, (LOW, np.int64(1)), 0),
]
FUNCTIONS, OPERANDS, EXPECTED = zip(*CASES, strict=True)


@pytest.mark.one_device
def test_numpy_constants(device):
    if not device.capabilities.fp64:
        pytest.skip("no float64")

    @cuda.jit
    def kernel(floats, ints):
        for n, f in enumerate(FUNCTIONS):
            floats[n] = f(*OPERANDS[n])
            ints[n] = np.int64(f(*OPERANDS[n]))

    floats, ints = np.zeros(len(CASES)), np.zeros(len(CASES), np.int64)
    kernel[1, 1](floats, ints)
    for n, expected in enumerate(EXPECTED):
        whole = isinstance(expected, int | np.int64)
        got = ints[n] if whole else floats[n]
        close = got == expected if whole else math.isclose(got, expected, rel_tol=1e-12)
        assert close, (FUNCTIONS[n], OPERANDS[n], got, expected)
