"""The check of products sees what it must see."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.tuning.trial import numpy_dtype, operand
from portagpu.blas.gemm.tuning.verification import ProductCheck, rounding

pytestmark = pytest.mark.one_device


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


def truncated(x, bits):
    """float32 numbers with only so many bits, rounded towards zero."""
    return (x.view(np.uint32) & np.uint32(0xFFFFFFFF << (24 - bits) & 0xFFFFFFFF)).view(np.float32)


def towards_zero(a, b, step):
    """Sums in float32 that are truncated after each step of the depth, as matrix units do it."""
    c = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(0, a.shape[1], step):
        exact = c.astype(np.float64) + a[:, k : k + step].astype(np.float64) @ b[k : k + step].astype(np.float64)
        near = exact.astype(np.float32)
        c = np.where(np.abs(near) > np.abs(exact), np.nextafter(near, np.float32(0)), near)
    return c


@pytest.mark.parametrize("k", [64, 4096])
@pytest.mark.parametrize(
    "dtype, out, precision",
    [("float32", "", "tf32"), ("float16", "", ""), ("float16", "float32", ""), ("bfloat16", "", "")],
)
def test_matrix_units_are_within_the_tolerance_and_a_lost_step_is_not(dtype, out, precision, k):
    problem = Problem(m=64, n=96, k=k, dtype=dtype, out=out, precision=precision)
    generator = np.random.default_rng(0)
    a, b = operand(generator, problem, 64, k, "C"), operand(generator, problem, k, 96, "C")
    check = ProductCheck(a, b, rounding(problem))
    used_a, used_b = a.astype(np.float32), b.astype(np.float32)
    if precision:
        used_a, used_b = truncated(used_a, 11), truncated(used_b, 11)
    kind = numpy_dtype(problem.out_dtype)
    assert check.error(towards_zero(used_a, used_b, 16).astype(kind)) < 0.7
    step = slice(k - 32, k)
    lost = towards_zero(used_a, used_b, 16) - used_a[:, step] @ used_b[step]
    assert check.error(lost.astype(kind)) > 1


def test_integers_are_exact_until_they_become_floats():
    generator = np.random.default_rng(0)
    for dtype, k in (("int8", 500), ("uint8", 5000)):
        problem = Problem(m=30, n=40, k=k, dtype=dtype)
        a, b = operand(generator, problem, 30, k, "C"), operand(generator, problem, k, 40, "C")
        c = a.astype(np.int32) @ b.astype(np.int32)
        check = ProductCheck(a, b, rounding(problem))
        assert check.error(c) == 0
        c[3, 4] += 1
        assert check.error(c) > 1
        as_floats = ProductCheck(a, b, rounding(Problem(m=30, n=40, k=k, dtype=dtype, out="float32")))
        c[3, 4] -= 1
        assert as_floats.error(c.astype(np.float32)) <= 1
        assert as_floats.error((c + (c // 1000)).astype(np.float32)) > 1
