"""What the standard's conformance suite asks for beyond the values and dtypes of other tests."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from portagpu import cuda, xp
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
