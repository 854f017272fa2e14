"""Arguments of BLAS 3 for tests: matrices between canaries, triangles beside NaN, bounds of errors."""

from __future__ import annotations

import numpy as np
from option_pairs import in_short

from portagpu import cuda

DTYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
FACTORS = {"s": (1.5, -0.5), "d": (1.5, -0.5), "c": (1.5 - 0.5j, 0.5 + 2j), "z": (1.5 - 0.5j, 0.5 + 2j)}
LETTERS = in_short(DTYPES, "s", "z")
SIZES = (0, 1, 2, 3, 7, 16, 17, 31, 33, 64, 65, 129, 200, 257)
_CANARY = -77.0
_AROUND = 3  # rows and columns of canaries


def numbers(generator, shape, dtype):
    found = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * generator.standard_normal(shape)
    return found.astype(dtype)


def wide(dtype):
    return np.clongdouble if np.dtype(dtype).kind == "c" else np.longdouble


def triangle_of(n, lower):
    """Whether each element of an (n, n) matrix is in the triangle."""
    return np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T


def op(matrix, trans):
    return (matrix, matrix.T, matrix.conj().T)[trans]


class Held:
    """A matrix with canaries around it, in C or Fortran order, in the host's memory or on the device."""

    def __init__(self, matrix, order, on_device):
        rows, columns = matrix.shape
        whole = np.full((rows + 2 * _AROUND, columns + 2 * _AROUND), _CANARY, matrix.dtype, order=order)
        self._inside = (slice(_AROUND, _AROUND + rows), slice(_AROUND, _AROUND + columns))
        whole[self._inside] = matrix
        self._whole = cuda.to_device(whole) if on_device else whole
        self.array = self._whole[self._inside]

    def found(self):
        """The matrix as it is now; all canaries must be alive."""
        whole = np.array(host(self._whole))
        matrix = whole[self._inside].copy()
        whole[self._inside] = _CANARY
        assert (whole == _CANARY).all(), "written outside of the matrix"
        return matrix


def host(x):
    return x.copy_to_host() if hasattr(x, "copy_to_host") else x


def close(found, wanted, magnitude, terms=16):
    """Whether each element is within ``terms`` units of its sum of magnitudes."""
    kind = np.finfo(found.dtype)
    return bool((np.abs(found - wanted) <= terms * kind.eps * magnitude + kind.tiny).all())
