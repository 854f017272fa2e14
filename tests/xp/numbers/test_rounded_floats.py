"""`numpy.round` of floats and complex numbers to decimals: NumPy's, also where scaled ones are infinite."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from portagpu import cuda

pytestmark = [pytest.mark.one_device, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

_DECIMALS = (1, 2, -1, -3, 5, -5, 9, 23, -25, 40, -40, 308, 309, -400)
_LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "permuted": lambda x: x.transpose(1, 2, 0),
    "with gaps, backwards": lambda x: x[::-2, :, 1:],
    "one element": lambda x: x[1, 1, 1],
    "no elements": lambda x: x[:, :0],
}


def _numbers(dtype):
    """Every pair as real and imaginary part, or each: rounded, infinite, and infinite once they are scaled."""
    limits = np.finfo(dtype)
    parts = [0.0, -0.0, 0.126, -2.5, 15.0, 12345.678, float(limits.max), -float(limits.tiny), np.inf, -np.inf, np.nan]
    host = np.array(parts, limits.dtype)
    if np.dtype(dtype).kind != "c":
        return np.resize(host, (3, 4, 2))
    found = np.empty((host.size**2 // 8 + 1) * 8, dtype)
    pairs = itertools.islice(itertools.cycle(itertools.product(host, repeat=2)), found.size)
    found.real, found.imag = np.array(list(pairs)).T
    return found.reshape(4, -1, 2)


def _check(found, expected):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    host = np.asarray(found)
    for one, two in ((host.real, expected.real), (host.imag, expected.imag)):
        np.testing.assert_array_equal(one, two)
        there = ~np.isnan(two)
        np.testing.assert_array_equal(np.signbit(one[there]), np.signbit(two[there]))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128])
def test_decimals(device, dtype):
    if np.dtype(dtype).char in "dD" and not device.capabilities.fp64:
        pytest.skip("no float64")
    host = _numbers(dtype)
    for decimals in (0, *_DECIMALS):
        _check(cuda.to_device(host).round(decimals), host.round(decimals))


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_layouts_of_complex_numbers(device, layout):
    host = _numbers(np.complex64)
    for decimals in (2, -1):
        x, y = _LAYOUTS[layout](cuda.to_device(host)), _LAYOUTS[layout](host)
        found, expected = np.round(x, decimals), np.round(y, decimals)
        _check(found, np.asarray(expected))
        if found.size:
            assert found.strides == np.asarray(expected).strides
        _check(np.around(x + x, decimals), np.asarray(np.around(y + y, decimals)))


def test_out_of_complex_numbers(device):
    host = _numbers(np.complex64)
    for dtype in (np.complex64, np.complex128) if device.capabilities.fp64 else (np.complex64,):
        out, expected = cuda.to_device(np.zeros(host.shape, dtype)), np.zeros(host.shape, dtype)
        assert np.round(cuda.to_device(host), 1, out=out) is out
        _check(out, np.round(host, 1, out=expected))
    x = cuda.to_device(host)
    assert np.round(x, 1, out=x) is x
    _check(x, host.round(1))
    x = cuda.to_device(host)
    np.round(x[::-1], 1, out=x)
    _check(x, host[::-1].round(1))
    for real in (np.float32, np.int32):
        with pytest.raises(TypeError):
            np.round(x, 1, out=cuda.to_device(np.zeros(host.shape, real)))
