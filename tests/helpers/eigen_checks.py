"""What eigenvalues and eigenvectors of general matrices must be like, whatever found them."""

import numpy as np

_STEPS = 16
"""Householder reductions and sweeps leave what is some ``n * eps`` of the norm: each element meets some n reflections
from either side, whose rounding errors add up, a few each. Most residuals are below ``n * eps``."""


def random_matrices(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(shape)
    return (found + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else found).astype(dtype)


def norms(x, axis=(-2, -1)):
    return np.sqrt((np.abs(x) ** 2).sum(axis=axis))


def bounds(a):
    """How far residuals, relative to a vector of length 1, may be from zero: of each matrix."""
    return _STEPS * a.shape[-1] * np.finfo(a.dtype).eps * norms(a.astype(np.clongdouble))


def check_pairs(a, w, v, *, unbalanced=1):
    """``a @ v = v @ diag(w)``, with v of length 1; and of real matrices what conjugates demand.

    unbalanced: by how much balancing may make residuals larger, which are small beside the balanced matrix's norm.
    """
    eps, result = np.finfo(a.dtype).eps, np.result_type(a.dtype, np.complex64)
    assert w.dtype == v.dtype == result and w.shape == a.shape[:-1] and v.shape == a.shape
    wide, vectors = a.astype(np.clongdouble), v.astype(np.clongdouble)
    residuals = norms(wide @ vectors - vectors * w[..., None, :], axis=-2)
    assert (residuals <= unbalanced * bounds(a)[..., None]).all()
    assert (np.abs(norms(vectors, axis=-2) - 1) <= 8 * eps).all()
    if a.dtype.kind == "f":
        for values, columns in zip(w.reshape(-1, w.shape[-1]), v.reshape(-1, *v.shape[-2:]), strict=True):
            apart = np.flatnonzero(values.imag)
            first, second = apart[::2], apart[1::2]
            assert (values[first].imag > 0).all() and (second == first + 1).all()
            np.testing.assert_array_equal(values[second], values[first].conj())
            np.testing.assert_array_equal(columns[:, second], columns[:, first].conj())
            assert (columns[:, values.imag == 0].imag == 0).all()
    is_largest = np.abs(v) >= (1 - 8 * eps) * np.abs(v).max(axis=-2, keepdims=True)
    assert (is_largest & (v.imag == 0)).any(axis=-2).all()


def distances(one, other):
    """The largest distance between eigenvalues of each matrix, matched so that the sum of all is least."""
    from scipy.optimize import linear_sum_assignment

    found = []
    for x, y in zip(one.reshape(-1, one.shape[-1]), other.reshape(-1, other.shape[-1]), strict=True):
        apart = np.abs(x[:, None] - y[None])
        found.append(apart[linear_sum_assignment(apart)].max())
    return np.array(found)


def value_bounds(a):
    """How far eigenvalues may be off: that of residuals times the condition of eigenvectors (F. Bauer, C. Fike, "Norms
    and exclusion theorems", Numerische Mathematik 2, 1960)."""
    condition = np.linalg.cond(np.linalg.eig(a.astype(np.complex128))[1])
    return (bounds(a) * condition).astype(float).reshape(-1)
