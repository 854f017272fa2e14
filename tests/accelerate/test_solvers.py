"""Systems and factorisations: whatever `portagpu.linalg` has, with NumPy's and SciPy's errors and warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg

import portagpu
from portagpu.accelerate.solvers import KINDS

N = 24
GENERATOR = np.random.default_rng(5)
GENERAL = GENERATOR.random((N, N)) + N * np.eye(N)
DEFINITE = GENERAL @ GENERAL.T
RIGHT = GENERATOR.random((N, 3))


def parts(result):
    return result if isinstance(result, tuple) else (result,)


CALLS = {
    "numpy.linalg.solve": lambda: np.linalg.solve(GENERAL, RIGHT),
    "numpy.linalg.solve of a vector": lambda: np.linalg.solve(GENERAL, RIGHT[:, 0].copy()),
    "numpy.linalg.cholesky": lambda: np.linalg.cholesky(DEFINITE),
    "numpy.linalg.inv": lambda: np.linalg.inv(GENERAL),
    "scipy.linalg.solve": lambda: scipy.linalg.solve(GENERAL, RIGHT),
    "scipy.linalg.cholesky": lambda: scipy.linalg.cholesky(DEFINITE),
    "scipy.linalg.cholesky of the lower triangle": lambda: scipy.linalg.cholesky(DEFINITE, lower=True),
    "scipy.linalg.lu_factor": lambda: scipy.linalg.lu_factor(GENERAL, check_finite=False),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.one_device
def test_a_function_is_taken_over(name, device):
    expected = CALLS[name]()
    with portagpu.accelerate(threshold=0) as block:
        found = CALLS[name]()
    for one, other in zip(parts(found), parts(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
        if name.startswith("scipy.linalg.cholesky"):  # whose order is another one in some versions
            assert one.flags.f_contiguous
            continue
        assert (one.flags.c_contiguous, one.flags.f_contiguous) == (other.flags.c_contiguous, other.flags.f_contiguous)
    assert name.startswith(block.report().taken[0].function)


LEFT = {
    "overwrite": lambda: scipy.linalg.solve(GENERAL, RIGHT, assume_a="pos"),
    "upper": lambda: np.linalg.cholesky(DEFINITE, upper=True),
    "batch": lambda: np.linalg.inv(np.stack([GENERAL, DEFINITE])),
    "dtypes": lambda: np.linalg.solve(GENERAL, RIGHT.astype(np.float32)),
}


@pytest.mark.parametrize("name", LEFT)
@pytest.mark.one_device
def test_what_is_left(name, device):
    expected = LEFT[name]()
    with portagpu.accelerate(threshold=0) as block:
        np.testing.assert_array_equal(LEFT[name](), expected)
    assert block.report().left and not block.report().taken


@pytest.mark.one_device
def test_errors_and_warnings_are_numpys_and_scipys(device):
    singular, infinite = np.ones((N, N)), np.full((N, N), np.inf)
    nearly = np.ones((N, N)) + 1e-15 * np.eye(N)
    with portagpu.accelerate(threshold=0):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            np.linalg.inv(singular)
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            np.linalg.cholesky(-DEFINITE)
        with pytest.raises(ValueError, match="infs or NaNs"):
            scipy.linalg.solve(infinite, RIGHT)
        with pytest.raises(ValueError, match="infs or NaNs"):
            scipy.linalg.lu_factor(infinite)
        with warnings.catch_warnings(), pytest.warns(scipy.linalg.LinAlgWarning):
            scipy.linalg.solve(nearly, RIGHT)


@pytest.mark.one_device
def test_samples_can_be_measured(device):
    for name, kind in KINDS.items():
        sample = kind.samples("float64")[0]
        for one, other in zip(parts(sample.numpy()), parts(sample.device()), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, err_msg=name)
