"""``**`` with constant exponents: products, against NumPy, and no call of the device's `pow`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from portagpu import cuda
from portagpu.device import DeviceRecord

_EXPONENTS = (1, 2, 5, 6, 7, 12, 13, 31, 32, 33, -1, -2, -3, -6, -12, -32, -33, 0)


@cuda.jit
def constant_powers(x, out):
    i = cuda.grid(1)
    if i < x.size:
        for k in cuda.unroll(range(len(_EXPONENTS))):
            out[k, i] = x[i] ** _EXPONENTS[k]


@pytest.mark.parametrize("name", ("float16", "float32", "float64", "complex64"))
def test_constant_powers_of_floats(device: DeviceRecord, name: str) -> None:
    base = np.array([0.75, 0.9, 1, 1.1, 1.25], name)
    x = np.concatenate([base, -base, base * np.asarray(1j).astype(name)]) if name[0] == "c" else np.append(base, -base)
    out = np.zeros((len(_EXPONENTS), x.size), name)
    constant_powers.forall(x.size)(x, out)
    wide = np.complex128 if name[0] == "c" else np.float64
    expected = np.stack([x.astype(wide) ** n for n in _EXPONENTS])
    np.testing.assert_allclose(out, expected, rtol=40 * np.finfo(name).eps)


@pytest.mark.parametrize("name", ("float16", "float32", "float64"))
def test_negative_powers_at_the_ends(device: DeviceRecord, name: str) -> None:
    """Numbers whose power overflows while its reciprocal is a number, and those at which it is zero or infinite."""
    info = np.finfo(name)
    ends = [float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    roots = [end ** (1 / n) * near for end in ends for n in (1, 2, 3, 6, 12) for near in (0.25, 0.99, 1.01, 1.5, 4)]
    with np.errstate(all="ignore"):
        x = np.array([0.0, np.inf, np.nan, *roots], name)
        x = np.concatenate([x, -x])
        out = np.zeros((len(_EXPONENTS), x.size), name)
        constant_powers.forall(x.size)(x, out)
        for n, row in zip(_EXPONENTS, out, strict=True):
            expected = np.power(x.astype(np.longdouble), n).astype(name)
            # below the normal numbers units do not shrink, and a product that has lost bits there loses them again
            loose = 64 * info.smallest_subnormal if n > 0 else info.smallest_subnormal
            np.testing.assert_allclose(row, expected, rtol=40 * info.eps, atol=loose, err_msg=str(n))
            np.testing.assert_array_equal(np.signbit(row[row == 0]), np.signbit(expected[row == 0]))


@cuda.jit
def integer_powers(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] ** 5
        out[1, i] = x[i] ** 6
        out[2, i] = x[i] ** 31
        out[3, i] = x[i] ** 32


@pytest.mark.parametrize("name", ("int8", "uint8", "int16", "uint32", "int64", "uint64"))
def test_constant_powers_of_integers_wrap(device: DeviceRecord, name: str) -> None:
    x = np.arange(-9, 10).astype(name)
    out = np.zeros((4, x.size), name)
    integer_powers.forall(x.size)(x, out)
    np.testing.assert_array_equal(out, [x**5, x**6, x**31, x**32])


@cuda.jit
def spellings(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] ** 12.0
        out[1, i] = x[i] ** np.float32(-6)
        out[2, i] = math.pow(x[i], 7)
        out[3, i] = np.power(x[i], 9)
        out[4, i] = pow(x[i], -2)
        out[5, i] = (i + 1) ** 6.0


def test_every_spelling_is_a_product(device: DeviceRecord) -> None:
    x = np.linspace(-1.2, 1.3, 24, dtype=np.float32)
    out = np.zeros((6, x.size), np.float32)
    spellings.forall(x.size)(x, out)
    y, n = x.astype(np.float64), np.arange(1.0, x.size + 1)
    np.testing.assert_allclose(out, [y**12, y**-6, y**7, y**9, y**-2, n**6], rtol=2e-6)
    (text,) = spellings.inspect_opencl().values()
    code = [line for line in text.splitlines() if not line.lstrip().startswith("//")]
    assert not [line for line in code if "pow(" in line]


@cuda.jit
def odd_exponents(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] ** 0.5
        out[1, i] = x[i] ** -1.5
        out[2, i] = x[i] ** True
        out[3, i] = x[i] ** 64


def test_other_exponents_stay_functions(device: DeviceRecord) -> None:
    x = np.linspace(0.8, 1.3, 24, dtype=np.float32)
    out = np.zeros((4, x.size), np.float32)
    odd_exponents.forall(x.size)(x, out)
    y = x.astype(np.float64)
    np.testing.assert_allclose(out, [y**0.5, y**-1.5, y, y**64], rtol=4e-6)


@cuda.jit
def edges(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] ** 5
        out[1, i] = x[i] ** 6
        out[2, i] = x[i] ** -5
        out[3, i] = x[i] ** -6
        out[4, i] = x[i] ** 0


def test_edges_are_those_of_pow(device: DeviceRecord) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30], np.float32)
    out = np.zeros((5, x.size), np.float32)
    edges.forall(x.size)(x, out)
    with np.errstate(all="ignore"):
        expected = np.stack([x ** np.float32(n) for n in (5, 6, -5, -6, 0)])
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(np.signbit(out[:4, :4]), np.signbit(expected[:4, :4]))
