"""NumPy's protocol for ufuncs: several results, out=, where=, dtype=, casting=, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import ArgumentTypeError, DTypeError

X = np.asarray([7.5, -7.5, 0.0, -0.0, 1e-3], np.float32)


def test_functions_with_two_results(device):
    d = cuda.to_device(X)
    for function, *more in ((np.divmod, 2), (np.modf,), (np.frexp,)):
        for found, expected in zip(function(d, *more), function(X, *more), strict=True):
            np.testing.assert_array_equal(found.copy_to_host(), expected)
            assert found.dtype == expected.dtype
    quotient, rest = divmod(d, 2)
    np.testing.assert_array_equal((quotient * 2 + rest).copy_to_host(), X)
    out = cuda.device_array(X.shape, np.float32)
    whole, parts = np.divmod(d, 2, out=(None, out))
    assert parts is out
    np.testing.assert_array_equal(out.copy_to_host(), np.divmod(X, 2)[1])
    np.testing.assert_array_equal(whole.copy_to_host(), np.divmod(X, 2)[0])


def test_keywords(device):
    numbers = np.arange(5, dtype=np.int8)
    d = cuda.to_device(numbers)
    for options in ({"dtype": np.float32}, {"dtype": np.int16}, {"dtype": np.int64, "casting": "safe"}):
        found, expected = np.add(d, 1, **options), np.add(numbers, 1, **options)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.copy_to_host(), expected)
    out, host = cuda.to_device(np.zeros(5, np.float32)), np.zeros(5, np.float32)
    assert np.multiply(d, 3, out=out, where=d > 2) is out
    np.testing.assert_array_equal(out.copy_to_host(), np.multiply(numbers, 3, out=host, where=numbers > 2))


@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_casting_to_the_array_that_is_written(device, casting):
    """It allows what NumPy's allows, of operands and of ``out=``, each time."""
    single, double, whole = np.ones(4, np.float32), np.full(4, 2.6), np.arange(4)
    pairs = (single, np.float64(2)), (single, single), (whole, double), (whole, whole), (double, double)
    for _ in range(2):
        for x, y in pairs:
            for target in (single, double, whole):
                found, wanted = cuda.to_device(target), target.copy()
                mine = [found if z is target else cuda.to_device(z) if z.ndim else z for z in (x, y)]
                theirs = [wanted if z is target else z for z in (x, y)]
                try:
                    np.add(*theirs, out=wanted, casting=casting)
                except TypeError:
                    with pytest.raises(DTypeError):
                        np.add(*mine, out=found, casting=casting)
                else:
                    np.add(*mine, out=found, casting=casting)
                np.testing.assert_array_equal(found.copy_to_host(), wanted)


def test_refused(device):
    d = cuda.to_device(np.arange(4))
    with pytest.raises(DTypeError, match=r"where= without out=[^$]*np\.where|where= without out=[^$]*numpy\.where"):
        np.add(d, 1, where=d > 1)
    with pytest.raises(DTypeError, match="casting='no'"):
        np.add(d, 1, dtype=np.float32, casting="no")
    with pytest.raises(ArgumentTypeError, match="casting= is one of"):
        np.add(d, 1, casting="perhaps")
    with pytest.raises(ArgumentTypeError, match="out= of a function of device arrays"):
        np.add(d, 1, out=np.zeros(4, np.int64))


def test_elements_that_kernels_learnt_to_take(device):
    z, flags = (X + 1j).astype(np.complex64), X > 0
    np.testing.assert_array_equal(np.rint(cuda.to_device(z)).copy_to_host(), np.rint(z))
    for function in (np.maximum, np.minimum, np.fmax, np.fmin):
        found = function(cuda.to_device(flags), cuda.to_device(flags[::-1].copy()))
        np.testing.assert_array_equal(found.copy_to_host(), function(flags, flags[::-1]))


