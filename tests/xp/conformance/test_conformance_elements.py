"""Elementwise functions of the array API against NumPy's values: special numbers, and the borders of integers."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, xp

_ONE = (
    "abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan"
    " log log10 log1p log2 logical_not negative positive real reciprocal round sign signbit sin sinh sqrt square tan"
    " tanh trunc"
).split()
_TWO = (
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal"
    " floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum"
    " minimum multiply nextafter not_equal pow remainder subtract"
).split()
_SPECIAL = np.asarray(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 5.5, 1e-30, -1e-30, 1e30, -1e30, np.pi, 88.0]
)
_INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def _pairs(values):
    return [grid.ravel() for grid in np.meshgrid(values, values)]


def _operands(name, dtype):
    """Operands on the host; None where the function takes no numbers of this kind."""
    count = 1 if name in _ONE else 2
    kind = np.dtype(dtype).kind
    if kind == "b":
        return [np.asarray([False, False, True, True]), np.asarray([False, True, False, True])][:count]
    if kind == "f":
        return (_pairs(_SPECIAL.astype(dtype)) if count == 2 else [_SPECIAL.astype(dtype)])[:count]
    if kind == "c":
        real, imaginary = _pairs(_SPECIAL[:12])
        numbers = np.empty(real.shape, dtype)
        numbers.real, numbers.imag = real, imaginary
        numbers = numbers[np.isfinite(numbers) & (numbers != 0)]  # of others, the standard leaves much open
        return [numbers, np.roll(numbers, 17)][:count]
    limits = np.iinfo(dtype)
    values = [limits.min, limits.max, limits.max - 1, limits.max // 2, 0, 1, 2, 5] + [-1, -3] * (limits.min < 0)
    found = _pairs(np.asarray(values, dtype))
    if "shift" in name:
        found[1] %= np.asarray(limits.bits).astype(dtype)
    elif name == "pow":
        found[1] = np.abs(found[1] % np.asarray(5, dtype))
    elif name in ("floor_divide", "remainder"):
        found = [x[found[1] != 0] for x in found]
    elif name == "reciprocal":
        return [found[0][found[0] != 0]]
    return found[:count]


def _numpys(name):
    return {"real": np.real, "imag": np.imag, "round": np.round}.get(name) or getattr(np, name)


def _check(name, dtype):
    operands = _operands(name, dtype)
    try:
        with np.errstate(all="ignore"):
            expected = _numpys(name)(*operands)
    except TypeError:
        with pytest.raises(TypeError):
            getattr(xp, name)(*map(cuda.to_device, operands))
        return
    if expected.dtype == np.float16:  # which the standard does not have
        return
    found = getattr(xp, name)(*map(cuda.to_device, operands)).copy_to_host()
    assert found.dtype == expected.dtype
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, expected)
        return
    single = expected.dtype.itemsize == (8 if expected.dtype.kind == "c" else 4)
    unit, tiny = (2.0**-23, 2.0**-126) if single else (2.0**-52, 2.0**-1022)
    scale = np.abs(expected) if expected.dtype.kind == "c" else None
    for ours, theirs in (
        ((found.real, expected.real), (found.imag, expected.imag)) if scale is not None else ((found, expected),)
    ):
        finite = np.isfinite(theirs)
        np.testing.assert_array_equal(ours[~finite], theirs[~finite])
        bound = 16 * unit * np.abs(theirs if scale is None else np.where(np.isfinite(scale), scale, theirs))[finite]
        assert (np.abs(ours[finite].astype(float) - theirs[finite]) <= bound + 16 * tiny * unit).all()
        if scale is None and name not in ("maximum", "minimum"):  # which zero they take is open
            zeros = theirs == 0
            np.testing.assert_array_equal(np.signbit(ours[zeros]), np.signbit(theirs[zeros]))


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*_ONE, *_TWO])
def test_special_numbers(device, name, dtype):
    if dtype == "float64" and not device.capabilities.fp64:
        pytest.skip("the device has no float64")
    _check(name, dtype)


@pytest.mark.in_turn(16)
@pytest.mark.parametrize("dtype", ["bool", *_INTEGERS])
@pytest.mark.parametrize("name", [*_ONE, *_TWO])
def test_integers_and_bools(device, name, dtype):
    _check(name, dtype)


@pytest.mark.one_device
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", [n for n in (*_ONE, *_TWO) if n not in ("copysign", "nextafter")])
def test_complex_numbers(device, name):
    _check(name, "complex64")


@pytest.mark.one_device
def test_bounds(device):
    x = np.asarray([np.nan, -np.inf, -2.0, -0.0, 0.5, 7.0, np.inf])
    low, high = np.asarray([-1.0]), np.linspace(0.0, 3.0, 7)
    d = cuda.to_device(x)
    np.testing.assert_array_equal(
        xp.clip(d, cuda.to_device(low), cuda.to_device(high)).copy_to_host(), np.clip(x, low, high)
    )
    np.testing.assert_array_equal(xp.clip(d, max=1).copy_to_host(), np.clip(x, None, 1))
    assert xp.clip(d) is not d
    np.testing.assert_array_equal(xp.isin(d, d).copy_to_host(), np.isin(x, x))
    zeros = cuda.to_device(np.asarray([0.0, -0.0, 5.0]))
    assert xp.isin(zeros, zeros[1:]).copy_to_host().all() and not xp.isin(zeros, zeros[:0]).copy_to_host().any()
