"""Host operands in the byte order of other machines, on either side of device arrays: NumPy's results."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda

_USES = {
    "operators": lambda x, h: [x * h, h * x, h - x, h > x, x > h, h**x],
    "functions": lambda x, h: [np.add(h, x), np.maximum(x, h), np.hypot(h, x), np.add.outer(h, x)],
    "choices": lambda x, h: [
        np.where(x > 1, x, h),
        np.where(x > 1, h, x),
        np.clip(x, h, h),
        np.select([x > 1], [h], h),
    ],
    "joins": lambda x, h: [np.concatenate([x, h]), np.stack([h, x]), np.append(x, h), np.insert(x, 1, h)],
    "products": lambda x, h: [np.matmul(x, h), np.matmul(h, x), h @ x, x @ h, np.dot(h, x), np.outer(h, x)],
    "searches": lambda x, h: [np.searchsorted(x, h), np.searchsorted(h, x), np.isin(x, h), np.digitize(x, h)],
}


@pytest.mark.one_device
@pytest.mark.parametrize("kind", ["i2", "u4", "i8", "f4", "f8", "c8"])
@pytest.mark.parametrize("name", _USES)
def test_operands(device, name, kind):
    if kind == "c8" and name in ("operators", "functions", "choices", "searches"):
        pytest.skip("complex numbers are not compared")
    host = np.arange(3).astype(kind)
    swapped = host.astype(host.dtype.newbyteorder())
    wanted, found = _USES[name](host, host), _USES[name](cuda.to_device(host), swapped)
    for one, two in zip(found, wanted, strict=True):
        assert one.dtype == two.dtype
        assert one.dtype.isnative
        np.testing.assert_allclose(one.copy_to_host(), two, rtol=1e-6)


@pytest.mark.one_device
@pytest.mark.parametrize("kind", ["i2", "u4", "i8"])
def test_subscripts(device, kind):
    host, at = np.arange(5.0), np.array([3, 0, 1]).astype(np.dtype(kind).newbyteorder())
    x = cuda.to_device(host)
    for found in (x[at], np.take(x, at), np.take(x, at, mode="wrap"), x.take(at)):
        np.testing.assert_array_equal(found.copy_to_host(), host[at])
    np.add.at(x, at, host[:3].astype(">f8"))
    np.add.at(host, at, host[:3].copy())
    np.testing.assert_array_equal(x.copy_to_host(), host)
