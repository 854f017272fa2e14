"""Vectors that are `numpy.matrix`, which has two axes whatever it is reshaped to."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import blas

pytestmark = [
    pytest.mark.one_device,
    pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning"),
]


@pytest.mark.parametrize("turned", [False, True])
def test_matrices_as_vectors(device, turned):
    flat = np.arange(1.0, 6.0)
    x = np.asmatrix(flat).T if turned else np.asmatrix(flat)
    assert blas.ddot(x, flat) == flat @ flat
    made = blas.dgemv(2.0, np.diag(flat), x)
    assert type(made) is np.ndarray and np.array_equal(made, 2 * flat * flat)
    y = flat.copy()
    assert blas.daxpy(x, y) is y and np.array_equal(y, 2 * flat)
