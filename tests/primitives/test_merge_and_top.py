"""Merge sort by comparisons, and the largest and smallest elements."""

from __future__ import annotations

import numpy as np
import pytest
from keys_in_arrays import sample, stable_order

from portagpu import cuda, primitives
from portagpu.errors import ArgumentTypeError, KernelTypeError, ShapeError


def by_last_digit(a, b):
    return a % 10 < b % 10


@pytest.mark.parametrize(("shape", "axis"), [((1000,), 0), ((70, 3), 0), ((2, 33), 1), ((0,), 0), ((1,), 0)], ids=str)
def test_merge_sort(device, shape, axis):
    x = np.random.default_rng(0).integers(0, 10000, shape).astype(np.int32)
    found, places = primitives.merge_sort(cuda.to_device(x), by_last_digit, axis=axis)
    order = np.argsort(x % 10, axis=axis, kind="stable")
    np.testing.assert_array_equal(places.copy_to_host(), order)
    np.testing.assert_array_equal(found.copy_to_host(), np.take_along_axis(x, order, axis))


def test_merge_sort_of_records(device):
    x = np.zeros(300, np.dtype([("name", np.int32), ("weight", np.float32)]))
    x["name"] = np.random.default_rng(0).integers(0, 20, 300)
    x["weight"] = np.arange(300)

    @cuda.jit(device=True)
    def heavier(a, b):
        return a.name > b.name

    found, places = primitives.merge_sort(cuda.to_device(x), heavier)
    order = np.argsort(-x["name"], kind="stable")
    np.testing.assert_array_equal(places.copy_to_host(), order)
    np.testing.assert_array_equal(found.copy_to_host(), x[order])


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64"])
@pytest.mark.parametrize("largest", [True, False])
def test_top_k(device, dtype, largest):
    for shape, k, axis in (((40000,), 100, 0), ((40000,), 1, 0), ((4, 30), 3, 0), ((20,), 20, 0), ((5,), 0, 0)):
        x = sample(np.dtype(dtype), shape)
        order = stable_order(x, axis)
        if largest:
            order = x.shape[axis] - 1 - np.flip(stable_order(np.flip(x, axis), axis), axis)
        order = np.take(order, range(k), axis)
        values, places = primitives.top_k(cuda.to_device(x), k, axis=axis, largest=largest)
        np.testing.assert_array_equal(places.copy_to_host(), order)
        assert values.copy_to_host().tobytes() == np.take_along_axis(x, order, axis).tobytes()


@pytest.mark.one_device
def test_errors(device):
    d = cuda.to_device(np.arange(6))
    with pytest.raises(ShapeError, match="7 elements"):
        primitives.top_k(d, 7)
    with pytest.raises(ArgumentTypeError, match="number of elements"):
        primitives.top_k(d, 2.5)
    with pytest.raises(KernelTypeError, match="function of two elements"):
        primitives.merge_sort(d, 3)
