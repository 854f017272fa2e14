"""The check of products sees what it must see."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu.blas.verification import ProductCheck


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (40, 20, 30), (300, 400, 500)])
def test_right_and_wrong_results(dtype, m, n, k):
    generator = np.random.default_rng(0)
    a = generator.standard_normal((m, k)).astype(dtype)
    b = generator.standard_normal((k, n)).astype(dtype)
    check = ProductCheck(a, b)
    c = a @ b
    assert check.error(c) <= 1
    for damage in (np.nan, np.inf):
        wrong = c.copy()
        wrong[-1, -1] = damage
        assert check.error(wrong) == float("inf")
    wrong = c.copy()
    wrong[: m // 2 + 1, : n // 2 + 1] = 0  # a tile that was never written
    assert check.error(wrong) > 1
    wrong = a @ b - np.outer(a[:, 0], b[0])  # the first step of k left out
    assert check.error(wrong) > 1
    assert check.error(np.zeros_like(c)) > 1
