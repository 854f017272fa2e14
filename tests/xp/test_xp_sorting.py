"""Sorting, sets and searches of the array API, and NumPy's functions of the same names."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, xp
from portagpu.errors import ArgumentTypeError, DTypeError, OutOfBoundsError, ShapeError


@pytest.fixture
def pair(device):
    x = np.random.default_rng(0).integers(-30, 30, (20, 30)).astype(np.int32)
    return x, cuda.to_device(x)


def test_sorts(pair):
    x, d = pair
    np.testing.assert_array_equal(xp.sort(d, axis=0).copy_to_host(), np.sort(x, axis=0))
    np.testing.assert_array_equal(xp.sort(d, descending=True).copy_to_host(), -np.sort(-x))
    np.testing.assert_array_equal(xp.argsort(d).copy_to_host(), np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(np.sort(d, axis=None).copy_to_host(), np.sort(x, axis=None))
    np.testing.assert_array_equal(np.argsort(d, 0, kind="stable").copy_to_host(), np.argsort(x, 0, kind="stable"))
    np.testing.assert_array_equal(np.partition(d, 3)[:, 3].copy_to_host(), np.partition(x, 3)[:, 3])
    assert np.argpartition(d, (0, -1)).shape == x.shape


def test_sets(pair):
    x, d = pair
    for function in (np.unique_all, np.unique_counts, np.unique_inverse):
        found, expected = getattr(xp, function.__name__)(d), function(x)
        assert found._fields == expected._fields
        for result, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(result.copy_to_host(), wanted)
    np.testing.assert_array_equal(xp.unique_values(d).copy_to_host(), np.unique(x))
    np.testing.assert_array_equal(np.unique(d).copy_to_host(), np.unique(x))
    for result, wanted in zip(np.unique(d, True, True, True), np.unique(x, True, True, True), strict=True):
        np.testing.assert_array_equal(result.copy_to_host(), wanted)


def test_searches(pair):
    x, d = pair
    table = np.unique(x)
    for values in (x + 0.5, x.astype(np.int8), 7, 2.5):
        on_device = cuda.to_device(values) if isinstance(values, np.ndarray) else values
        found = np.searchsorted(np.unique(d), on_device, "right")
        np.testing.assert_array_equal(found.copy_to_host(), np.searchsorted(table, values, "right"))


@pytest.mark.one_device
def test_errors(pair):
    _, d = pair
    with pytest.raises(ArgumentTypeError, match="kind="):
        np.sort(d, kind="bogo")
    with pytest.raises(DTypeError, match="order="):
        np.argsort(d, order="field")
    with pytest.raises(ShapeError, match="kth=30"):
        np.partition(d, 30)
    with pytest.raises(OutOfBoundsError, match="axis 7"):
        np.unique(d, axis=7)
