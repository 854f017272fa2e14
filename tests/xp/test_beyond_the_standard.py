"""NumPy's functions that the array API standard does not have, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from against_numpy import alike

from portagpu import cuda
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray

_RNG = np.random.default_rng(5)
REAL = _RNG.normal(size=(5, 7))
HOLES = np.where(_RNG.random((5, 7)) < 0.3, np.nan, REAL)
INFINITE = np.asarray([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -2.5])
WHOLE = _RNG.integers(-4, 5, 30).astype(np.int32)
COMPLEX = (REAL + 1j * REAL[::-1]).astype(np.complex128)


def same(function, *arrays, on_device=True, **options):
    expected = function(*arrays, **options)
    found = function(*(cuda.to_device(x) if isinstance(x, np.ndarray) else x for x in arrays), **options)
    for ours, theirs in zip(
        found if isinstance(found, tuple) else (found,),
        expected if isinstance(expected, tuple) else (expected,),
        strict=True,
    ):
        assert isinstance(ours, DeviceNDArray) is on_device
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-12, atol=1e-14)
        assert np.asarray(ours).shape == np.shape(theirs)
        if on_device:
            assert ours.dtype == np.asarray(theirs).dtype


@pytest.mark.one_device
def test_comparisons(device):
    other = INFINITE.copy()
    other[5] += 1e-9
    for equal_nan in (False, True):
        same(np.isclose, INFINITE, other, equal_nan=equal_nan)
        same(np.allclose, INFINITE, other, equal_nan=equal_nan, on_device=False)
        same(np.array_equal, INFINITE, INFINITE, equal_nan=equal_nan, on_device=False)
    same(np.array_equal, WHOLE, WHOLE[:-1], on_device=False)
    same(np.array_equiv, WHOLE, WHOLE.reshape(1, -1), on_device=False)
    same(np.array_equiv, WHOLE, WHOLE[:4], on_device=False)
    for function in (np.isposinf, np.isneginf, np.isreal, np.iscomplex):
        same(function, INFINITE)
    for function in (np.isreal, np.iscomplex):
        same(function, COMPLEX)


def test_dtypes(device):
    x, z = cuda.to_device(WHOLE), cuda.to_device(COMPLEX)
    assert np.result_type(x, np.float32) == np.float64 and np.result_type(x, 1.0) == np.float64
    assert np.iscomplexobj(z) and np.isrealobj(x) and np.common_type(x) is np.float64
    assert np.can_cast(x, np.int64) and not np.can_cast(x, np.int8)


@pytest.mark.one_device
def test_elements(device):
    same(np.nan_to_num, INFINITE)
    same(np.nan_to_num, INFINITE, nan=3.0, posinf=7.0, neginf=-7.0)
    both = INFINITE.astype(complex)
    both.imag = INFINITE[::-1]
    same(np.nan_to_num, both)
    same(np.nan_to_num, WHOLE)
    same(np.angle, COMPLEX)
    same(np.angle, COMPLEX, deg=True)
    same(np.sinc, REAL)
    for dtype in (np.float16, np.float32, np.float64, np.complex64, np.int8):
        same(np.sinc, np.array([0, 1, 2]).astype(dtype))
    alike(np.fix(cuda.to_device(REAL)), np.trunc(REAL))  # NumPy 2.5 warns of np.fix
    for k in range(-1, 4):
        same(np.rot90, REAL, k)


@pytest.mark.one_device
def test_sets(device):
    other = np.asarray([1, 3, 3, 99], np.int32)
    for function in (np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d, np.isin):
        same(function, WHOLE, other)
    same(np.intersect1d, np.asarray([5, 2, 9]), np.asarray([9, 5, 1]), assume_unique=True)
    same(np.digitize, REAL, np.asarray([-1.0, 0.0, 1.0]))
    same(np.digitize, WHOLE, np.asarray([3, 0, -3]))
    same(np.digitize, WHOLE, np.asarray([3, 0, -3]), right=True)
    keys = np.stack([WHOLE, WHOLE[::-1]])
    found = np.lexsort(cuda.to_device(keys))
    np.testing.assert_array_equal(found.copy_to_host(), np.lexsort(keys))
    found = np.unique_counts(cuda.to_device(WHOLE))
    np.testing.assert_array_equal(found.counts.copy_to_host(), np.unique_counts(WHOLE).counts)


@pytest.mark.one_device
def test_quantiles(device):
    for axis in (None, 0, 1, (0, 1)):
        same(np.median, REAL, axis=axis)
        same(np.quantile, REAL, [0.1, 0.5, 1.0], axis=axis, keepdims=True)
    same(np.percentile, WHOLE, 30)
    same(np.median, HOLES, axis=1)
    same(np.median, np.asarray([1.0, np.inf, np.inf, np.inf]))
    with pytest.raises(ShapeError, match="from 0 to 1"):
        np.quantile(cuda.to_device(REAL), 2)
    with pytest.raises(ArgumentTypeError, match="method"):
        np.quantile(cuda.to_device(REAL), 0.5, method="middle")


@pytest.mark.one_device
def test_averages_and_covariances(device):
    weights = np.abs(REAL)
    same(np.average, REAL)
    for dtype in (np.int8, np.uint8, np.int16, np.uint32, np.int64):  # whose products are not those of the dtype
        most = np.full((2, 3), np.iinfo(dtype).max, dtype)
        same(lambda x, w: np.average(x, axis=1, weights=w), most, most - np.arange(3, dtype=dtype))
        same(lambda x, w: np.average(x, axis=1, weights=w[0]), most, most)
    found, total = np.average(cuda.to_device(REAL), axis=0, weights=cuda.to_device(weights), returned=True)
    wanted, sums = np.average(REAL, axis=0, weights=weights, returned=True)
    np.testing.assert_allclose(found.copy_to_host(), wanted)
    np.testing.assert_allclose(total.copy_to_host(), sums)
    for axis in (None, 0, 1):
        same(np.nanvar, HOLES, axis=axis)
        same(np.nanstd, HOLES, axis=axis, ddof=1)
    for wrong, error in (
        ({"fweights": [1.5] * REAL.shape[1]}, TypeError),
        ({"fweights": [-1] * REAL.shape[1]}, ValueError),
        ({"aweights": [-1.5] * REAL.shape[1]}, ValueError),
        ({"ddof": 0.5}, ValueError),
    ):
        for x in (REAL, cuda.to_device(REAL)):
            with pytest.raises(error):
                np.cov(x, **wrong)
    same(np.cov, REAL)
    same(np.cov, COMPLEX, rowvar=False)
    same(np.cov, REAL[0])
    same(np.corrcoef, REAL)
    same(np.cumulative_sum, REAL, axis=1, include_initial=True)
    same(np.cumulative_prod, REAL[0])
