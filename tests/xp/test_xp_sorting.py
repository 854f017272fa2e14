"""Sorting, sets and searches of the array API, and NumPy's functions of the same names."""

from __future__ import annotations

import numpy as np
import pytest
from falling_orders import HAS_DESCENDING, falling, falling_order

from portagpu import cuda, xp
from portagpu.errors import ArgumentTypeError, ArgumentValueError, DTypeError, OutOfBoundsError, ShapeError


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


@pytest.mark.parametrize("axis", [0, 1])
def test_falling_orders(device, axis):
    x = np.random.default_rng(2).integers(-2, 3, (7, 9)).astype(np.float32)
    x[x == 1], x[2], x[:, 4] = np.nan, -0.0, np.inf
    d = cuda.to_device(x)
    found = d.argsort(axis, descending=True)
    np.testing.assert_array_equal(found.copy_to_host(), falling_order(x, axis))
    np.testing.assert_array_equal(np.argsort(d, axis, stable=True).copy_to_host(), np.argsort(x, axis, stable=True))
    parted = cuda.to_device(x)
    parted.partition(3, axis, descending=True)
    np.testing.assert_array_equal(parted.take([3], axis).copy_to_host(), falling(x, axis).take([3], axis))
    places = d.argpartition(3, axis, descending=True)
    found = np.take_along_axis(d, places, axis).take([3], axis)
    np.testing.assert_array_equal(found.copy_to_host(), falling(x, axis).take([3], axis))
    d.sort(axis, descending=True, stable=True)
    np.testing.assert_array_equal(d.copy_to_host(), falling(x, axis))
    d.sort(axis, descending=False)
    np.testing.assert_array_equal(d.copy_to_host(), np.sort(x, axis))
    if HAS_DESCENDING:
        np.testing.assert_array_equal(np.sort(d, axis=None, descending=True).copy_to_host(), falling(x, None))


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
    with pytest.raises(ArgumentValueError, match="kind= stands beside"):
        d.sort(kind="stable", descending=True)
    with pytest.raises(ArgumentValueError, match="'introselect'"):
        d.partition(3, kind="quicksort")
    with pytest.raises(DTypeError, match="order="):
        np.argsort(d, order="field")
    with pytest.raises(ShapeError, match="kth=30"):
        np.partition(d, 30)
    with pytest.raises(OutOfBoundsError, match="axis 7"):
        np.unique(d, axis=7)


@pytest.mark.one_device
@pytest.mark.parametrize(
    "sorter", [[1, 2, 0], [1, 2, 3], [-1, 2, 0], [2**31 - 1, 2, 0], [1, 2], [[1, 2, 0]], [1.0, 2, 0]], ids=str
)
@pytest.mark.parametrize("dtype", [None, np.uint8, np.int32, np.uint64])
def test_sorters_name_elements(device, sorter, dtype):
    """Numbers that name none are errors as NumPy's are, for all of the sorter."""
    host, places = np.array([3.0, 1, 2]), np.array(sorter)
    places = places if dtype is None else places.astype(np.int64).astype(dtype)
    values = np.array([0.5, 1, 1.5, 2, 2.5, 3, 3.5])
    try:
        expected = np.searchsorted(host, values, sorter=places)
    except (TypeError, ValueError) as error:
        for function in (np.searchsorted, lambda x, v, sorter: x.searchsorted(v, sorter=sorter)):
            for given in (places, cuda.to_device(places)):
                with pytest.raises(TypeError if isinstance(error, TypeError) else ValueError):
                    function(cuda.to_device(host), values, sorter=given)
    else:
        found = np.searchsorted(cuda.to_device(host), values, sorter=places)
        np.testing.assert_array_equal(found.copy_to_host(), expected)
