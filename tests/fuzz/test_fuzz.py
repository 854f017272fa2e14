"""Random kernels compute on each device what plain Python does; ``python -m tests.fuzz`` runs as many as one likes."""

from __future__ import annotations

from random import Random

import fuzz_kernels
import fuzz_operators
import numpy as np
import pytest
from fuzz_kernel import Argument, Kernel
from fuzz_kernels import check, require_defined, smaller
from fuzz_meeting import Undefined
from fuzz_minimise import minimised
from fuzz_reference import execute
from fuzz_subject import Difference, Invalid
from hypothesis import settings

SEEDS = (1, 2, 3)
MINIMISING = 30  # seconds
EXAMPLES = 4  # kernels of a seed for each example that other tests have


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("number", SEEDS)
def test_random_kernels(device, number):
    explore_kernels(fuzz_kernels, number, EXAMPLES)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("number", SEEDS)
def test_random_nests_of_operators(device, number):
    explore_kernels(fuzz_operators, number, 1)


def explore_kernels(subject, number, examples):
    for n in range(examples * settings.default.max_examples):
        (kernel,) = subject.drawn(Random(f"{number}/{n}"))
        try:
            check(kernel)
        except Invalid:
            continue
        except Exception as error:
            raise AssertionError(f"{error}\n{minimised(kernel, fails, smaller, MINIMISING)}") from error


def fails(kernel):
    try:
        check(kernel)
    except Invalid:
        return False
    except Exception:
        return True
    return False


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


@pytest.mark.parametrize(
    ("line", "defined"),
    [
        ("s[t] = 1\n    cuda.syncthreads()\n    r0[t] = s[3 - t]", True),
        ("s[t] = t\n    r0[t] = s[3 - t]", False),  # a race
        ("r0[t] = s[t]", False),  # nothing set it
        ("r0[t] = np.float32(0.1) * np.float32(0.1)", False),  # rounded
        ("r0[0] = t", False),
        ("r0[t // 2] = 1", False),
        ("r0[t] = 1\n    cuda.syncthreads()\n    r0[3 - t] = 2", True),
        ("r0[t] = np.int8(np.float32(t) * np.float32(100))", False),
        ("while True:\n        t += 1", False),
        ("s[t] = t\n    r0[t] = s[t] + np.int8(100)", True),
    ],
)
def test_undefined_results_are_no_examples(line, defined):
    source = (
        f"@cuda.jit\ndef kernel(r0):\n    t = cuda.threadIdx.x\n    s = cuda.shared.array(4, np.int8)\n    {line}\n"
    )
    kernel = Kernel(source, (Argument("r0", "f8", (4,), "C", True),), (1,), (4,), 0)
    expected = kernel.values()
    try:
        require_defined(kernel, expected, execute(source, "kernel", (1,), (4,), expected))
    except (Invalid, Undefined, RuntimeError):
        assert not defined
    else:
        assert defined


def test_warps_and_records_in_the_reference():
    source = """
@cuda.jit
def kernel(e1, r0):
    t = cuda.threadIdx.x
    e1[t].a = cuda.shfl_down_sync(0xFFFFFFFF, np.int32(t), 1)
    e1[t]["v"][t % 2] += 300 + t
    e1["b"][t].c = e1[t].a
    r0[t] = cuda.ballot_sync(0xFFFFFFFF, t == 31) + cuda.popc(cuda.match_any_sync(0xFFFFFFFF, np.int64(t // 8)))
"""
    dtype = np.dtype({"names": ["a", "v", "b"], "formats": ["u1", ("u1", 2), [("c", "f4")]], "offsets": [1, 2, 5]})
    e1, r0 = np.zeros(32, dtype), np.zeros(32, np.int64)
    execute(source, "kernel", (1,), (32,), (e1, r0))
    assert e1["a"].tolist() == [*range(1, 32), 31]
    assert e1["v"][3].tolist() == [0, 47]
    assert (e1["b"]["c"] == e1["a"]).all()
    assert (r0 == -(2**31) + 8).all()
