"""Histograms against NumPy: exactly the bins around whose edges values lie, for numbers on and beside edges."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors, primitives


def check(x, bins, limits=None):
    found, edges = primitives.histogram(cuda.to_device(x), bins, limits)
    wanted, borders = np.histogram(x, bins, limits)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(edges.copy_to_host(), borders)
    np.testing.assert_array_equal(found.copy_to_host(), wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_bins_of_one_width(device, dtype):
    x = (np.random.default_rng(0).standard_normal(30_000) * 100).astype(dtype)
    for bins, limits in ((10, None), (256, None), (100, (-50, 50)), (7, (5, 5)), (20_000, None)):
        check(x, bins, limits)
    check(np.full(3000, 5, dtype), 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_on_edges(device, dtype):
    edges = np.linspace(0.1, 3.7, 1025, dtype=dtype)
    x = np.concatenate([edges, np.nextafter(edges, dtype(-9)), np.nextafter(edges, dtype(9))])
    check(x, 1024, (dtype(0.1), dtype(3.7)))
    check(np.r_[x, dtype(np.nan), dtype(np.inf)], 1024, (0.1, 3.7))


def test_given_edges(device):
    x = np.random.default_rng(2).random(5000).astype(np.float32)
    check(x, np.array([0, 0.25, 0.25, 0.5, 1.0], np.float32))
    check(x, [0.1, 0.2, 0.9])
    check(np.arange(100), [0, 10, 99])
    check(np.arange(100), np.array([0.0, 10, np.inf]))
    check(np.geomspace(1e-6, 1, 3000), np.geomspace(1e-6, 1, 40))
    check(x[:0], 5)


def test_weights_and_density(device):
    generator = np.random.default_rng(3)
    x, weights = generator.random(9000), generator.random(9000)
    found, _ = primitives.histogram(cuda.to_device(x), 50, weights=cuda.to_device(weights))
    np.testing.assert_allclose(found.copy_to_host(), np.histogram(x, 50, weights=weights)[0], rtol=1e-12)
    found, _ = primitives.histogram(cuda.to_device(x), 50, density=True)
    np.testing.assert_allclose(found.copy_to_host(), np.histogram(x, 50, density=True)[0], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.uint64])
def test_sums_of_weights_wrap_around(device, dtype):
    """Of integers, as NumPy's do. Those of 64 bits stay within float64's 53 here."""
    weights = np.full(3000, np.iinfo(dtype).max if np.dtype(dtype).itemsize < 8 else 2**30, dtype)
    x = np.arange(weights.size) % 3
    expected = np.array([weights[x == n].sum(dtype=dtype) for n in range(3)])
    for bins in (3, [0, 1, 2, 3]):
        found, _ = primitives.histogram(cuda.to_device(x), bins, weights=cuda.to_device(weights))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.copy_to_host(), expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_bincount(device, dtype):
    generator = np.random.default_rng(4)
    x = generator.integers(0, 100, 10_000).astype(dtype)
    d, weights = cuda.to_device(x), generator.random(x.size)
    np.testing.assert_array_equal(primitives.bincount(d).copy_to_host(), np.bincount(x))
    np.testing.assert_array_equal(primitives.bincount(d, minlength=300).copy_to_host(), np.bincount(x, minlength=300))
    found = primitives.bincount(d, cuda.to_device(weights)).copy_to_host()
    np.testing.assert_allclose(found, np.bincount(x, weights), rtol=1e-12)
    np.testing.assert_array_equal(primitives.bincount(d[:0], minlength=2).copy_to_host(), [0, 0])


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda d: primitives.histogram(d, 0), errors.SettingsError, "positive number of bins"),
        (lambda d: primitives.histogram(d, [3, 1]), errors.SettingsError, "ascending"),
        (lambda d: primitives.histogram(d, "auto"), errors.SettingsError, "missing"),
        (lambda d: primitives.histogram(d, 3, (2, 1)), errors.SettingsError, "smaller"),
        (lambda d: primitives.histogram(d, 3), errors.SettingsError, "not finite"),
        (lambda d: primitives.bincount(d), errors.DTypeError, "whole numbers"),
        (lambda d: primitives.bincount(cuda.to_device(np.array([1, -2]))), errors.ShapeError, "not -2"),
    ],
)
def test_errors(device, call, error, text):
    with pytest.raises(error, match=text):
        call(cuda.to_device(np.array([1.0, np.nan])))


def test_many_threads(device, as_on_gpus):
    x = np.random.default_rng(5).standard_normal(50_001).astype(np.float32)
    for bins, limits in ((10, None), (300, (-2, 2)), (20_000, (-1, 1)), (np.linspace(-3, 3, 100), None)):
        check(x, bins, limits)
    numbers = (np.abs(x) * 50).astype(np.int32)
    found = primitives.bincount(cuda.to_device(numbers), cuda.to_device(x.astype(np.float64)))
    np.testing.assert_allclose(found.copy_to_host(), np.bincount(numbers, x), rtol=1e-10, atol=1e-10)


_TINY = np.asarray([0.0, 1e-320, 2e-320, 5.0])
_RANGES = [
    (_TINY, {"bins": 2, "range": (0, 1e-320)}),
    (_TINY[1:3], {"bins": 2}),
    (_TINY[:2], {"bins": 1}),
    (np.asarray([1e-39, 4e-39], np.float32), {"bins": 2}),
    (np.asarray([0, 5e-324]), {"bins": 2}),
    (np.asarray([0, 1e-39, 4e-39], np.float32), {"bins": [0, 1e-39, 4e-39]}),
    (np.asarray([0, 1, 2], np.float32), {"bins": [-1e300, 0, 1e300]}),
    (np.asarray([0, 1, 2], np.float32), {"bins": 2, "range": (np.float64(-1e39), np.float64(1e39))}),
    (np.asarray([1, 1 + 2.0**-20], np.float32), {"bins": 3, "range": (np.float64(1), np.float64(1 + 1e-9))}),
    (np.asarray([-1.7e308, 1.7e308]), {"bins": 2}),
    (np.asarray([3e38, -3e38, 0], np.float32), {"bins": 2}),
    (np.asarray([65504, -65504, 0], np.float16), {"bins": 3}),
    (np.asarray([1, 1 + 2.0**-23], np.float32), {"bins": 5}),
    (np.asarray([1.0, 2, 3]), {"bins": [0, 5e-324, 1e-320]}),
    (np.asarray([-1e308, 1e308, 3]), {"bins": [-1.7e308, 0, 1.7e308]}),
    (np.asarray([np.inf, 1, 2, np.nan]), {"bins": 3, "range": (1, 2)}),
    (np.asarray([2**62, 2**62 + 4096]), {"bins": 7}),
]


@pytest.mark.parametrize("case", range(len(_RANGES)))
def test_ranges_at_the_ends_of_floats(device, case):
    """Widths that are subnormal or overflow: NumPy's counts, and its error where bins have no finite size."""
    x, options = _RANGES[case]
    for times in (1, 999):
        many = np.tile(x, times)
        try:
            with np.errstate(all="ignore"):
                expected = np.histogram(many, **options)
        except ValueError:
            with pytest.raises(ValueError, match="too many bins"):
                np.histogram(cuda.to_device(many), **options)
            continue
        for mine, theirs in zip(np.histogram(cuda.to_device(many), **options), expected, strict=True):
            np.testing.assert_array_equal(mine.copy_to_host(), theirs)
