"""Errors of each part of complex logarithms and powers of two, near the unit circle and where terms cancel."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda

_LONG = np.longdouble
_LOG_2, _LOG_10 = np.log(_LONG(2)), np.log(_LONG(10))
_ULPS = 6  # of the drivers' atan2; others have 4
pytestmark = pytest.mark.skipif(np.finfo(_LONG).nmant < 63, reason="long double has no more digits than float64")


def _log(x, y):
    size = np.hypot(x, y)
    near = np.log1p((x * x - 1) + y * y) / 2
    return np.where(np.abs(size - 1) < 0.5, near, np.log(size)), np.arctan2(y, x)


def _log1p(x, y):
    size = np.hypot(1 + x, y)
    near = np.log1p(x * (x + 2) + y * y) / 2
    return np.where(np.abs(size - 1) < 0.5, near, np.log(size)), np.arctan2(y, 1 + x)


def _exp2(x, y):
    return np.exp2(x) * np.cos(y * _LOG_2), np.exp2(x) * np.sin(y * _LOG_2)


_EXACT = {
    "log": _log,
    "log2": lambda x, y: [part / _LOG_2 for part in _log(x, y)],
    "log10": lambda x, y: [part / _LOG_10 for part in _log(x, y)],
    "log1p": _log1p,
    "exp2": _exp2,
}


def _operands():
    generator = np.random.default_rng(0)
    n = 2000
    turns = np.exp(1j * generator.uniform(-np.pi, np.pi, n))
    circle = turns * (1 + np.exp(generator.uniform(-16, 0, n)) * generator.choice([-1, 1], n))
    y = generator.uniform(-1, 1, n)
    cancelling = y * y * generator.uniform(-0.6, -0.4, n) + 1j * y  # of log1p: |1 + z| is nearly 1
    sizes = turns * np.exp(generator.uniform(-20, 4, n))
    return np.concatenate([circle, circle - 1, cancelling, sizes]).astype(np.complex64)


@pytest.mark.parametrize("name", _EXACT)
def test_errors_of_parts(device, name):
    z = _operands()
    parts = getattr(np, name)(cuda.to_device(z)).copy_to_host()
    exact = _EXACT[name](z.real.astype(_LONG), z.imag.astype(_LONG))
    for part, value in zip((parts.real, parts.imag), exact, strict=True):
        ulp = np.spacing(np.maximum(np.abs(value), np.finfo(np.float32).tiny).astype(np.float32))
        errors = np.abs(part - value) / ulp
        assert errors.max() <= _ULPS, (z[errors.argmax()], errors.max())


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_powers_of_two_by_large_angles(device, dtype):
    real = np.dtype(dtype).type().real.dtype
    generator = np.random.default_rng(1)
    sizes = np.exp2(generator.uniform(0, np.finfo(real).maxexp - 1, 4000)) * generator.choice([-1, 1], 4000)
    z = (generator.uniform(-3, 3, 4000) + 1j * sizes).astype(dtype)
    found = np.exp2(cuda.to_device(z)).copy_to_host().astype(np.clongdouble)
    modulus = np.exp2(z.real.astype(_LONG))
    eps = np.finfo(real).eps
    assert np.max(np.abs(np.abs(found) - modulus) / modulus) <= 16 * eps
    near = np.abs(z.imag) < min(np.sqrt(1 / eps), eps / np.finfo(_LONG).eps)  # whose angles have all digits
    exact = _exp2(z.real.astype(_LONG), z.imag.astype(_LONG))
    assert np.max(np.abs(found - (exact[0] + 1j * exact[1]))[near] / modulus[near]) <= 16 * eps


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["exp2", "reciprocal", "sign"])
def test_zeros_and_infinities(device, name, dtype):
    """Classes and signs of parts; NumPy's reciprocal of infinite numbers is NaN, that of a quotient is 0."""
    numbers = [0.0, -0.0, 1.0, -2.0, *([np.inf, -np.inf, np.nan] if name == "exp2" else [])]
    z = np.array([complex(x, y) for x in numbers for y in numbers if name != "reciprocal" or x or y], dtype)
    expected = getattr(np, name)(z)
    found = getattr(np, name)(cuda.to_device(z)).copy_to_host()
    for part, other in ((found.real, expected.real), (found.imag, expected.imag)):
        np.testing.assert_allclose(part, other, rtol=1e-6)
        sure = ~np.isnan(other) & (z.imag != np.inf) & (z.imag != -np.inf)
        np.testing.assert_array_equal(np.signbit(part)[sure], np.signbit(other)[sure], err_msg=str(z[sure]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_signs_of_all_sizes(device, dtype):
    info = np.finfo(dtype)
    sizes = np.array([info.max, info.max / 3, 1e10, 1.0, 1e-10, info.tiny], info.dtype)
    x, y = (side.ravel() for side in np.meshgrid(sizes, -sizes))
    exact = (x + 1j * y.astype(_LONG)) / np.hypot(x.astype(_LONG), y)
    found = np.sign(cuda.to_device((x + 1j * y).astype(dtype))).copy_to_host()
    np.testing.assert_allclose(found, exact.astype(dtype), rtol=8 * info.eps)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_inverse_tangents_beside_their_poles(device, dtype):
    real = np.dtype(dtype).type().real.dtype
    info = np.finfo(real)
    y = np.concatenate(
        [np.exp2(np.arange(info.minexp - info.nmant, -10.0)), np.sqrt(info.tiny) * (1 + info.eps * np.arange(-4, 5))]
    )
    z = np.empty(y.size, dtype)
    z.real, z.imag = 1, y
    exact = np.log1p(4 / z.imag.astype(_LONG) ** 2) / 4
    np.testing.assert_allclose(np.arctanh(cuda.to_device(z)).copy_to_host().real, exact.astype(real), rtol=8 * info.eps)
    turned = np.arctan(cuda.to_device(-z.imag + 1j * z.real).astype(dtype)).copy_to_host()
    np.testing.assert_allclose(turned.imag, exact.astype(real), rtol=8 * info.eps)
