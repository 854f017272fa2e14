"""Integers that loops subtract from sums: one compiler joins partial sums with the wrong sign."""

import itertools

import numpy as np
import pytest

from portagpu import cuda

_FIRST = ("abs(i - 70000) * 50000", "max(i, 7)", "i * i")
_DIFFERENCES = ("out[1] += -i", "out[1] += -i * 2", "out[1] -= i", "d = -i; out[1] += d", "out[1] += i * -2", "s -= i")
_LAST = ("(-i) % 1024", "abs(i - 4)")


@pytest.mark.parametrize("turns", [24, 40])
def test_sums(device, turns):
    cases = list(itertools.product(_FIRST, _DIFFERENCES, _LAST))
    for first, difference, last in cases:
        body = f"i = j % (m + 9); out[0] += {first}; {difference}; out[2] += {last}"
        text = f"def kernel(m, out):\n    s = 0\n    for j in range({turns}):\n        {body}\n    out[3] = s"
        scope = {}
        exec(text, scope)
        expected, out = np.zeros((2, 4), np.int64)
        scope["kernel"](3, expected)
        cuda.jit(scope["kernel"])[1, 1](np.int32(3), out)
        np.testing.assert_array_equal(out, expected, text)