@pytest.mark.one_device
@pytest.mark.parametrize("ufunc", [np.add, np.fmin, np.power, np.negative, np.sqrt, np.arctan2])
def test_complex_operands_do_not_become_real(device, ufunc):
    """The error comes with the call, and not when the result is read."""
    z, x = cuda.to_device(np.arange(3) * 1j), cuda.to_device(np.arange(3.0))
    for operands in ([z], [np.complex64(1j)], [1j])[: 3 if ufunc.nin == 2 else 1]:
        with pytest.raises(TypeError):
            ufunc(*operands, *[x] * (ufunc.nin - 1), dtype=np.float64, casting="unsafe")


def _outcome(function, *arrays):
    """Results of a call, with the arrays that it wrote; TypeError where it is refused."""
    try:
        found = function(*arrays)
    except TypeError:
        found = TypeError
    results = [*(found if isinstance(found, tuple) else (found,)), *arrays]
    return [x if x is TypeError or x is None else np.asarray(x) for x in results]


def _compare(function, *arrays):
    expected = _outcome(function, *(x.copy() for x in arrays))
    for mine, theirs in zip(_outcome(function, *map(cuda.to_device, arrays)), expected, strict=True):
        if theirs is TypeError:
            assert mine is TypeError
        else:
            assert mine is not TypeError
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_casting_of_two_results_and_of_numbers(device, casting):
    """NumPy's function that resolves dtypes ends the process for numbers of Python's that may not be cast."""
    whole, floats, small = np.arange(3), np.asarray([7.5, -7.0, 0.0]), np.arange(3, dtype=np.uint32)
    for kind in (np.int32, np.int64, np.float32, np.float64, np.bool_):
        one, two = np.zeros(3, kind), np.zeros(3, kind)
        _compare(lambda x, a, b: np.modf(x, out=(a, b), casting=casting), floats, one, two)
        _compare(lambda x, a: np.frexp(x, out=(None, a), casting=casting), floats, one)
        _compare(lambda x, a, b: np.divmod(x, 2, out=(a, b), casting=casting), whole, one, np.zeros(3, np.int64))
        for number in (24, 2.5):
            _compare(lambda x, number=number, kind=kind: np.add(x, number, dtype=kind, casting=casting), small)
            _compare(lambda x, a, number=number: np.add(x, number, out=a, casting=casting), small, one)


@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("kind", [np.bool_, np.uint16, np.float64])
def test_reductions_have_no_dtypes_that_their_function_lacks(device, kind):
    names = "logical_or less heaviside power multiply divide add gcd left_shift equal nextafter"
    for ufunc in (getattr(np, name) for name in names.split()):
        for x in (np.asarray([3, 2]), np.asarray([0, 1], np.float16)):
            _compare(lambda x, ufunc=ufunc: ufunc.reduceat(x, [0], dtype=kind), x)
            _compare(lambda x, ufunc=ufunc: ufunc.accumulate(x, dtype=kind), x)
            _compare(lambda x, ufunc=ufunc: ufunc.reduce(x, dtype=kind), x)


@pytest.mark.one_device(fast=True)
def test_next_halves(device):
    x = np.asarray([[0, 1], [-0.0, -1], [65504, 2], [1, 3]], np.float16)
    for axis in (0, 1):
        _compare(lambda x, axis=axis: np.nextafter.reduce(x, axis=axis), x)
        _compare(lambda x, axis=axis: np.nextafter.accumulate(x, axis=axis), x)
        _compare(lambda x, axis=axis: np.nextafter.reduceat(x, [0, 1], axis=axis), x)


@pytest.mark.parametrize("kind", "?bhilBHIL")
def test_masked_reductions_of_every_integer(device, kind):
    x, mask = np.asarray([3, 2, 1]).astype(kind), np.asarray([True, False, True])
    for ufunc in (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_and, np.add, np.multiply):
        _compare(lambda x, mask, ufunc=ufunc: ufunc.reduce(x, where=mask), x, mask)
        _compare(lambda x, ufunc=ufunc: ufunc.reduce(x[:0]), x)
    for ufunc in (np.maximum, np.minimum):
        _compare(lambda x, mask, ufunc=ufunc: ufunc.reduce(x, where=mask, initial=1), x, mask)
