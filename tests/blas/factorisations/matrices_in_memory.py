"""Matrices on the device between canaries, in any order and with gaps, and random ones."""

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.core.operands import with_strides

CANARY = -77.0
_AHEAD, _GAP = 16, 4


def random(generator, shape, dtype):
    """Normal numbers, complex ones for complex dtypes."""
    x = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * generator.standard_normal(shape)
    return x.astype(dtype)


class Placed:
    """A matrix, or a batch of three axes, in device memory with canaries before, behind and between its lines."""

    def __init__(self, x: np.ndarray, order: str) -> None:
        self._turned = order == "F"
        lines = x.swapaxes(-1, -2) if self._turned else x
        *batch, n, m = lines.shape
        self._held = np.full((*batch, n + 1, m + _GAP), CANARY, x.dtype)
        self._inside = (Ellipsis, slice(0, n), slice(0, m))
        self._held[self._inside] = lines
        whole = np.full(2 * _AHEAD + self._held.size, CANARY, x.dtype)
        whole[_AHEAD : _AHEAD + self._held.size] = self._held.ravel()
        self._whole = cuda.to_device(whole)
        item = x.itemsize
        pitch = (m + _GAP) * item
        shape, strides = [n, m], [pitch, item]
        if self._turned:
            shape.reverse(), strides.reverse()
        if batch:
            shape.insert(0, batch[0]), strides.insert(0, (n + 1) * pitch)
        self.array = with_strides(self._whole, tuple(shape), tuple(strides), first=_AHEAD * item)

    def found(self) -> np.ndarray:
        """The matrix as it is now. All canaries must be alive."""
        whole = self._whole.copy_to_host()
        held = whole[_AHEAD : whole.size - _AHEAD].reshape(self._held.shape)
        lines = held[self._inside].copy()
        held[self._inside] = CANARY
        assert np.all(whole == CANARY), "written outside of the matrix"
        return lines.swapaxes(-1, -2) if self._turned else lines


def only_triangle(a: np.ndarray, lower: bool, fill: complex = np.nan) -> np.ndarray:
    """A copy with one triangle, and another value beyond it."""
    n = a.shape[-1]
    kept = np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T
    return np.where(kept, a, np.asarray(fill, a.dtype))
