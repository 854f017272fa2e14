"""Loops over all places of an array: `a.flat`, `np.ndenumerate`, `np.ndindex`; ranges with steps inside enumerate."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors


@cuda.jit
def flat_elements(x, out):
    for n, value in enumerate(x.flat):
        out[0] += n * value
    out[1] = x.flat[2]
    x.flat[4] = 9
    x.flat[-1] += 5


@cuda.jit
def places(x, out):
    for (i, j), value in np.ndenumerate(x):
        out[0] += (i + 1) * j * value
    for place in np.ndindex(x.shape):
        x[place] += 1
    for i, j in np.ndindex(2, 3):
        out[1] += i * j
    for single in np.ndindex(x.shape[0]):
        out[2] += single[0]


VIEWS = [lambda x: x, lambda x: x.T, lambda x: x[:, ::-1], lambda x: x[::2], lambda x: x[:0]]


@pytest.mark.parametrize("view", VIEWS)
def test_flat(device, view):
    x = view(np.arange(24.0).reshape(4, 6))
    if x.size == 0:
        return
    expected, out = x.copy(), np.zeros(2)
    flat_elements[1, 1](x, out)
    assert out[0] == sum(n * v for n, v in enumerate(expected.flat))
    assert out[1] == expected.flat[2]
    expected.flat[4] = 9
    expected.flat[-1] += 5
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("view", VIEWS)
def test_places(device, view):
    x = view(np.arange(24.0).reshape(4, 6))
    before, out = x.copy(), np.zeros(3)
    places[1, 1](x, out)
    assert out[0] == sum((i + 1) * j * v for (i, j), v in np.ndenumerate(before))
    assert out[1:].tolist() == [3, sum(range(len(x)))]
    np.testing.assert_array_equal(x, before + 1)


def test_flat_takes_one_integer(device):
    @cuda.jit
    def kernel(x):
        x[0, 0] = x.flat[1:3]

    with pytest.raises(errors.KernelTypeError, match="flat takes one integer"):
        kernel[1, 1](np.zeros((2, 2)))


@pytest.mark.parametrize("bounds", [(0, 10, 3), (0, 9, 3), (10, 0, -4), (0, 10, -1), (5, 5, 2), (-7, 8, 5)])
def test_steps_inside_enumerate_and_zip(device, bounds):
    @cuda.jit
    def kernel(out, start, stop, step):
        for n, value in enumerate(range(start, stop, step)):
            out[n] = value
        for a, b in zip(range(start, stop, step), range(2, 100, 7)):
            out[20] += a * b

    out = np.zeros(21)
    kernel[1, 1](out, *bounds)
    values = list(range(*bounds))
    assert out[: len(values) + 1].tolist() == [*values, 0]
    assert out[20] == sum(a * b for a, b in zip(values, range(2, 100, 7), strict=False))


def test_a_grid_stride_inside_enumerate(device):
    @cuda.jit
    def kernel(x):
        for n, i in enumerate(range(cuda.grid(1), x.size, cuda.gridsize(1))):
            x[i] = n

    x = np.zeros(100)
    kernel[2, 8](x)
    np.testing.assert_array_equal(x, np.arange(100) // 16)


def test_fill(device):
    @cuda.jit
    def kernel(x):
        x[1].fill(cuda.threadIdx.x + 3)
        x[:, 0].fill(7)

    x = np.zeros((3, 4), np.float32)
    kernel[1, 1](x)
    assert x.tolist() == [[7, 0, 0, 0], [7, 3, 3, 3], [7, 0, 0, 0]]
