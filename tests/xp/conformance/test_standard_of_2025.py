"""What version 2025.12 of the array API standard added and changed, against array_api_strict and NumPy."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from portagpu import cuda, xp
from portagpu.errors import OutOfBoundsError, ShapeError, ShapeTypeError

strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    strict.set_array_api_strict_flags(api_version="2025.12")

_SIGNED, _UNSIGNED = ["int8", "int16", "int32", "int64"], ["uint8", "uint16", "uint32", "uint64"]
_INTEGERS = [*_SIGNED, *_UNSIGNED]


def _both(host):
    return cuda.to_device(host) if host.ndim else xp.asarray(host), strict.asarray(host)


@given(shapes=mutually_broadcastable_shapes(num_shapes=3, max_dims=3, min_side=0).map(lambda found: found.input_shapes))
def test_shapes_that_broadcast(shapes):
    found = xp.broadcast_shapes(*shapes)
    assert type(found) is tuple and found == strict.broadcast_shapes(*shapes)
    assert xp.broadcast_shapes(*map(list, shapes)) == found and xp.broadcast_shapes(found, *shapes) == found


def test_shapes_that_do_not_broadcast():
    assert xp.broadcast_shapes() == () and xp.broadcast_shapes(3, (2, 1)) == (2, 3)
    for wrong in ([(2,), (3,)], [(0,), (2,)], [(3, -1), (3, 1)]):
        with pytest.raises(ShapeError):
            xp.broadcast_shapes(*wrong)
    for wrong in ([(None, 3)], [(2, 1.5)], ["ab"], [(True,)]):
        with pytest.raises(ShapeTypeError):
            xp.broadcast_shapes(*wrong)


@st.composite
def _sets(draw):
    """Arrays of integers that have some in common, of dtypes that promote to one of integers."""
    family = draw(st.sampled_from([_SIGNED, _UNSIGNED]))
    dtypes = [draw(st.sampled_from(family)) for _ in range(2)]
    limits = [np.iinfo(dtype) for dtype in dtypes]
    low, high = max(x.min for x in limits), min(x.max for x in limits)
    common = draw(st.lists(st.integers(low, high), min_size=1, max_size=5))
    shapes = draw(
        st.sampled_from([((), (3,)), ((4,), ()), ((2, 3), (2, 2)), ((0,), (3,)), ((3,), (0, 2)), ((1,), (1,))])
    )
    arrays = []
    for shape, dtype, limit in zip(shapes, dtypes, limits, strict=True):
        items = st.sampled_from(common) | st.integers(int(limit.min), int(limit.max))
        count = int(np.prod(shape))
        arrays.append(np.asarray(draw(st.lists(items, min_size=count, max_size=count)), dtype).reshape(shape))
    return arrays


@pytest.mark.one_device
def test_elements_of_sets(device):
    @given(_sets())
    def check(arrays):
        (first, second), (theirs, others) = zip(*map(_both, arrays), strict=True)
        expected = np.asarray(strict.isin(theirs, others))
        for invert in (False, True):  # which array_api_strict 2.6 takes no notice of
            found = xp.isin(first, second, invert=invert)
            assert found.dtype == bool and found.shape == arrays[0].shape
            np.testing.assert_array_equal(found.copy_to_host(), expected != invert)

    check()


@pytest.mark.one_device
def test_numbers_of_python_in_sets(device):
    for dtype in _INTEGERS:
        limits = np.iinfo(dtype)
        host = np.asarray([limits.min, limits.max, limits.max - 1, 1, 2], dtype)
        x = cuda.to_device(host)
        for number in (1, 5, int(limits.max), int(limits.min) - 1, 2**64, -(10**30)):
            expected = [value == number for value in host.tolist()]
            assert xp.isin(x, number).copy_to_host().tolist() == expected
            assert xp.isin(x, number, invert=True).copy_to_host().tolist() == [not value for value in expected]
            within = xp.isin(number, x)
            assert within.shape == () and bool(within) is any(expected)
            assert bool(xp.isin(number, x, invert=True)) is not any(expected)
            if limits.min <= number <= limits.max:
                assert bool(within) is bool(strict.isin(number, strict.asarray(host)))


@pytest.mark.one_device
def test_sets_of_integers_that_promote_to_floats(device):
    """By values, as `equal` has it: neighbours beyond 2**53 are different numbers."""
    signed = np.asarray([-1, -(2**63), 5, 2**53 + 1, 2**63 - 1])
    unsigned = np.asarray([2**64 - 1, 2**63, 5, 2**53, 2**63 - 1, 0], np.uint64)
    for first, second in ((signed, unsigned), (unsigned, signed), (unsigned, signed.astype(np.int8))):
        expected = [value in second.tolist() for value in first.tolist()]
        a, b = cuda.to_device(first), cuda.to_device(second)
        assert xp.isin(a, b).copy_to_host().tolist() == np.isin(a, b).copy_to_host().tolist() == expected
        assert xp.isin(a, b, invert=True).copy_to_host().tolist() == [not value for value in expected]


@pytest.mark.one_device
def test_numbers_of_python_are_searched_for(device):
    for dtype in (*_INTEGERS, "float32"):
        host = np.asarray([0, 1, 1, 5, 100], dtype)
        x, theirs = _both(host)
        backward, order = cuda.to_device(host[::-1].copy()), cuda.to_device(np.arange(5)[::-1].copy())
        numbers = [0, 1, 3, 5, 100, 101, -1, 1.0, 2.5, 300, 2**70, -(2**70), True]
        for number, side in itertools.product(numbers, ("left", "right")):
            found = xp.searchsorted(x, number, side=side)
            assert found.shape == () and found.dtype == np.int64
            where = (host < number).sum() if side == "left" else (host <= number).sum()
            assert found.item() == xp.searchsorted(backward, number, side=side, sorter=order).item() == where
            if number in (0, 1, 3, 5, 100) and type(number) is int:
                assert found.item() == int(strict.searchsorted(theirs, number, side=side))
    tenth = cuda.to_device(np.asarray([0.1], np.float32))
    assert xp.searchsorted(tenth, 0.1).item() == 0 and xp.searchsorted(tenth, 0.1, side="right").item() == 1
    assert (
        xp.searchsorted(tenth, 10**400).item() == xp.searchsorted(tenth, 1e39).item() == 1
        and xp.searchsorted(tenth, -(10**400)).item() == 0
    )


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_numpy_searches_in_double_precision(device, dtype):
    """NumPy's function does not take a Python number for one of the array's dtype."""
    if dtype is np.float64 and not device.capabilities.fp64:
        pytest.skip("the device has no float64")
    host = np.sort(np.asarray([-np.inf, -3.3, 0.1, 0.3, 1, 2**10, 5e4, np.inf], dtype))
    x = cuda.to_device(host)
    for number, side in itertools.product(
        [0.1, 0.3, 1, -3.3, 1024.001, 1e39, -1e300, np.inf, np.nan, 70000], ["left", "right"]
    ):
        assert np.searchsorted(x, number, side).item() == np.searchsorted(host, number, side), (number, side)


@pytest.mark.one_device
def test_tuples(device):
    x, y = cuda.to_device(np.arange(3.0)), cuda.to_device(np.arange(2.0))
    for found, count in (
        (xp.meshgrid(x, y), 2),
        (xp.meshgrid(), 0),
        (xp.meshgrid(x, indexing="ij"), 1),
        (xp.broadcast_arrays(x, x), 2),
        (xp.broadcast_arrays(), 0),
        (np.meshgrid(x, y), 2),
        (np.broadcast_arrays(x, x), 2),
    ):
        assert type(found) is tuple and len(found) == count
    assert type(xp.__array_namespace_info__().devices()) is tuple


@st.composite
def _places(draw):
    ndim = draw(st.integers(0, 3)) + (count := draw(st.integers(0, 3)))
    return ndim - count, tuple(draw(st.lists(st.integers(-ndim - 1, ndim), min_size=count, max_size=count)))


@pytest.mark.one_device
def test_axes_of_one_element(device):
    @given(_places())
    def check(example):
        ndim, axis = example
        host = np.zeros(range(2, 2 + ndim), np.int8)
        x, theirs = _both(host)
        for given_axis in (axis, *axis):
            try:
                expected = strict.expand_dims(theirs, axis=given_axis).shape
            except ValueError as error:
                kind = OutOfBoundsError if isinstance(error, IndexError) else ShapeError
                with pytest.raises(kind):
                    xp.expand_dims(x, axis=given_axis)
            else:
                assert xp.expand_dims(x, axis=given_axis).shape == expected

    check()
    for wrong in (1.0, (0, 1.5), "a"):
        with pytest.raises(ShapeTypeError):
            xp.expand_dims(cuda.to_device(np.zeros(2)), axis=wrong)


@pytest.mark.one_device
def test_axes_counted_from_the_last(device):
    host = np.arange(24).reshape(2, 3, 4)
    x, theirs = _both(host)
    for axes in itertools.product(range(-4, 4), repeat=3):
        try:
            expected = np.asarray(strict.permute_dims(theirs, axes))
        except ValueError as error:
            with pytest.raises(OutOfBoundsError if isinstance(error, IndexError) else ShapeError):
                xp.permute_dims(x, axes)
        else:
            np.testing.assert_array_equal(xp.permute_dims(x, axes).copy_to_host(), expected)


@pytest.mark.one_device
def test_what_is_assigned_is_promoted(device):
    """To the array's dtype, wherever the standard promotes to that."""
    names = [
        n for n in xp.__array_namespace_info__().dtypes() if n in xp.__array_namespace_info__().dtypes(device=device)
    ]
    for ours, theirs in itertools.product(names, names):
        wanted = strict.asarray([0, 1, 1], dtype=getattr(strict, ours))
        value = strict.asarray([1, 0], dtype=getattr(strict, theirs))
        try:
            wanted[1:] = value
        except TypeError:
            continue
        x = cuda.to_device(np.asarray([0, 1, 1], ours))
        x[1:] = cuda.to_device(np.asarray([1, 0], theirs))
        assert x.dtype == ours
        np.testing.assert_array_equal(x.copy_to_host(), np.asarray(wanted))


@pytest.mark.one_device
def test_bounds_that_are_numbers_keep_the_dtype(device):
    for dtype in (*_INTEGERS, "float32"):
        host = np.asarray([0, 1, 7, 100], dtype)
        x, theirs = _both(host)
        fractions = [(1.5, 7.25), (0.1, None), (1, 2.5)] if dtype == "float32" else []
        for bounds in ((2, None), (None, 50), (2, 50), *fractions):
            found = xp.clip(x, *bounds)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found.copy_to_host(), np.asarray(strict.clip(theirs, *bounds)))
