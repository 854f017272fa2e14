"""What the standard's conformance suite asks for beyond the values and dtypes of other tests."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from portagpu import cuda, errors, xp
from portagpu.errors import ShapeError

_INF, _NAN = np.inf, np.nan
# real and imaginary part of the operand, then of the result; a NaN's sign is open
_EXPM1 = [
    ((0.0, 0.0), (0.0, 0.0)),
    ((-0.0, 0.0), (-0.0, 0.0)),
    ((_INF, 0.0), (_INF, 0.0)),
    ((_INF, -0.0), (_INF, -0.0)),
    ((-_INF, 2.0), (-1.0, 0.0)),
    ((_INF, 2.0), (-_INF, _INF)),
    ((-_INF, _INF), (-1.0, 0.0)),
    ((_INF, _INF), (_INF, _NAN)),
    ((-_INF, _NAN), (-1.0, 0.0)),
    ((_INF, _NAN), (_INF, _NAN)),
    ((_NAN, 0.0), (_NAN, 0.0)),
    ((_NAN, 2.0), (_NAN, _NAN)),
    ((1.0, _INF), (_NAN, _NAN)),
]
_SIGN = [((x, y), (0.0, 0.0)) for x in (0.0, -0.0) for y in (0.0, -0.0)] + [((0.0, -4.0), (0.0, -1.0))]


@pytest.mark.one_device
@pytest.mark.parametrize(("name", "cases"), [("expm1", _EXPM1), ("sign", _SIGN)])
def test_complex_special_values(device, name, cases):
    parts = np.asarray([operand for operand, _ in cases], np.float32)
    found = getattr(xp, name)(cuda.to_device(parts.view(np.complex64)[:, 0])).copy_to_host()
    expected = np.asarray([result for _, result in cases], np.float32)
    found = found.view(np.float32).reshape(expected.shape)
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_limits_are_numbers_of_python(dtype):
    found, theirs = xp.finfo(dtype), np.finfo(dtype)
    assert found.dtype == theirs.dtype and isinstance(found.dtype, np.dtype) and found.bits == theirs.bits
    for name in ("eps", "max", "min", "smallest_normal", "tiny", "resolution"):
        limit = getattr(found, name)
        assert type(limit) is float and limit == getattr(theirs, name)


def test_limits_keep_the_dtype(device):
    x = cuda.to_device(np.ones(3, np.float32))
    assert (x + xp.finfo(x.dtype).eps).dtype == np.float32


_BEYOND_AXES = {
    "sum": lambda x: xp.sum(x, axis=2),
    "max": lambda x: xp.max(x, axis=(0, -3)),
    "argmax": lambda x: xp.argmax(x, axis=2),
    "cumulative_sum": lambda x: xp.cumulative_sum(x, axis=2),
    "diff": lambda x: xp.diff(x, axis=2),
    "sort": lambda x: xp.sort(x, axis=2),
    "argsort": lambda x: xp.argsort(x, axis=-3),
    "expand_dims": lambda x: xp.expand_dims(x, axis=3),
    "squeeze": lambda x: xp.squeeze(x, axis=2),
    "moveaxis": lambda x: xp.moveaxis(x, 2, 0),
    "permute_dims": lambda x: xp.permute_dims(x, (0, 2)),
    "flip": lambda x: xp.flip(x, axis=2),
    "roll": lambda x: xp.roll(x, 1, axis=2),
    "concat": lambda x: xp.concat([x, x], axis=2),
    "stack": lambda x: xp.stack([x, x], axis=3),
    "unstack": lambda x: xp.unstack(x, axis=2),
    "repeat": lambda x: xp.repeat(x, 2, axis=2),
    "take": lambda x: xp.take(x, xp.asarray([0]), axis=2),
    "vecdot": lambda x: xp.vecdot(x, x, axis=2),
    "tensordot": lambda x: xp.tensordot(x, x, axes=((2,), (0,))),
    "cross": lambda x: xp.linalg.cross(x, x, axis=2),
    "vector_norm": lambda x: xp.linalg.vector_norm(x, axis=2),
    "fft": lambda x: xp.fft.fft(x, axis=2),
    "fftshift": lambda x: xp.fft.fftshift(x, axes=(2,)),
    "swapaxes": lambda x: x.swapaxes(0, 2),
    "diagonal": lambda x: x.diagonal(0, 0, 2),
    "add.reduce": lambda x: np.add.reduce(x, axis=2),
    "add.accumulate": lambda x: np.add.accumulate(x, axis=2),
}


@pytest.mark.one_device
def test_an_axis_that_is_not_there_is_an_index_error(device):
    """NumPy's is an IndexError and a ValueError, so programs catch either."""
    x = cuda.to_device(np.ones((2, 3), np.float32))
    for name, call in _BEYOND_AXES.items():
        with pytest.raises(IndexError) as caught:
            call(x)
        assert isinstance(caught.value, ShapeError), name


