"""Threads side by side, as GPUs have them, draw the numbers that threads with many neighbours each draw."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, random
from portagpu.random import filling, sampling, thread_shares

SIZES = (0, 1, 3, 4, 5, 255, 256, 257, 1025, 5000)

DRAWS = {
    "random": lambda rng, n: [rng.random(n, np.float32), rng.integers(-5, 100, n)],
    "normal": lambda rng, n: [rng.standard_normal(n, np.float32), rng.exponential(size=n)],
    "gamma": lambda rng, n: [rng.standard_gamma(2.5, n, np.float32), rng.gamma(np.full(n, 0.5))],
    "poisson": lambda rng, n: [rng.poisson(3.5, n), rng.binomial(20, np.full(n, 0.3))],
    "permutation": lambda rng, n: [rng.permutation(n), rng.permuted(np.arange(2 * n).reshape(2, n), axis=1)],
    "choice": lambda rng, n: [rng.choice(9, n), rng.choice(9, n, p=np.arange(9) / 36), rng.choice(n, n // 2, False)],
    "lines": lambda rng, n: [rng.permutation(np.arange(3 * n).reshape(n, 3)), rng.choice(np.eye(4), n)],
    "reference": lambda rng, n: [random.Philox4x64(3).random(n), random.Philox4x64(4).integers(0, 1000, n)],
}


@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("name", DRAWS)
def test_both_draw_the_same(device, monkeypatch, name):
    drawn = []
    for lanes in (False, True):
        for module in (thread_shares, filling, sampling):
            monkeypatch.setattr(module, "has_lanes_of_threads", lambda caps, lanes=lanes: lanes)
        monkeypatch.setattr(cuda.current_context(), "expression_launches", {})
        rng = random.default_rng(11)
        drawn.append([part.copy_to_host() for n in SIZES for part in DRAWS[name](rng, n)])
    for loops, threads in zip(*drawn, strict=True):
        assert loops.shape == threads.shape and loops.dtype == threads.dtype
        np.testing.assert_allclose(threads, loops, rtol=1e-6)
