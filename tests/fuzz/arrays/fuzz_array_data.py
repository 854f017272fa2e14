"""Operands of generated array programs, and their units in the last place."""

from __future__ import annotations

from typing import Any

import numpy as np

DTYPES = ("b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")


def data(kind: str, shape: Any, seed: int, order: str = "C") -> np.ndarray[Any, Any]:
    """Small numbers and the ends of a dtype, the same each time; complex numbers are small whole ones.

    Some arrays of floats have digits to the last, so that a step that is not rounded shows.

    ``kind`` is a dtype's short name, followed by ``w`` for small whole numbers alone.
    """
    dtype = np.dtype(kind.removesuffix("w"))
    random = np.random.default_rng([seed, dtype.num])
    count = int(np.prod(shape))
    values = _numbers(random, dtype, count, whole=kind.endswith("w"))
    return np.array(values.astype(dtype).reshape(shape), order=order, copy=None)  # type: ignore[call-overload]


def _numbers(random: np.random.Generator, dtype: np.dtype[Any], count: int, *, whole: bool) -> Any:
    small = random.integers(0 if dtype.kind in "bu" else -9, 10, count)
    if dtype.kind == "b":
        return small % 2
    if dtype.kind == "c":
        return small + 1j * random.integers(-9, 10, count)
    if whole:
        return small
    rare = random.random(count) < 0.25
    with np.errstate(over="ignore"):
        if dtype.kind == "f":
            info = np.finfo(dtype)
            ends = [0.0, -0.0, np.inf, -np.inf, np.nan, info.max, info.tiny, -info.eps, 1 / 3, info.tiny / 4]
            parts = random.random(count) if random.random() < 0.3 else random.integers(0, 4, count) / 4
            ordinary = (small + parts).astype(dtype)
            return np.where(rare, random.choice(np.array(ends, dtype), count), ordinary)
    info = np.iinfo(dtype)
    return np.where(rare, random.choice(np.array([info.min, info.max, info.max // 2, 1, 2], dtype), count), small)


def ulp(x: Any) -> Any:
    """The distance of neighbours at ``x``, of complex numbers at the modulus; of what is not finite 0."""
    size = np.abs(x)
    info = np.finfo(size.dtype)
    wide = np.where(np.isfinite(size), size, 0).astype(np.longdouble)
    return np.ldexp(np.longdouble(info.eps), np.frexp(np.maximum(wide, np.longdouble(info.tiny)))[1] - 1)