def test_dlpack_names_its_keywords(device):
    parameters = inspect.signature(cuda.to_device(np.ones(2)).__dlpack__).parameters
    assert {"stream", "max_version", "dl_device", "copy"} <= set(parameters)


@pytest.mark.one_device
@pytest.mark.parametrize(
    ("shape", "mask"),
    [((0, 1), (0, 0)), ((2, 3), (0, 3)), ((2, 3), (0, 0)), ((2, 3), (2, 0)), ((2, 3), (0,)), ((2, 3, 4), (2, 0))],
)
def test_masks_with_an_extent_of_zero_select_nothing(device, shape, mask):
    host, flags = np.arange(np.prod(shape)).reshape(shape), np.zeros(mask, bool)
    x = cuda.to_device(host)
    for key in (flags, cuda.to_device(flags)):
        found = x[key]
        assert found.shape == host[flags].shape and found.dtype == host.dtype
        x[key] = 7
    np.testing.assert_array_equal(x.copy_to_host(), host)
    for wrong in ((2, 1), (1,), (2, 3, 4, 1)):
        with pytest.raises(IndexError):
            x[cuda.to_device(np.zeros(wrong, bool))]


@pytest.mark.one_device
def test_numbers_of_lists_are_not_made_floats_on_the_way(device):
    """NumPy makes float64 of lists with numbers on both sides of 2**63."""
    large = [1, 2**63 + 1, 2**64 - 1, 0]
    for dtype in (np.uint64, "uint64"):
        assert xp.asarray(large, dtype=dtype).copy_to_host().tolist() == large
        assert xp.asarray([large, large], dtype=dtype).copy_to_host().tolist() == [large, large]
    assert xp.asarray((2**63 - 1, -(2**63)), dtype=xp.int64).copy_to_host().tolist() == [2**63 - 1, -(2**63)]
    assert xp.asarray([1.9, True, 3], dtype=xp.int8).copy_to_host().tolist() == [1, 1, 3]
    for value, dtype in (([300], xp.int8), (-1, xp.uint8), ([[2**64]], xp.uint64), ([1j], xp.float64)):
        with pytest.raises(errors.DTypeError, match="cannot assign"):
            xp.asarray(value, dtype=dtype)


@pytest.mark.one_device
@pytest.mark.parametrize("k", [-(2**70), -(2**63), -4, -1, 0, 3, 4, 2**31, 2**63 - 1, 2**63])
def test_diagonals_may_be_anywhere(device, k):
    host = np.arange(1.0, 13.0).reshape(3, 4)
    x, near = cuda.to_device(host), max(-9, min(9, k))
    for found, wanted in (
        (xp.eye(3, 4, k=k), np.eye(3, 4, near)),
        (xp.tril(x, k=k), np.tril(host, near)),
        (xp.triu(x, k=k), np.triu(host, near)),
        (xp.linalg.diagonal(x, offset=k), np.diagonal(host, near)),
        (xp.linalg.trace(x, offset=k), np.trace(host, near)),
    ):
        np.testing.assert_array_equal(found.copy_to_host(), wanted)
    if abs(k) < 2**31:
        np.testing.assert_array_equal(np.diagonal(x, k).copy_to_host(), np.diagonal(host, k))
    else:
        with pytest.raises(errors.ShapeError, match="no such diagonal"):
            np.diagonal(x, k)


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.complex128])
def test_capsules_for_the_host(device, dtype):
    """A copy where the device's memory is none of the host's, the memory itself on CPUs."""
    host = np.arange(6, dtype=dtype).reshape(2, 3)
    x = cuda.to_device(host)
    for view, same in ((x, host), (x[:, ::2], host[:, ::2]), (x.T, host.T)):
        found = np.from_dlpack(view, device="cpu")
        np.testing.assert_array_equal(found, same)
        copied = np.from_dlpack(view, device="cpu", copy=True)
        view[...] = 9
        np.testing.assert_array_equal(copied, same)
        view[...] = same


@pytest.mark.one_device
def test_capsules_of_copies(device):
    x = cuda.to_device(np.arange(6.0).reshape(2, 3))
    try:
        own = x.__dlpack_device__()
    except errors.MemoryNotSharedError:
        pytest.skip("the device has memory of its own")
    for options in ({}, {"copy": True}, {"copy": False}, {"dl_device": own}, {"dl_device": own, "copy": True}):
        for version in ({}, {"max_version": (1, 0)}, {"max_version": None}):
            y = x + 0
            capsule = y[:, 1:].__dlpack__(**options, **version)
            assert "dltensor" in repr(capsule)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(17, 0))
