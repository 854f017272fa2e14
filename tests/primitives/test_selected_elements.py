"""Selection, partition and run lengths against NumPy: sizes around the shares of blocks, all kinds of elements."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors, primitives
from portagpu.primitives.selections.repeats import numbers_of_repeats

SIZES = [0, 1, 31, 33, 4095, 4097, 20_011]


def flags_of(size: int, share: float) -> np.ndarray:
    return np.random.default_rng(size).random(size) < share


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.complex128])
def test_select(device, size, dtype):
    x = (np.random.default_rng(1).random(size) * 100).astype(dtype)
    for share in (0.0, 0.02, 0.5, 1.0):
        flags = flags_of(size, share)
        found = primitives.select(cuda.to_device(x), cuda.to_device(flags))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.copy_to_host(), x[flags])


@pytest.mark.parametrize("size", SIZES)
def test_places_and_partition(device, size):
    x, flags = np.arange(size, dtype=np.int32), flags_of(size, 0.3)
    d, chosen = cuda.to_device(x), cuda.to_device(flags)
    found = primitives.flatnonzero(chosen)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found.copy_to_host(), np.flatnonzero(flags))
    parted, count = primitives.partition(d, chosen)
    assert count == flags.sum()
    np.testing.assert_array_equal(parted.copy_to_host(), np.concatenate([x[flags], x[~flags]]))
    kept = primitives.select_if(d, lambda v: v % 3 == 1)
    np.testing.assert_array_equal(kept.copy_to_host(), x[x % 3 == 1])


def test_nonzero_of_strided_arrays(device):
    x = np.random.default_rng(0).integers(0, 2, (6, 7, 8)).astype(np.float32)
    x[0, 0, 0], x[0, 0, 1] = np.nan, -0.0
    d = cuda.to_device(x)
    for mine, theirs in ((d, x), (d.transpose(2, 0, 1), x.transpose(2, 0, 1)), (d[::-2, 1:], x[::-2, 1:])):
        for found, wanted in zip(primitives.nonzero(mine), np.nonzero(theirs), strict=True):
            np.testing.assert_array_equal(found.copy_to_host(), wanted)
    with pytest.raises(errors.ShapeError, match="0-d"):
        primitives.nonzero(cuda.to_device(np.array(1.0)))


def test_wrong_shapes(device):
    d, flags = cuda.to_device(np.arange(4.0)), cuda.to_device(np.ones(3, bool))
    with pytest.raises(errors.ShapeError, match=r"\(4,\) cannot be selected by flags of shape \(3,\)"):
        primitives.select(d, flags)
    with pytest.raises(errors.ShapeError, match="parted"):
        primitives.partition(d, flags)
    with pytest.raises(errors.ArgumentTypeError, match="device array"):
        primitives.flatnonzero(np.ones(3, bool))
    with pytest.raises(errors.ArgumentTypeError, match="predicate"):
        primitives.select_if(d, 3)


@pytest.mark.parametrize("values", [[], [5], [1, 1, 2, 2, 2, 1], list(range(5000)), [3] * 5000])
def test_run_lengths(device, values):
    x = np.array(values, np.int32)
    found, lengths = primitives.run_length_encode(cuda.to_device(x))
    starts = np.flatnonzero(np.r_[True, x[1:] != x[:-1]]) if x.size else np.array([], int)
    np.testing.assert_array_equal(found.copy_to_host(), x[starts])
    np.testing.assert_array_equal(lengths.copy_to_host(), np.diff(np.r_[starts, x.size]))


def test_numbers_of_repeats(device):
    for counts in ([0, 3, 0, 0, 2, 1, 0], [1] * 3000, [0, 0]):
        found = numbers_of_repeats(cuda.to_device(np.array(counts)))
        np.testing.assert_array_equal(found.copy_to_host(), np.repeat(np.arange(len(counts)), counts))
    with pytest.raises(errors.ShapeError, match="negative"):
        numbers_of_repeats(cuda.to_device(np.array([1, -1])))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("size", [20, 4097, 140_011])
def test_many_threads(device, as_on_gpus, size):
    x, flags = np.random.default_rng(5).random(size).astype(np.float32), flags_of(size, 0.4)
    d, chosen = cuda.to_device(x), cuda.to_device(flags)
    np.testing.assert_array_equal(primitives.select(d, chosen).copy_to_host(), x[flags])
    np.testing.assert_array_equal(primitives.flatnonzero(chosen).copy_to_host(), np.flatnonzero(flags))
    parted, count = primitives.partition(d, chosen)
    assert count == flags.sum()
    np.testing.assert_array_equal(parted.copy_to_host(), np.concatenate([x[flags], x[~flags]]))
    places = np.random.default_rng(6).integers(-size, size, 70_003)
    np.testing.assert_array_equal(d[cuda.to_device(places)].copy_to_host(), x[places])


@pytest.mark.parametrize("count", [4097, 2**14 + 3, 2**16])
@pytest.mark.parametrize("start", [0, 1, 8, 13])
def test_flags_that_begin_anywhere(device, count, start):
    """CPUs count them by words, where these are aligned; ends of shares, and of flags, lie within a word."""
    host = np.random.default_rng(count).random(count + start) > 0.5
    flags = cuda.to_device(host)[start:]
    assert np.array_equal(primitives.flatnonzero(flags).copy_to_host(), np.flatnonzero(host[start:]))
    for constant in (False, True):
        flags = cuda.to_device(np.full(count + start, constant))[start:]
        assert primitives.flatnonzero(flags).size == count * constant
