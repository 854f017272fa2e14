"""Different elements, and places in sorted arrays."""

from __future__ import annotations

import numpy as np
import pytest
from keys_in_arrays import DTYPES, sample

from portagpu import cuda, primitives
from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError


def _one_nan(x):
    """NaN of one sign: NumPy's sort of float16 takes others for numbers."""
    return np.where(np.isnan(x), np.array(np.nan, x.dtype), x) if x.dtype.kind == "f" else x


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_unique(device, dtype):
    for shape in ((0,), (1,), (6, 700)):
        x = _one_nan(sample(dtype, shape))
        expected = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
        found = primitives.unique(cuda.to_device(x), indices=True, inverse=True, counts=True)
        assert found.values.dtype == dtype
        for result, wanted in zip(found[1:], expected[1:], strict=True):
            np.testing.assert_array_equal(result.copy_to_host(), wanted)
        if dtype.kind != "c":  # of NaN with other parts NumPy keeps any
            np.testing.assert_array_equal(found.values.copy_to_host(), expected[0])


def test_every_nan_is_different(device):
    x = np.array([np.nan, 1, np.nan, 1, -0.0, 0.0], np.float32)
    found = primitives.unique(cuda.to_device(x), inverse=True, counts=True, equal_nan=False)
    np.testing.assert_array_equal(found.values.copy_to_host(), [0, 1, np.nan, np.nan])
    assert found.counts.copy_to_host().tolist() == [2, 2, 1, 1]
    assert found.inverse.copy_to_host().tolist() == [2, 1, 3, 1, 0, 0]
    assert found.indices is None


def test_unique_of_many(device):
    x = np.random.default_rng(0).integers(0, 1000, 30000)
    found = primitives.unique(cuda.to_device(x))
    np.testing.assert_array_equal(found.values.copy_to_host(), np.unique(x))


@pytest.mark.one_device
def test_streams(device):
    x = np.random.default_rng(2).integers(0, 50, 40_000).astype(np.float32)
    stream, default = cuda.stream(), cuda.default_stream()
    for where in (stream, default):
        found = primitives.unique(cuda.to_device(x, stream=where), inverse=True, stream=where)
        top, places = primitives.top_k(found.inverse, 2, stream=where)
        where.synchronize()
        np.testing.assert_array_equal(found.values.copy_to_host(), np.arange(50))
        np.testing.assert_array_equal(found.inverse.copy_to_host(), x)
        assert top.copy_to_host().tolist() == [49, 49]
        assert places.copy_to_host().tolist() == np.flatnonzero(x == 49)[:2].tolist()


@pytest.mark.each_value
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(device, dtype, side):
    x, values = np.sort(_one_nan(sample(dtype, (300,)))), sample(dtype, (5, 20), 3)
    for table in (x, x[:0], x[:1]):
        found = primitives.searchsorted(cuda.to_device(table), cuda.to_device(values), side=side)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found.copy_to_host(), np.searchsorted(table, values, side=side))


def test_sorter(device):
    x = np.random.default_rng(0).integers(0, 50, 100)
    sorter = primitives.argsort(cuda.to_device(x))
    found = primitives.searchsorted(cuda.to_device(x), cuda.to_device(np.arange(50)), sorter=sorter)
    np.testing.assert_array_equal(found.copy_to_host(), np.searchsorted(np.sort(x), np.arange(50)))


@pytest.mark.one_device
def test_errors(device):
    d = cuda.to_device(np.arange(6))
    with pytest.raises(ArgumentTypeError, match="side="):
        primitives.searchsorted(d, d, side="middle")
    with pytest.raises(ShapeError, match="one axis"):
        primitives.searchsorted(d.reshape(2, 3), d)
    with pytest.raises(DTypeError, match="astype"):
        primitives.searchsorted(d, cuda.to_device(np.arange(6.0)))
    with pytest.raises(ShapeError, match="sorter="):
        primitives.searchsorted(d, d, sorter=d[:2])
    with pytest.raises(DTypeError, match="argsort"):
        primitives.searchsorted(d, d, sorter=cuda.to_device(np.arange(6.0)))
