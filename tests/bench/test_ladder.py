"""The ladder: each kernel at sizes that no tile divides, the files, and what `--compare` says. Nothing is timed."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu.bench.ladder.steps import STEPS, Operands
from portagpu.blas.verification import ProductCheck
from portagpu.runtime.creation import to_device

NAMES = [step.name for step in STEPS]


def operands(m, n, k, dtype, seed=0):
    generator = np.random.default_rng(seed)
    a = generator.standard_normal((m, k)).astype(dtype)
    b = generator.standard_normal((k, n)).astype(dtype)
    c = np.full((m, n), np.nan, dtype)  # what a step forgets shows
    return a, b, Operands(a=to_device(a), b=to_device(b), c=to_device(c))


def multiply(step, values):
    step.prepare(values).enqueue()
    return values.c.copy_to_host()


@pytest.mark.oclgrind
@pytest.mark.parametrize("number", range(len(STEPS)), ids=NAMES)
def test_small_products(device, number):
    for m, n, k in ((1, 1, 1), (5, 3, 7), (12, 8, 4)):
        a, b, values = operands(m, n, k, "float32")
        assert ProductCheck(a, b).error(multiply(STEPS[number], values)) <= 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", range(len(STEPS)), ids=NAMES)
def test_products_of_every_size(device, number, dtype):
    # none is a multiple of a tile; the third has whole vectors, so that vectors are loaded
    for m, n, k in ((131, 261, 67), (257, 33, 129), (132, 140, 76), (128, 256, 64)):
        a, b, values = operands(m, n, k, dtype, seed=k)
        assert STEPS[number].obstacle(values) is None
        assert ProductCheck(a, b).error(multiply(STEPS[number], values)) <= 1, (m, n, k)
