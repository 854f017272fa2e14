"""Arrays of all dtypes to sort: extremes, zeros of both signs, infinities, NaN of several bits, equal elements."""

from __future__ import annotations

import numpy as np
from falling_orders import falling_order

_INTEGERS = "int8 uint8 int16 uint16 int32 uint32 int64 uint64"
DTYPES = [
    np.dtype(name) for name in f"bool {_INTEGERS} float16 float32 float64 complex64 complex128 M8[s] m8[ns]".split()
]


def sample(dtype, shape, seed=0):
    """An array whose elements are of all kinds that the dtype has."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iumM":
        bits = rng.integers(0, 256, (*shape, dtype.itemsize), dtype=np.uint8).view(dtype)[..., 0]
        few = np.array([-1, 0, 1, -(2**63), 2**63 - 1]).astype(dtype)
        return np.where(rng.random(shape) < 0.5, bits, rng.choice(few, shape))
    if dtype.kind == "c":
        part = np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
        made = np.empty(shape, dtype)
        made.real, made.imag = sample(part, shape, seed), sample(part, shape, seed + 1)
        return made
    few = rng.choice(np.array([0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1, -1, 3e-8, 60000]), shape)
    return np.where(rng.random(shape) < 0.5, rng.standard_normal(shape), few).astype(dtype)


def stable_order(x, axis=-1, *, descending=False):
    """NumPy's stable order; NaN of other signs do not mislead its sort of float16."""
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), np.array(np.nan, x.dtype), x)
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    return falling_order(x, axis)
