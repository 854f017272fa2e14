"""What the standard's conformance suite asks for beyond the values and dtypes of other tests."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from portagpu import cuda, xp

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
