"""Creation functions against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors, xp


def same(found, wanted, rtol=0.0):
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found.copy_to_host(), wanted, rtol=rtol, atol=rtol)


@pytest.mark.parametrize(
    "args",
    [(10,), (0,), (2, 9, 3), (9, 2, -3), (-5, 5), (5, -5), (0.0, 1.0, 0.1), (1.5,), (3, 0, -0.5), (3.3, 77.0, 0.007)],
)
def test_arange(device, args):
    same(xp.arange(*args), np.arange(*args))


def test_arange_of_dtypes(device):
    for dtype in (np.int8, np.uint64, np.float32):
        same(xp.arange(3, 50, 7, dtype=dtype), np.arange(3, 50, 7, dtype=dtype))
    with pytest.raises(errors.ShapeError, match="step"):
        xp.arange(1, 2, 0)


@pytest.mark.parametrize("num", [0, 1, 2, 50, 5003])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(device, num, endpoint):
    same(xp.linspace(-1, 2.7, num, endpoint=endpoint), np.linspace(-1, 2.7, num, endpoint=endpoint))
    wanted = np.linspace(-1, 7, num, endpoint=endpoint, dtype=np.int32)
    same(xp.linspace(-1, 7, num, endpoint=endpoint, dtype=np.int32), wanted)


def test_numbers_everywhere(device):
    for mine, numpys in ((xp.zeros, np.zeros), (xp.ones, np.ones)):
        same(mine((3, 4)), numpys((3, 4)))
        same(mine(5, dtype=np.int16), numpys(5, np.int16))
        same(mine((0, 3)), numpys((0, 3)))
        same(mine(()), numpys(()))
    for number in (True, 3, 2.5, 1j):
        same(xp.full((2, 3), number), np.full((2, 3), number))
    x = cuda.to_device(np.ones((2, 3), np.float32))
    same(xp.full_like(x, 7), np.full((2, 3), 7, np.float32))
    same(np.zeros_like(x), np.zeros((2, 3), np.float32))
    same(np.ones_like(x, dtype=np.int8), np.ones((2, 3), np.int8))
    same(np.full_like(x, 4), np.full((2, 3), 4, np.float32))
    assert xp.empty((2, 3)).shape == xp.empty_like(x).shape == (2, 3)
    zeros = xp.zeros(100)
    zeros[3] = 5
    same(zeros + 1, np.where(np.arange(100) == 3, 6.0, 1.0))


def test_whole_numbers_from_nested_sequences(device):
    """NumPy makes float64 of integers from 2**63 on beside smaller ones, unless it is told the dtype."""
    numbers = [[0, 2**63 + 1], [2**64 - 1, 5]]
    same(xp.asarray(numbers, dtype=xp.uint64), np.asarray(numbers, np.uint64))
    x = xp.zeros((2, 2), dtype=xp.uint64)
    x[...] = numbers
    same(x, np.asarray(numbers, np.uint64))
    same(xp.asarray([1.5, -2.5], dtype=xp.int8), np.asarray([1, -2], np.int8))


def test_matrices(device):
    for args, k in (((4,), 0), ((3, 5), 1), ((5, 3), -2), ((0, 2), 0), ((2, 3), 10**30), ((2, 3), -(10**30))):
        same(xp.eye(*args, k=k), np.eye(*args, k=k))
    x = np.random.default_rng(0).random((2, 4, 5))
    for k in (0, 1, -2, 9):
        same(xp.tril(cuda.to_device(x), k=k), np.tril(x, k))
        same(np.triu(cuda.to_device(x), k), np.triu(x, k))
    same(xp.tril(cuda.to_device(x), k=10**20), x)
    with pytest.raises(errors.ShapeError, match="two axes"):
        xp.tril(xp.ones(3))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(device, indexing):
    axes = [np.arange(3.0), np.arange(2.0), np.arange(4.0)]
    for count in (1, 2, 3):
        found = xp.meshgrid(*map(cuda.to_device, axes[:count]), indexing=indexing)
        for mine, wanted in zip(found, np.meshgrid(*axes[:count], indexing=indexing), strict=True):
            same(mine, wanted)


def test_asarray(device):
    same(xp.asarray([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))
    same(xp.asarray(2.5), np.array(2.5))
    same(xp.asarray([1, 2], dtype=np.float32), np.array([1, 2], np.float32))
    x = cuda.to_device(np.arange(4.0))
    assert xp.asarray(x) is x and xp.asarray(x, copy=True) is not x
    same(xp.asarray(x, dtype=np.int32), np.arange(4, dtype=np.int32))
    same(xp.asarray([x, x]), np.array([np.arange(4.0)] * 2))
    same(xp.from_dlpack(x), np.arange(4.0))
    for given, options in ((x, {"dtype": np.int32}), ([1, 2], {})):
        with pytest.raises(errors.MemoryNotSharedError, match="copy"):
            xp.asarray(given, copy=False, **options)
    assert xp.zeros(3, device=x.context.device).context is x.context


def test_under_the_names_of_numpy(device):
    same(cuda.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32))
    same(cuda.ones(4, int), np.ones(4, int))
    same(cuda.full((2,), 7), np.full(2, 7))
    same(cuda.arange(2, 8, 2), np.arange(2, 8, 2))
    same(cuda.eye(3, dtype=np.int8), np.eye(3, dtype=np.int8))
    same(cuda.linspace(0, 1, 5), np.linspace(0, 1, 5))
    same(cuda.zeros_like(cuda.asarray([1.5, 2])), np.zeros(2))
    assert cuda.empty((3, 2), np.int16).dtype == np.int16
