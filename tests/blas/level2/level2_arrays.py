"""Arguments of BLAS 2 for tests: vectors with gaps, triangles whose other half is NaN, and errors against bounds."""

from __future__ import annotations

import numpy as np
from option_pairs import in_short

from portagpu import cuda

DTYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
FACTORS = {"s": (1.5, -0.5), "d": (1.5, -0.5), "c": (1.5 - 0.5j, 0.5 + 2j), "z": (1.5 - 0.5j, 0.5 + 2j)}

SIZES = (1, 2, 7, 16, 33, 64, 129, 257)
INCREMENTS = (1, -1, 2, -2)


LETTERS = in_short(DTYPES, "s", "z")


def sizes_for(device):
    """A simulator takes minutes for large ones: there, only one is more than a block on GPUs."""
    return (1, 2, 7, 130, 16, 33, 3, 65) if device.platform == "Oclgrind" else SIZES


def moved(on_device, *arrays):
    return [cuda.to_device(x) if on_device else x for x in arrays]


def host(x):
    return x.copy_to_host() if hasattr(x, "copy_to_host") else x


def numbers(generator, shape, dtype):
    found = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * generator.standard_normal(shape)
    return found.astype(dtype)


def wide(dtype):
    return np.clongdouble if np.dtype(dtype).kind == "c" else np.longdouble


def spread(values, increment, offset=0, gap=np.nan):
    """An array that has a vector's elements ``increment`` apart from an offset on, and ``gap`` in all other places."""
    step, n = abs(increment), len(values)
    array = np.full(offset + (n - 1) * step + 3 if n else offset + 1, gap, values.dtype)
    if n:
        array[offset : offset + (n - 1) * step + 1 : step] = values[:: 1 if increment > 0 else -1]
    return array


def elements(array, n, increment, offset=0):
    """The elements of a vector in an array, and whether each place of the array is one of them."""
    step = abs(increment)
    places = offset + np.arange(n) * step
    inside = np.zeros(len(array), bool)
    inside[places] = True
    return array[places[:: 1 if increment > 0 else -1]], inside


def triangle(matrix, lower, unit=False):
    """A matrix of which a triangle is left, in higher precision, and the matrix with NaN in all other places."""
    n = len(matrix)
    there = np.tril(np.ones((n, n), bool)) if lower else np.triu(np.ones((n, n), bool))
    exact = np.where(there, matrix, 0).astype(wide(matrix.dtype))
    planted = np.where(there, matrix, np.nan).astype(matrix.dtype)
    if unit:
        np.fill_diagonal(exact, 1)
        np.fill_diagonal(planted, np.nan)
    return exact, planted


def op(matrix, trans):
    return (matrix, matrix.T, matrix.conj().T)[trans]


def close(found, wanted, magnitude, terms=16):
    """Whether each element is within ``terms`` units, of the less exact dtype, of its sum of magnitudes."""
    kind = max((np.finfo(x.dtype) for x in (found, wanted)), key=lambda kind: kind.eps)
    return bool((np.abs(found - wanted) <= terms * kind.eps * magnitude + kind.tiny).all())
