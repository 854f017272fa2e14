"""The stable order of NumPy's descending sorts, which it has from 2.5 on: NaN and NaT are last in them, too."""

from __future__ import annotations

import numpy as np

HAS_DESCENDING = np.lib.NumpyVersion(np.__version__) >= "2.5.0"


def falling_order(x, axis=-1):
    """What ``numpy.argsort(x, axis, stable=True, descending=True)`` returns, with older NumPy, too."""
    if HAS_DESCENDING:
        return np.argsort(x, axis=axis, stable=True, descending=True)
    if axis is None:
        x, axis = x.reshape(-1), 0
    turned = np.argsort(np.flip(x, axis), axis=axis, stable=True)
    order = x.shape[axis] - 1 - np.flip(turned, axis)  # equal elements stand as they did; NaN is first
    holes = _holes(x)
    behind = np.argsort(np.take_along_axis(holes, order, axis), axis=axis, stable=True)
    return np.take_along_axis(order, behind, axis)


def _holes(x):
    """0 for numbers; of complex ones 1 where the imaginary part is NaN, 2 where the real one is, 3 where both are."""
    if x.dtype.kind == "c":
        return np.isnan(x.imag) + 2 * np.isnan(x.real)
    if x.dtype.kind in "fmM":
        return (np.isnat if x.dtype.kind in "mM" else np.isnan)(x).astype(np.int8)
    return np.zeros(x.shape, np.int8)


def falling(x, axis=-1):
    """What ``numpy.sort(x, axis, stable=True, descending=True)`` returns, with older NumPy, too."""
    flat = x.reshape(-1) if axis is None else x
    return np.take_along_axis(flat, falling_order(x, axis), 0 if axis is None else axis)
