"""Dtypes of quantiles: those that NumPy promotes from elements and quantiles."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda

pytestmark = pytest.mark.one_device
_QUANTILES = (0.5, 1, [0.25], [0, 1], np.float32(0.5), np.float64(0.5), np.array([0.25, 0.5], np.float32))
_PERCENTILES = (50.0, 50, [25.0], [0, 100], np.float32(50), np.float64(50), np.array([25, 50], np.float32))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "uint8", "bool"])
@pytest.mark.parametrize("function", ["quantile", "percentile", "nanquantile", "nanpercentile"])
def test_dtypes(device, dtype, function):
    x = np.arange(6).astype(dtype)
    there = cuda.to_device(x)
    for q in _QUANTILES if function.endswith("quantile") else _PERCENTILES:
        for method in ("linear", "lower", "midpoint", "hazen"):
            try:
                expected = getattr(np, function)(x, q, method=method)
            except TypeError:  # bools have no differences
                continue
            found = getattr(np, function)(there, q, method=method)
            assert found.dtype == expected.dtype, (q, method)
            np.testing.assert_allclose(found.copy_to_host(), expected, rtol=1e-3)
