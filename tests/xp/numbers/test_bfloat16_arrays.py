"""Device arrays of bfloat16 sort, reduce and calculate as their numbers in float32 do, rounded."""

from __future__ import annotations

import numpy as np
import pytest
from falling_orders import falling

from portagpu import cuda, errors, primitives, xp

ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
pytestmark = pytest.mark.one_device


def _numbers(count):
    rng = np.random.default_rng(8)
    return np.r_[rng.integers(-200, 200, count - 6) / 4, np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-39].astype(BFLOAT16)


def test_sorts(device):
    host = _numbers(3001)
    x, wide = cuda.to_device(host), host.astype(np.float32)
    np.testing.assert_array_equal(xp.sort(x).copy_to_host().astype(np.float32), np.sort(wide))
    np.testing.assert_array_equal(xp.argsort(x).copy_to_host(), np.argsort(wide, stable=True))
    down = xp.sort(x, descending=True).copy_to_host().astype(np.float32)
    np.testing.assert_array_equal(down, falling(wide))
    np.testing.assert_array_equal(xp.unique_values(x[:-6]).copy_to_host().astype(np.float32), np.unique(wide[:-6]))
    largest, places = primitives.top_k(x[:-6], 5)
    np.testing.assert_array_equal(largest.copy_to_host().astype(np.float32), np.sort(wide[:-6])[::-1][:5])
    np.testing.assert_array_equal(wide[places.copy_to_host()], largest.copy_to_host().astype(np.float32))
    found = xp.searchsorted(xp.sort(x[:-6]), x[:9])
    np.testing.assert_array_equal(found.copy_to_host(), np.searchsorted(np.sort(wide[:-6]), wide[:9]))


def test_reductions(device):
    """Sums are formed in float32: in bfloat16 they would stay at 256."""
    ones = cuda.to_device(np.ones((2048, 3), BFLOAT16))
    assert xp.sum(ones, axis=0).copy_to_host().tolist() == [2048] * 3 and xp.sum(ones).dtype == BFLOAT16
    assert xp.mean(ones).item() == 1 and xp.sum(ones, dtype=xp.float32).item() == 6144
    host = _numbers(3001)[:-6]
    x, wide = cuda.to_device(host), host.astype(np.float32)
    for name in ("max", "min", "argmax", "argmin", "count_nonzero", "any", "all"):
        assert getattr(xp, name)(x).item() == getattr(np, name)(wide), name
    for name in ("mean", "std", "var"):
        np.testing.assert_allclose(float(getattr(xp, name)(x)), getattr(np, name)(wide, dtype=np.float64), rtol=2**-7)
    assert np.isnan(float(xp.max(cuda.to_device(_numbers(50)))))
    steps = xp.cumulative_sum(cuda.to_device(np.ones(200, BFLOAT16)))
    np.testing.assert_array_equal(steps.copy_to_host().astype(np.int32), np.arange(1, 201))


def test_expressions_and_types(device):
    host = _numbers(100)[:-6]
    x, wide = cuda.to_device(host), host.astype(np.float32)
    for found, wanted in ((x * 2 + x, (wide * 2).astype(BFLOAT16).astype(np.float32) + wide), (-x, -wide)):
        np.testing.assert_array_equal(found.copy_to_host(), wanted.astype(BFLOAT16))
    assert (x + cuda.to_device(wide)).dtype == np.float32
    np.testing.assert_array_equal(x[x > 0].copy_to_host(), host[wide > 0])
    assert xp.isdtype(x.dtype, "real floating") and not xp.isdtype(x.dtype, "integral")
    assert float(xp.finfo(x.dtype).eps) == 2**-7
    with pytest.raises(errors.DTypeError, match="real numbers, not of bfloat16"):
        np.histogram(x)
