"""Bounded integers: every bound, dtype and chance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from portagpu import cuda
from portagpu.errors import ArgumentRangeError, ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError
from portagpu.random import default_rng

LEVEL = 1e-4


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
)
def test_integers_fill_their_range_evenly(device, dtype):
    least, most = (0, 1) if dtype is np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    numbers = default_rng(1).integers(least, most, 20_000, dtype, endpoint=True).copy_to_host()
    assert numbers.dtype == dtype
    cells = min(16, int(most) - int(least) + 1)
    shares = ((numbers.astype(object) - int(least)) * cells // (int(most) - int(least) + 1)).astype(int)
    assert stats.chisquare(np.bincount(shares, minlength=cells)).pvalue > LEVEL


def test_words_that_would_be_unfair_are_drawn_again(device):
    """Of three quarters of 2**32 and of 2**64 a quarter is drawn again; without, halves would have 2/3 and 1/3."""
    for span, dtype in ((3 * 2**30, np.uint32), (3 * 2**62, np.uint64)):
        numbers = default_rng(2).integers(0, span, 20_001, dtype).copy_to_host()
        assert int(numbers.max()) < span
        cells = (numbers // dtype(span // 12)).astype(int)
        assert stats.chisquare(np.bincount(cells, minlength=12)).pvalue > LEVEL
        for bit in range(3):
            assert stats.binomtest(int((numbers >> dtype(bit) & dtype(1)).sum()), numbers.size).pvalue > LEVEL


def test_bounds_may_be_arrays(device):
    low, high = np.array([-5, 0, 10]), np.array([[6], [100]])
    low[2] = 4
    numbers = default_rng(3).integers(low, high, (500, 2, 3)).copy_to_host()
    assert (numbers >= low).all() and (numbers < high).all()
    assert (numbers.min((0,))[0] == low).all() and (numbers.max((0,))[0] == 5).all()
    on_device = default_rng(3).integers(cuda.to_device(low), high, (500, 2, 3)).copy_to_host()
    assert (on_device == numbers).all()
    full = default_rng(3).integers(np.zeros(4, np.int64), 2**64, dtype=np.uint64).copy_to_host()
    assert int(full.max()) > 2**60


def test_one_bound_is_the_end(device):
    numbers = default_rng(4).integers(3, size=(2, 50)).copy_to_host()
    assert set(numbers.ravel()) == {0, 1, 2}
    assert default_rng(4).integers(1).shape == ()


@pytest.mark.one_device
def test_wrong_bounds_are_refused(device):
    rng = default_rng(5)
    for low, high, dtype in ((0, 0, int), (5, 3, int), (0, 257, np.uint8), (-1, 5, np.uint8), ([0, 9], 5, int)):
        with pytest.raises(ArgumentValueError):
            rng.integers(low, high, dtype=dtype)
    for wrong in (None, "3", 1 + 0j, [1j]):
        with pytest.raises(ArgumentTypeError):
            rng.integers(wrong, 3)
    with pytest.raises(DTypeError):
        rng.integers(0, 3, dtype=float)
    with pytest.raises(ShapeError):
        rng.integers(0, [3, 4], size=3)
    with pytest.raises(ArgumentValueError):
        rng.bytes(-1)
    assert len(rng.bytes(7)) == 7


@pytest.mark.one_device
def test_floats_are_truncated(device):
    numpys = np.random.default_rng(7)
    for low, high in (
        (2.5, 7.5),
        (-2.5, 2.5),
        (np.float32(2.7), 9.9),
        (0.2, 0.9),
        (2.9, None),
        ([1.5, 2.5], 7.9),
        (0, 1.5),
    ):
        for endpoint in (False, True):
            size = (2000, 2)
            try:
                wanted = numpys.integers(low, high, size, endpoint=endpoint)
            except ValueError:
                with pytest.raises(ArgumentValueError):
                    default_rng(7).integers(low, high, size, endpoint=endpoint)
                continue
            found = default_rng(7).integers(low, high, size, endpoint=endpoint).copy_to_host()
            for n in range(2):
                np.testing.assert_array_equal(np.unique(found[:, n]), np.unique(wanted[:, n]))
    on_device = default_rng(7).integers(cuda.to_device(np.array([1.5, 2.5])), 7.9, (2000, 2)).copy_to_host()
    assert on_device.min(axis=0).tolist() == [1, 2] and on_device.max() == 6
    for low, high in ((0, np.inf), (-np.inf, 0), ([0.0, -np.inf], 4)):
        with pytest.raises(OverflowError):
            numpys.integers(low, high)
        with pytest.raises(ArgumentRangeError):
            default_rng(7).integers(low, high)
    with pytest.raises(ArgumentValueError):
        default_rng(7).integers(np.nan, 3)


@pytest.mark.one_device
def test_ranges_of_uniform_numbers(device):
    rng, numpys = default_rng(8), np.random.default_rng(8)
    for low, high in (
        (0, np.inf),
        (-np.inf, 0),
        (np.nan, 1),
        (-1e308, 1e308),
        ([0, 1], [np.inf, 2]),
        (3, 1),
        ([0, 3], 1),
    ):
        with pytest.raises((OverflowError, ValueError)) as wanted:
            numpys.uniform(low, high)
        with pytest.raises(ArgumentValueError) as found:
            rng.uniform(low, high)
        assert isinstance(found.value, OverflowError) is isinstance(wanted.value, OverflowError), (low, high)
    numbers = rng.uniform([0, 10], np.array([1.0, 12.0]), (100, 2)).copy_to_host()
    assert ((numbers >= [0, 10]) & (numbers < [1, 12])).all()
    assert rng.uniform(2, 2).copy_to_host() == 2
