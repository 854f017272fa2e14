"""Fourier transforms of the array API and under NumPy's names, against NumPy's in double precision."""

import numpy as np
import pytest

from portagpu import cuda, xp
from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError, UnknownOptionError
from portagpu.fourier import sums
from portagpu.fourier.lengths import radices, roots, smooth_from, split

_LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 11, 16, 30, 61, 67, 77, 105, 128, 134, 1000, 1031, 2048, 3 * 2048, 4099)


def _random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(shape)
    return (found + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else found).astype(dtype)


def _check(found, expected, dtype, n):
    """Relative to all results, the error is at most some units for each of log2(n) levels."""
    found = found.copy_to_host()
    assert found.shape == expected.shape
    limit = 4 * np.finfo(dtype).eps * (1 + np.log2(max(n, 1)))
    assert np.linalg.norm(found - expected) <= limit * np.linalg.norm(expected)


@pytest.fixture(params=["short ones as sums", "all fast"])
def ways(request, monkeypatch):
    """CPUs add few numbers as they are."""
    if request.param == "all fast":
        monkeypatch.setattr(sums, "_MOST", 0)


@pytest.mark.each_value(thorough=True)
@pytest.mark.in_turn(4)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("batch", [1, 19])
@pytest.mark.one_device
def test_lengths(device, ways, dtype, batch):
    for n in _LENGTHS if batch == 1 else _LENGTHS[:-3]:
        x = _random((batch, n), dtype)
        there = cuda.to_device(x)
        double = x.astype(np.complex128)
        _check(xp.fft.fft(there), np.fft.fft(double), dtype, n)
        _check(xp.fft.ifft(there), np.fft.ifft(double), dtype, n)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.one_device
def test_real(device, ways, dtype):
    for n in (1, 2, 7, 12, 67, 100, 2048, 3000):
        x, half = _random((3, n), dtype), _random((3, n // 2 + 1), f"c{2 * np.dtype(dtype).itemsize}")
        reals, halves = cuda.to_device(x), cuda.to_device(half)
        double, doubles = x.astype(np.float64), half.astype(np.complex128)
        _check(xp.fft.rfft(reals), np.fft.rfft(double), dtype, n)
        _check(xp.fft.ihfft(reals), np.fft.ihfft(double), dtype, n)
        _check(xp.fft.irfft(halves, n=n), np.fft.irfft(doubles, n=n), dtype, n)
        _check(xp.fft.hfft(halves, n=n), np.fft.hfft(doubles, n=n), dtype, n)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [3, 8, 71])
@pytest.mark.in_turn(2)
@pytest.mark.one_device
def test_axes_lengths_and_norms(device, ways, n, norm):
    x = _random((4, 6, 5), "complex64")
    for given in (x, x.transpose(2, 0, 1), x[::-1, ::2]):
        there = cuda.to_device(x)
        there = there.transpose(2, 0, 1) if given.shape[0] == 5 else there if given is x else there[::-1, ::2]
        for axis in (0, 1, -1):
            for name in ("fft", "ifft", "irfft", "hfft"):
                expected = getattr(np.fft, name)(given.astype(np.complex128), n=n, axis=axis, norm=norm)
                _check(getattr(xp.fft, name)(there, n=n, axis=axis, norm=norm), expected, "complex64", n)


@pytest.mark.one_device
def test_several_axes(device):
    x, real = _random((4, 6, 5), "complex128"), _random((4, 6, 5), "float64")
    there, reals = cuda.to_device(x), cuda.to_device(real)
    for options in ({}, {"axes": (2, 0)}, {"s": (3, 8), "axes": (0, 1)}):
        for name in ("fftn", "ifftn", "irfftn"):
            _check(getattr(xp.fft, name)(there, **options), getattr(np.fft, name)(x, **options), "complex128", 120)
        _check(xp.fft.rfftn(reals, **options), np.fft.rfftn(real, **options), "float64", 120)
    _check(np.fft.fft2(there), np.fft.fft2(x), "complex128", 30)
    _check(np.fft.irfft(there, 9, 1, "ortho"), np.fft.irfft(x, 9, 1, "ortho"), "complex128", 9)


@pytest.mark.one_device
def test_integers_shifts_and_frequencies(device):
    x = np.arange(35, dtype=np.int16).reshape(5, 7)
    found = xp.fft.fft(cuda.to_device(x))
    _check(found, np.fft.fft(x), found.dtype, 7)
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 0, (1,)):
            expected = getattr(np.fft, name)(x, axes=axes)
            np.testing.assert_array_equal(getattr(xp.fft, name)(cuda.to_device(x), axes=axes).copy_to_host(), expected)
    for n in (1, 6, 7):
        for name in ("fftfreq", "rfftfreq"):
            found = getattr(xp.fft, name)(n, d=0.3).copy_to_host()
            np.testing.assert_allclose(found, getattr(np.fft, name)(n, 0.3), rtol=1e-6)
    assert xp.fft.fftfreq(4, dtype=xp.float32).dtype == np.float32


@pytest.mark.one_device
def test_without_rows(device):
    found = xp.fft.fft(cuda.to_device(np.ones((0, 4), np.complex64)))
    assert found.shape == (0, 4) and found.dtype == np.complex64


@pytest.mark.one_device
def test_errors_of_transforms(device):
    x = cuda.to_device(np.ones((2, 3), np.complex64))
    with pytest.raises(ShapeError, match="no axis 2"):
        xp.fft.fft(x, axis=2)
    with pytest.raises(ShapeError, match="0 elements"):
        xp.fft.fft(x, n=0)
    with pytest.raises(UnknownOptionError, match="norm is 'other'"):
        xp.fft.fft(x, norm="other")
    with pytest.raises(DTypeError, match="real numbers"):
        xp.fft.rfft(x)
    with pytest.raises(ArgumentTypeError, match="whole number"):
        xp.fft.fft(x, n=2.5)
    with pytest.raises(ShapeError, match="lengths"):
        xp.fft.fftn(x, s=(1, 2), axes=(0,))


def test_factors_of_lengths():
    for n in (1, 2, 16, 128, 1024, 2520, 61 * 11, 3**7):
        assert np.prod(radices(n)) == n
    assert split(4096, 1024) == (64, 64) and split(2 * 1009, 1024) == (1009, 2)
    assert smooth_from(1000) == 1024 and smooth_from(1281) == 1536


def test_roots_of_unity():
    n = 1000
    k = np.arange(n)
    angle = np.arctan2(np.longdouble(0), np.longdouble(-1)) * 2 * k / n
    exact = np.cos(angle) - 1j * np.sin(angle)
    assert np.abs(roots(n, k, np.dtype(np.complex128)) - exact).max() <= 2**-52


@pytest.mark.in_turn(4)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name", [f"{name}{n}" for n in ("", "2", "n") for name in ("fft", "ifft", "rfft", "irfft")] + ["hfft", "ihfft"]
)
def test_dtypes_are_numpys(device, name):
    if not device.capabilities.fp64:
        pytest.skip("without float64, dtypes of results are not NumPy's")
    function = getattr(np.fft, name)
    for dtype in "? b B h i q Q e f d F D".split():
        for shape in ((6,), (2, 6)):
            x = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
            if (dtype in "FD" and name in ("rfft", "rfft2", "rfftn", "ihfft")) or (name.endswith("2") and x.ndim < 2):
                continue
            found, expected = function(cuda.to_device(x)), function(x)
            assert found.dtype == expected.dtype, (dtype, shape)
            _check(found, expected.astype("D"), np.float16 if dtype == "e" else np.float32, x.size)
