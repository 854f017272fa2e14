"""Products and signs of complex device arrays are NumPy's for NaN, infinities, zeros, and parts that are 0 for all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from portagpu import cuda

_PARTS = [-3.0, 0.0, -0.0, 2.0, np.inf, -np.inf, np.nan]
_PRODUCTS = {
    "real * complex": lambda x, z: x * z,
    "complex * real": lambda x, z: z * x,
    "complex * constant": lambda x, z: z * np.float32(2),
    "complex * imaginary constant": lambda x, z: z * 2j,
    "square": lambda x, z: z * z,
    "converted": lambda x, z: (x + np.complex64(0)) * z,
    "conjugate": lambda x, z: np.conj(z) * x,
    "and sum": lambda x, z: x * z + z,
    "and difference": lambda x, z: z - x * z,
    "choice": lambda x, z: np.where(x > 0, x, z) * z,
    "of a product": lambda x, z: (1j * x) * z,
    "reduced": lambda x, z: np.sum((x * z).reshape(-1, 7), axis=1),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", _PRODUCTS)
def test_products(device, name, dtype):
    if dtype is np.complex128 and not device.capabilities.fp64:
        pytest.skip("no float64")
    cells = [(x, complex(real, imag)) for x, real, imag in itertools.product(_PARTS, repeat=3)]
    z = np.array([number for _, number in cells], dtype)
    x = np.array([number for number, _ in cells], z.real.dtype)
    wanted = _PRODUCTS[name](x, z)
    found = np.asarray(_PRODUCTS[name](cuda.to_device(x), cuda.to_device(z)))
    assert found.dtype == wanted.dtype
    for one, another in ((found.real, wanted.real), (found.imag, wanted.imag)):
        np.testing.assert_array_equal(one, another)
        there = ~np.isnan(another)
        np.testing.assert_array_equal(np.signbit(one[there]), np.signbit(another[there]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_signs(device, dtype):
    """One infinite part is the direction, as NumPy has it; of two, and of NaN, it is NaN."""
    if dtype is np.complex128 and not device.capabilities.fp64:
        pytest.skip("no float64")
    z = np.array([complex(real, imag) for real, imag in itertools.product(_PARTS, repeat=2)], dtype)
    wanted, found = np.sign(z), np.asarray(np.sign(cuda.to_device(z)))
    assert found.dtype == wanted.dtype
    for one, another in ((found.real, wanted.real), (found.imag, wanted.imag)):
        np.testing.assert_allclose(one, another, rtol=2 * np.finfo(dtype).eps)
