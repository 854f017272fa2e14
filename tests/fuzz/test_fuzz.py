"""Random kernels compute on each device what plain Python does; ``python -m tests.fuzz`` runs as many as one likes."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz_kernels import check, smaller
from fuzz_minimise import minimised
from fuzz_programs import Argument, Kernel, kernels
from fuzz_reference import execute
from fuzz_subject import Difference, Invalid
from hypothesis import HealthCheck, given, reject, seed, settings

SEEDS = (1, 2, 3)
EXAMPLES = 4  # kernels of a seed for each example that other tests have


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("number", SEEDS)
def test_random_kernels(device, number):
    @seed(number)
    @settings(
        max_examples=EXAMPLES * settings.default.max_examples,
        derandomize=False,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(kernels())
    def explore(kernel):
        try:
            check(kernel)
        except Invalid:
            reject()

    explore()


def test_a_difference_is_reported(device, monkeypatch):
    source = "@cuda.jit\ndef kernel(r0):\n    i = cuda.grid(1)\n    r0[i] = i\n"
    kernel = Kernel(source, (Argument("r0", "i4", (4,), "C", True),), (1,), (4,), 0)
    check(kernel)
    monkeypatch.setattr("fuzz_kernels.execute", lambda *args, **options: {})  # Python computes nothing: zeros
    with pytest.raises(Difference, match="is 1 on the device, 0 in Python; 3 of 4"):
        check(kernel)


def test_failures_are_minimised():
    source = """
@cuda.jit(device=True)
def f(a):
    return a + 1

@cuda.jit
def kernel(r0, r1):
    i = cuda.grid(1)
    total = 0
    for k in range(3):
        if k > 1:
            total += f(k)
        else:
            total -= 1
    r0[i] = total * 2 if i > 1 else total
    r1[i] = total - i
"""
    arguments = (Argument("r0", "i4", (4,), "F", True), Argument("r1", "i4", (8,), "C", True))
    kernel = Kernel(source, arguments, (2,), (4,), 0)
    small = minimised(kernel, lambda k: "-=" in k.source and "r1" in k.source, smaller, 20)
    assert small.source == "@cuda.jit\ndef kernel(r1):\n    total -= 0\n"
    assert (small.grid, small.block, [a.name for a in small.arguments]) == ((1,), (1,), ["r1"])


def test_threads_meet_at_barriers():
    source = """
@cuda.jit(device=True)
def rotate(s, t, v):
    s[t] = v
    cuda.syncthreads()
    return s[(t + 1) % 4]

@cuda.jit
def kernel(r0, r1):
    t = cuda.threadIdx.x
    s = cuda.shared.array(4, np.int8)
    if t == 3:
        return
    r0[t] = rotate(s, t, np.int8(100) + np.int8(t * 20))
    r1[t] = cuda.syncthreads_count(t > 0)
"""
    r0, r1 = np.zeros(4, np.int64), np.zeros(4, np.int8)
    execute(source, "kernel", (1,), (4,), (r0, r1))
    assert r0.tolist() == [120, -116, 0, 0]  # int8 wraps around
    assert r1.tolist() == [2, 2, 2, 0]
