"""Branches for one thread: a driver ran them in every block where the block's part of the index was subtracted."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda

INDEX = "cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x"


def made(body: str):
    """The kernel with this body."""
    names = {"cuda": cuda, "np": np}
    exec(f"@cuda.jit\ndef k(o, n):\n    i = {INDEX}\n    t = cuda.threadIdx.x\n{body}", names)
    return names["k"]


@pytest.mark.parametrize("block", [1, 5, 32, 64])
@pytest.mark.parametrize(
    "condition", ["i == 0", "not i", "0 == i", "not i != 0", "i == n", "np.uint64(i) == np.uint64(0)", "i < 1"]
)
def test_one_thread_of_the_grid(device, condition, block):
    """Only thread 0 of block 0 stores and counts."""
    kernel = made(f"    if {condition}:\n        o[cuda.blockIdx.x] = t\n        cuda.atomic.add(o, 4, 1)\n")
    out = np.full(8, -1)
    kernel[3, block](out, 0)
    assert out.tolist() == [0, -1, -1, -1, 0, -1, -1, -1]


@pytest.mark.parametrize("condition", ["i != 0", "i", "not i == 0"])
def test_early_returns(device, condition):
    """The others return."""
    kernel = made(f"    if {condition}:\n        return\n    o[cuda.blockIdx.x] = t\n    cuda.atomic.add(o, 4, 1)\n")
    out = np.full(8, -1)
    kernel[3, 8](out, 0)
    assert out.tolist() == [0, -1, -1, -1, 0, -1, -1, -1]


@pytest.mark.parametrize(
    "condition", ["i == n", "cuda.grid(1) == n", "t == n", "t == n - cuda.blockIdx.x", "i + 1 == n"]
)
@pytest.mark.parametrize("n", [-1, -64, 1000])
def test_no_thread(device, condition, n):
    """No thread has a negative index, nor one beyond the grid."""
    kernel = made(f"    if {condition}:\n        o[cuda.blockIdx.x] = t\n        cuda.atomic.add(o, 4, 1)\n")
    out = np.full(8, -1)
    kernel[3, 8](out, n)
    assert out.tolist() == [-1] * 8
