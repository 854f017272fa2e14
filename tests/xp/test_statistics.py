"""Medians, quantiles, variances and covariances where they have few elements, infinities, or odd dtypes."""

import itertools
import warnings

import numpy as np
import pytest

from portagpu import cuda

pytestmark = pytest.mark.one_device
_ROWS = np.array([[4.0, 6, 3, 3], [1, 2, 3, 2], [5, 5, 5, 5], [np.nan, 1, 2, 7]], np.float32)
_MASK = np.array([[1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]], bool)
_QUANTILES = (0.5, 1, [0.25], [0, 1], np.float32(0.5), np.float64(0.5), np.array([0.25, 0.5], np.float32))
_PERCENTILES = (50.0, 50, [25.0], [0, 100], np.float32(50), np.float64(50), np.array([25, 50], np.float32))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_medians_beside_infinities(device, dtype):
    """The middle element, or the mean of two, whatever stands beside them."""
    if dtype is np.float64 and not device.capabilities.fp64:
        pytest.skip("no float64")
    for extent in range(1, 5):
        rows = np.array(list(itertools.product([-np.inf, -1.5, 0.25, 3, np.inf, np.nan], repeat=extent)), dtype)
        for name in ("median", "nanmedian"):
            function = getattr(np, name)
            with np.errstate(invalid="ignore"):
                sorted_rows = np.sort(rows, axis=1)
                count = (~np.isnan(rows)).sum(axis=1) if name == "nanmedian" else extent
                count = np.broadcast_to(count, len(rows))
                low, high = (np.maximum(count - 1, 0) // 2)[:, None], (count // 2)[:, None]
                pair = [np.take_along_axis(sorted_rows, np.minimum(n, extent - 1), 1)[:, 0] for n in (low, high)]
                expected = ((pair[0].astype(np.float64) + pair[1]) / 2).astype(dtype)
            if name == "median":
                expected[np.isnan(rows).any(axis=1)] = np.nan
            np.testing.assert_array_equal(function(cuda.to_device(rows), axis=1).copy_to_host(), expected)
            np.testing.assert_array_equal(function(cuda.to_device(rows.T.copy()), axis=0).copy_to_host(), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "uint8", "bool"])
@pytest.mark.parametrize("function", ["quantile", "percentile", "nanquantile", "nanpercentile"])
def test_dtypes_of_quantiles(device, dtype, function):
    """Those that NumPy promotes from elements and quantiles."""
    x = np.arange(6).astype(dtype)
    there = cuda.to_device(x)
    for q in _QUANTILES if function.endswith("quantile") else _PERCENTILES:
        for method in ("linear", "lower", "midpoint", "hazen"):
            try:
                expected = getattr(np, function)(x, q, method=method)
            except TypeError:  # bools have no differences
                continue
            found = getattr(np, function)(there, q, method=method)
            assert found.dtype == expected.dtype, (q, method)
            np.testing.assert_allclose(found.copy_to_host(), expected, rtol=1e-3)


def _compare(function, operands, **options):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = function(*operands, **options)
    there = {key: cuda.to_device(v) if isinstance(v, np.ndarray) else v for key, v in options.items()}
    found = function(*map(cuda.to_device, operands), **there).copy_to_host()
    np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=f"{function.__name__} {options}")


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_variances_without_degrees_of_freedom(device, name):
    """Of no more elements than are subtracted from their number."""
    for host in (_ROWS, _ROWS.astype(np.complex64), np.nan_to_num(_ROWS).astype(np.int16)):
        for ddof in (0, 1, 2, 3, 4, 5, 2.5):
            _compare(getattr(np, name), [host], axis=1, ddof=ddof)
            _compare(getattr(np, name), [host], axis=1, ddof=ddof, where=_MASK)


def test_covariances_without_degrees_of_freedom(device):
    for host in (_ROWS[:3], _ROWS[:1, :1], _ROWS[:2].astype(np.complex64)):
        for ddof in (0, 1, 3, 4, 6):
            _compare(np.cov, [host], ddof=ddof)
    for weights in ([1, 0, 2, 1], [1, 0, 0, 0]):
        for ddof in (0, 1, 2, 9):
            _compare(np.cov, [_ROWS[:3]], ddof=ddof, fweights=np.array(weights))
            _compare(np.cov, [_ROWS[:3]], ddof=ddof, aweights=np.array(weights, np.float32))
