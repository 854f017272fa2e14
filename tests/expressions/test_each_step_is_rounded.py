"""Sums of products of device arrays: each step is rounded by itself, as NumPy does, though one kernel runs them all."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, xp

EXPRESSIONS = {
    "product and sum": lambda a, b, c: a * b + c,
    "product and difference": lambda a, b, c: c - a * b,
    "difference of products": lambda a, b, c: a * b - c * a,
    "difference of squares": lambda a, b, c: a * a - b * b,
    "square": lambda a, b, c: np.square(a) + b,
    "choice": lambda a, b, c: np.where(a > 0, a * b, 1) + c,
    "remainder": lambda a, b, c: np.divmod(a, b)[1] * b + c,
    "root": lambda a, b, c: np.sqrt(a * a + b * b),
    "complex sum": lambda a, b, c: a * b + (c + 1j * a),
    "complex difference": lambda a, b, c: (a + 1j * b) - (b * c),
    "rows": lambda a, b, c: a.reshape(40, 25).T * b.reshape(25, 40) + c.reshape(25, 40),
    "maxima": lambda a, b, c: np.max((a * b + c).reshape(-1, 4), axis=1),
    "sums of two": lambda a, b, c: np.sum((a * b).reshape(-1, 2), axis=1),
    "cross product": lambda a, b, c: np.cross(a[:999].reshape(-1, 3), b[:999].reshape(-1, 3)),
    "polynomial": lambda a, b, c: np.polyval([1.5, 2.5, 0.3], a),
    "in place": lambda a, b, c: _in_place(a.copy(), b, c),
}


def _in_place(a, b, c):
    a *= b
    a += c
    return a


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_sums_of_products(device, name, dtype):
    if dtype is np.float64 and not device.capabilities.fp64:
        pytest.skip("no float64")
    host = [np.random.default_rng(n).standard_normal(1000).astype(dtype) for n in range(3)]
    function = EXPRESSIONS[name]
    found, wanted = function(*map(cuda.to_device, host)), function(*host)
    np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)


@pytest.mark.parametrize("kind", ["linspace", "arange"])
def test_sequences(device, kind):
    dtype = np.float64 if device.capabilities.fp64 else np.float32
    for low, high, count in ((0.1, 7.3, 1000), (-3.7, 11.9, 333), (2.1, -8.8, 57)):
        numbers = (low, high, count if kind == "linspace" else (high - low) / count)
        found, wanted = (getattr(library, kind)(*numbers, dtype=dtype) for library in (xp, np))
        np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)
