"""Powers with exponents that are Python's numbers: dtypes and values are NumPy's, whatever computes them."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, xp
from portagpu.errors import ArgumentValueError

EXPONENTS = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 2.0, 3.0, 0.5, -0.5, 1.5, -1.5, 2.5]


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_powers_of_floats(device, dtype):
    host = np.array([0.25, 1, 1.7, 3, 1e-3, 1e3, np.inf, np.nan, 0], dtype)
    if dtype is np.complex64:
        host = host[:6] + 1j * host[1:7][::-1].clip(0, 3)
    x = cuda.to_device(host)
    for exponent in EXPONENTS:
        with np.errstate(all="ignore"):
            wanted = host**exponent
        for found in (x**exponent, np.power(x, exponent), xp.pow(x, exponent)):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5 if dtype != np.float64 else 1e-14)


@pytest.mark.one_device
def test_powers_of_integers_and_in_place(device):
    host = np.array([-300, -2, -1, 0, 1, 2, 7, 40000], np.int32)
    x = cuda.to_device(host)
    for exponent in (0, 1, 2, 3, 4, 5, 2.0, 0.5):
        with np.errstate(all="ignore"):
            wanted = host**exponent
        found = x**exponent
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-14)
    y = cuda.to_device(host.astype(np.float64))
    z = y
    for exponent in (2, 3, -1, 0.5):
        y **= exponent
    assert y is z
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(np.asarray(y), ((host.astype(float) ** 2) ** -3) ** 0.5, rtol=1e-14)
    np.testing.assert_allclose(np.asarray(2 ** x[:5].astype(np.float64)), 2.0 ** host[:5], rtol=1e-14)
    np.testing.assert_array_equal(np.asarray(cuda.to_device(np.array([True, False])) ** 2), [1, 0])


@pytest.mark.one_device
def test_powers_that_integers_have_not(device):
    x = cuda.to_device(np.array([1, 2, -1, -3, -1]))
    for power in (-1, np.int8(-2)):
        for wrong in (
            lambda p: x**p,
            lambda p: np.power(x, p),
            lambda p: xp.pow(x > 1, p),
            lambda p: x.__ipow__(p),
        ):
            with pytest.raises(ArgumentValueError, match="are not integers"):
                wrong(power)
    assert np.asarray(x ** cuda.to_device(np.array([-1, -2, -1, -1, -2]))).tolist() == [1, 0, -1, 0, 1]


@pytest.mark.one_device
def test_powers_of_bools(device):
    host = np.array([True, False])
    for exponent in (0, 1, 2, 3, 0.5):
        found, wanted = cuda.to_device(host) ** exponent, host**exponent
        assert found.dtype == wanted.dtype and np.asarray(found).tolist() == wanted.tolist()


@pytest.mark.one_device
def test_exponents_of_numpys_integers(device):
    for kind in ("int8", "uint8", "int64", "uint64"):
        x = np.array([1, 2, 3], kind)
        for exponent in (np.int8(-5), np.int64(-1), np.int8(3), np.uint64(2), np.int16(-2)):
            if np.result_type(kind, exponent).kind in "iu" and exponent < 0:
                for call in (np.power, lambda a, b: a**b):
                    with pytest.raises(ValueError, match="are not integers"):
                        call(cuda.to_device(x), exponent)
                continue
            for found in (np.power(cuda.to_device(x), exponent), cuda.to_device(x) ** exponent):
                assert found.dtype == (x**exponent).dtype
                np.testing.assert_allclose(found.copy_to_host(), x**exponent, rtol=1e-13)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_powers_of_positive_complex_numbers_overflow_to_infinity(device):
    for dtype in ("complex64", "complex128"):
        z = np.array([2, 1e10, 1.5, 0.5], dtype)
        for exponent in (100.0, 5000.0, -5000.0, 1e30 + 0j):
            found = np.power(cuda.to_device(z), np.dtype(dtype).type(exponent)).copy_to_host()
            expected = np.power(z, np.dtype(dtype).type(exponent))
            np.testing.assert_array_equal(found.real[np.isinf(expected)], expected.real[np.isinf(expected)])
            finite = np.isfinite(expected)
            np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-4 if dtype == "complex64" else 1e-12)
            np.testing.assert_array_equal(found.imag, np.zeros(4))
