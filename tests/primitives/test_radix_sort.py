"""Sorting along axes: all dtypes and layouts, equal elements in their order, every bit kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keys_in_arrays import DTYPES, sample, stable_order

from portagpu import cuda, primitives
from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_orders_are_numpys(device, dtype):
    for shape in ((5,), (3, 40), (3000,)):
        x = sample(dtype, shape)
        d = cuda.to_device(x)
        order = stable_order(x)
        places = primitives.argsort(d)
        assert places.dtype == np.int64
        np.testing.assert_array_equal(places.copy_to_host(), order)
        result = primitives.sort(d)
        assert result.dtype == dtype
        assert result.copy_to_host().tobytes() == np.take_along_axis(x, order, -1).tobytes()


def _steps(x):
    """Strides of the axes that have any."""
    return tuple(stride for stride, extent in zip(x.strides, x.shape, strict=True) if extent > 1)


@pytest.mark.one_device
@given(
    shape=st.lists(st.integers(0, 40), min_size=1, max_size=3).map(tuple),
    axis=st.integers(-3, 2),
    layout=st.sampled_from(["C", "transposed", "strided", "reversed", "broadcast"]),
)
def test_axes_and_layouts(device, shape, axis, layout):
    axis = axis % len(shape) if axis >= 0 else -1 - (-axis - 1) % len(shape)
    x = sample(np.dtype(np.float32), shape)
    d = cuda.to_device(x)
    if layout == "transposed":
        x, d = x.T, d.T
    elif layout == "strided":
        x, d = x[::2], d[::2]
    elif layout == "reversed":
        x, d = x[..., ::-1], d[..., ::-1]
    elif layout == "broadcast":
        x, d = np.broadcast_to(x, (3, *shape)), d.broadcast_to((3, *shape))
    order = stable_order(x, axis)
    np.testing.assert_array_equal(primitives.argsort(d, axis=axis).copy_to_host(), order)
    result = primitives.sort(d, axis=axis)
    expected = np.sort(x, axis)
    if expected.size:
        assert _steps(result) == _steps(expected)  # in order K
    assert result.copy_to_host().tobytes() == np.take_along_axis(x, order, axis).tobytes()


_DESCENDING = [np.dtype(name) for name in ("int16", "float32", "M8[s]", "complex64")]


@pytest.mark.parametrize("dtype", _DESCENDING, ids=str)
def test_descending_keeps_equal_elements_in_their_order(device, dtype):
    x = sample(dtype, (2, 500))
    expected = stable_order(x, descending=True)
    np.testing.assert_array_equal(primitives.argsort(cuda.to_device(x), descending=True).copy_to_host(), expected)
    result = primitives.sort(cuda.to_device(x), descending=True).copy_to_host()
    assert result.tobytes() == np.take_along_axis(x, expected, 1).tobytes()


@pytest.mark.parametrize("kinds", [("float32", "int64"), ("uint8", "complex128"), ("complex64", "float16")], ids=str)
def test_values_go_with_keys(device, kinds):
    keys, values = (sample(np.dtype(kind), (3, 60), seed) for seed, kind in enumerate(kinds))
    order = stable_order(keys, 0)
    found = primitives.sort_by_key(cuda.to_device(keys), cuda.to_device(values), axis=0)
    for result, given_array in zip(found, (keys, values), strict=True):
        assert result.copy_to_host().tobytes() == np.take_along_axis(given_array, order, 0).tobytes()


def test_several_values(device):
    keys = cuda.to_device(np.array([3, 1, 2]))
    found = primitives.sort_by_key(keys, cuda.to_device(np.array([30.0, 10, 20])), cuda.to_device(np.array([9, 7, 8])))
    assert [x.copy_to_host().tolist() for x in found] == [[1, 2, 3], [10, 20, 30], [7, 8, 9]]


def test_what_is_put_off_is_sorted(device):
    x = np.arange(100)[::-1].copy()
    d = cuda.to_device(x)
    later = d + 1
    result = primitives.sort(later)
    np.testing.assert_array_equal(result.copy_to_host(), np.sort(x + 1))
    np.testing.assert_array_equal(later.copy_to_host(), x + 1)


def test_streams(device):
    stream = cuda.stream()
    x = sample(np.dtype(np.int32), (4000,))
    d = cuda.to_device(x, stream=stream)
    result = primitives.sort(d, stream=stream).copy_to_host(stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(result, np.sort(x))


@pytest.mark.one_device
def test_errors(device):
    d = cuda.to_device(np.arange(6).reshape(2, 3))
    with pytest.raises(ShapeError, match="axis 2"):
        primitives.sort(d, axis=2)
    with pytest.raises(ArgumentTypeError, match="integer"):
        primitives.sort(d, axis="x")
    with pytest.raises(ShapeError, match="reshape"):
        primitives.argsort(cuda.to_device(np.array(1.0)))
    with pytest.raises(DTypeError, match="no order"):
        primitives.sort(cuda.to_device(np.zeros(3, [("a", "i4")])))
    with pytest.raises(ShapeError, match="values"):
        primitives.sort_by_key(d, d[0])
    with pytest.raises(ArgumentTypeError, match="no array"):
        primitives.sort("text")
