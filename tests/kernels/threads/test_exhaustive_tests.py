"""Tests for every value that a number can have: a driver took what follows them, with its barriers, for a branch."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pytest

from portagpu import cuda
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import INT32, INT64
from portagpu.ir.types import ArrayType, Layout, Scalar

N = 128
VALUES = {  # a number from a thread's, and how many it can be: the compiler knows that
    "t & 3": 4,
    "t & 7": 8,
    "np.int64(t) % 4": 4,
    "np.uint32(t) % np.uint32(4)": 4,
    "min(np.uint32(t), np.uint32(3))": 4,
    "n & 3": 4,  # the same in all threads
    "np.uint8(t & 3)": 4,
}
RESULT = "a[t] * np.float32({q} + 1) + other * np.float32({q} * 7 % 3)"


def made(value: str, tests: list[str]):
    """A kernel that stores by the one test that holds, between exchanges with neighbours."""
    chain = "".join(f"    if {test}:\n        out[0, t] = {RESULT.format(q=q)}\n" for q, test in enumerate(tests))
    names = {"cuda": cuda, "np": np}
    exec(
        "@cuda.jit\ndef k(a, out, n):\n"
        "    cells = cuda.shared.array(128, np.float32)\n"
        f"    t = np.int32(cuda.threadIdx.x)\n    own = {value}\n    cells[t] = a[t]\n"
        "    cuda.syncthreads()\n    other = cells[t ^ 1]\n    cuda.syncthreads()\n"
        f"{chain}"
        "    cells[t] = other\n    cuda.syncthreads()\n    out[1, t] = cells[t ^ 2]\n",
        names,
    )
    return names["k"]


def expected(a: np.ndarray, own: np.ndarray) -> list[np.ndarray]:
    t = np.arange(N)
    return [a * (own + 1) + a[t ^ 1] * (own * 7 % 3), a[t ^ 3]]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("test", ["own == {q}", "not own != {q}"])
def test_all_values(device, value, test):
    """Each thread takes its own branch, and all go on to the barriers after them."""
    kernel = made(value, [test.format(q=q) for q in range(VALUES[value])])
    a = np.random.default_rng(1).uniform(1, 2, N).astype(np.float32)
    out = np.zeros((2, N), np.float32)
    kernel[1, N](a, out, 6)
    own = eval(value.replace("min(", "np.minimum("), {"t": np.arange(N), "n": np.full(N, 6), "np": np})
    np.testing.assert_allclose(out, expected(a, own.astype(np.int64)), rtol=1e-6)


def test_signed_beside_unsigned(device):
    """int64 and uint64 are compared by a function."""
    kernel = made("np.uint64(t) & np.uint64(3)", [f"own == np.int64({q})" for q in range(4)])
    a = np.random.default_rng(1).uniform(1, 2, N).astype(np.float32)
    out = np.zeros((2, N), np.float32)
    kernel[1, N](a, out, 6)
    np.testing.assert_allclose(out, expected(a, np.arange(N) & 3), rtol=1e-6)


def test_bits(device):
    """Tests of single bits are tests of a number, too."""
    tests = ["not t & 1 and not t & 2", "t & 1 and not t & 2", "not t & 1 and t & 2", "t & 1 and t & 2"]
    a = np.random.default_rng(1).uniform(1, 2, N).astype(np.float32)
    out = np.zeros((2, N), np.float32)
    made("0", tests)[1, N](a, out, 6)
    np.testing.assert_allclose(out, expected(a, np.arange(N) & 3), rtol=1e-6)


@cuda.jit(device=True)
def own_of_four(x, found, strip: cuda.constexpr, lane):
    """Keep the lane's own of four values, told by shuffles."""
    own = lane % np.int32(4)
    for q in cuda.unroll(range(4)):
        found[q] = cuda.shfl_sync(0xFFFFFFFF, x[strip], lane - own + np.int32(q))
    for q in cuda.unroll(range(4)):
        found[q] = found[q] * found[q]
    for q in cuda.unroll(range(4)):
        if own == np.int32(q):
            x[strip] = found[q]


@pytest.mark.parametrize("strips", [1, 2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quads_of_lanes(device, dtype, strips):
    """As a triangular solve keeps rows: one of four stores to a local array, in unrolled loops."""

    @cuda.jit
    def kernel(a, out, n):
        x = cuda.local.array(strips, dtype)
        found = cuda.local.array(4, dtype)
        lane = np.int32(cuda.threadIdx.x) % np.int32(32)
        for r in cuda.unroll(range(strips)):
            x[r] = a[r, cuda.threadIdx.x]
        for r in cuda.unroll(range(strips)):
            if r * 4 < n:
                own_of_four(x, found, r, lane)
                for s in cuda.unroll(range(r + 1, strips)):
                    x[s] = x[s] - found[0] - found[1] - found[2] - found[3]
        for r in cuda.unroll(range(strips)):
            out[r, cuda.threadIdx.x] = x[r]

    a = np.random.default_rng(1).integers(-2, 3, (strips, N)).astype(dtype)
    out = np.zeros_like(a)
    kernel[1, N](a, out, 4 * strips)
    x = a.reshape(strips, -1, 4).astype(np.float64)
    for r in range(strips):
        x[r] = x[r] ** 2
        x[r + 1 :] -= x[r].sum(-1)[:, None]
    np.testing.assert_allclose(out, x.reshape(strips, N), rtol=1e-5)


def test_numbers_are_hidden_only_beside_barriers() -> None:
    """And only where the driver needs it."""

    @cuda.jit
    def alone(x):
        if x[0] & 3 == 2:
            x[1] = 5

    @cuda.jit
    def beside(x):
        if x[0] & 3 == 2 and x[1] != 4:
            x[1] = 5
        cuda.syncthreads()
        x[2] += 1

    for dtype in (INT32, INT64):
        assert _text(beside, dtype, takes=False).count("(int)(get_work_dim() >> 3)") == 2
        for plain in (_text(alone, dtype, takes=False), _text(beside, dtype, takes=True)):
            assert "get_work_dim" not in plain


def test_last_turns_of_loops_around_barriers_are_hidden() -> None:
    """Of those whose number of turns is known. That there is a first turn is not hidden."""

    @cuda.jit(device=True)
    def exchanged(x, t):
        x[t] += 1
        cuda.syncthreads()

    @cuda.jit
    def loops(x, n):
        t = cuda.threadIdx.x
        for i in range(3):
            exchanged(x, t)
        for j in range(7, 1, -3):
            cuda.syncthreads()
            x[t] += j
        for k in range(4):
            x[t] += k
        for m in range(n.shape[0]):
            cuda.syncthreads()

    hidden = _text(loops, INT32, takes=False)
    assert "i == 0 || i < (3 ^ (int)(get_work_dim() >> 3));" in hidden
    assert "j == 7 || j > (1 ^ (int)(get_work_dim() >> 3));" in hidden
    for plain in ("k < 4;", "m < n_n0;"):
        assert plain in hidden
    for plain in ("i < 3;", "j > 1;", "k < 4;", "m < n_n0;"):
        assert plain in _text(loops, INT32, takes=True)


def _text(kernel, dtype, *, takes: bool) -> str:
    caps = dataclasses.replace(IDEAL, takes_all_cases=takes)
    kinds = (ArrayType(Scalar(dtype), 1, Layout.C),) * len(inspect.signature(kernel.py_func).parameters)
    return generate(lower_kernel(kernel.source, kinds, caps), caps).source
