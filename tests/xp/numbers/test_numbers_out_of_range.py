"""Numbers of Python's that a dtype cannot hold: NumPy's kinds of errors wherever they are written or computed with."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

from portagpu import cuda, xp
from portagpu.errors import NumberRangeError, PortaGPUError

_NUMBERS = (-1, 255, 300, 2**31, -(2**40), 2**63, -(2**63), 2**64, 10**400, 3.7, 1e30, float("inf"), float("nan"), 2j)
_DTYPES = "bool int8 uint8 int32 uint32 int64 uint64 float32 float64 complex64".split()


def _set(key):
    def write(x, number):
        x[key] = number
        return x

    return write


def _changed(change):
    def write(x, number):
        change(x, number)
        return x

    return write


WRITES = {
    "element": _set(0),
    "slice": _set(np.s_[:2]),
    "list": _set([0, 1]),
    "fill": _changed(lambda x, n: x.fill(n)),
    "put": _changed(lambda x, n: np.put(x, [0], n)),
    "copyto": _changed(np.copyto),
    "list of numbers": lambda x, n: _set(np.s_[:2])(x, [n, 1]),
    "pad": lambda x, n: np.pad(x, 1, constant_values=n),
    "pad with two": lambda x, n: np.pad(x, 1, constant_values=(n, 1)),
}
COMPUTES = {
    "add": operator.add,
    "reflected": lambda x, n: n - x,
    "in place": operator.iadd,
    "less": operator.lt,
    "equal": operator.eq,
    "initial": lambda x, n: np.max(x, initial=n),
}


def _outcome(function, *args):
    """What a call gives, or NumPy's kind of its error."""
    with np.errstate(all="ignore"):
        try:
            return np.asarray(function(*args))
        except (OverflowError, ValueError, TypeError) as error:
            return next(kind for kind in (OverflowError, ValueError, TypeError) if isinstance(error, kind))


def _compare(expected, found, what):
    if isinstance(expected, type):
        assert found is expected, what
    else:
        assert not isinstance(found, type), what
        np.testing.assert_array_equal(found, expected, str(what))


@pytest.mark.one_device
@pytest.mark.in_turn(3)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore:invalid value", "ignore:overflow")
@pytest.mark.parametrize("dtype", _DTYPES)
def test_written(device, dtype):
    for name, write in WRITES.items():
        for number in _NUMBERS:
            host = np.zeros(3, dtype)
            _compare(
                _outcome(write, host.copy(), number), _outcome(write, cuda.to_device(host), number), (name, number)
            )


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_computed_with(device, dtype):
    """Only errors: kernels of what is right are those of other tests."""
    for name, function in COMPUTES.items():
        for number in _NUMBERS:
            if isinstance(number, int):
                host = np.ones(3, dtype)
                expected = _outcome(function, host.copy(), number)
                if isinstance(expected, type):
                    assert _outcome(function, cuda.to_device(host), number) is expected, (name, number)


@pytest.mark.parametrize(
    "make",
    [
        lambda: xp.asarray(-1, dtype=xp.uint8),
        lambda: xp.asarray([1, 300], dtype=xp.uint8),
        lambda: xp.full(3, 300, dtype=xp.uint8),
        lambda: xp.full_like(xp.zeros(3, dtype=xp.int8), 128),
        lambda: np.full_like(xp.zeros(3, dtype=xp.int8), -129),
        lambda: xp.zeros(3, dtype=xp.int8) + 128,
        lambda: np.where(xp.zeros(3, dtype=xp.uint8), xp.zeros(3, dtype=xp.uint8), 300),
        lambda: xp.where(xp.zeros(3, dtype=xp.uint8), -1, xp.zeros(3, dtype=xp.uint8)),
        lambda: np.where(xp.zeros(3, dtype=xp.bool), xp.zeros(3, dtype=xp.bool), 2**63),
    ],
)
def test_created(device, make):
    with pytest.raises(OverflowError) as raised:
        make()
    assert isinstance(raised.value, NumberRangeError)
    assert isinstance(raised.value, PortaGPUError)
    assert isinstance(raised.value, TypeError)  # as before


def test_what_is_cast_wraps(device):
    """Arrays are converted whatever they hold, and so are bounds, as NumPy's."""
    host = np.arange(3, dtype=np.uint8)
    x = cuda.to_device(host)
    np.testing.assert_array_equal(np.clip(x, -1, 300).copy_to_host(), host)
    x[0] = cuda.to_device(np.array(300))
    host[0] = np.array(300)
    np.testing.assert_array_equal(x.copy_to_host(), host)
    y, own = xp.zeros(3, dtype=xp.int64), np.zeros(3, np.int64)
    y[-1] = cuda.to_device(np.array(2**63, np.uint64))
    own[-1] = np.array(2**63, np.uint64)
    np.testing.assert_array_equal(y.copy_to_host(), own)


@pytest.mark.one_device
@pytest.mark.filterwarnings("ignore:invalid value")
def test_creation_casts_floats(device):
    """New arrays hold floats as integers as NumPy casts them; integers wrap."""
    like = xp.zeros(3, dtype=xp.int32)
    for number in (float("inf"), float("nan"), 1e30, -3.7):
        expected = np.full(3, number, np.int32)
        for made in (xp.full(3, number, dtype=xp.int32), np.full_like(like, number)):
            np.testing.assert_array_equal(made.copy_to_host(), expected)
    np.testing.assert_array_equal(
        xp.linspace(0, 300, 3, dtype=xp.uint8).copy_to_host(), np.linspace(0, 300, 3, dtype=np.uint8)
    )


@pytest.mark.one_device
@pytest.mark.parametrize("number", [300, -1])
def test_ufunc_at_casts(device, number):
    host = np.full(3, 7, np.uint8)
    x = cuda.to_device(host)
    np.maximum.at(x, [0], number)
    np.maximum.at(host, [0], number)
    np.testing.assert_array_equal(x.copy_to_host(), host)


_BOUNDS = (None, 0, -1, 300, -(2**63), 2**63, 0.5, True, np.float32(3.7), np.uint64(2**63), np.int16(-4), np.float16(2))


@pytest.mark.one_device
@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i8", "u8", "f2", "f4", "f8"])
def test_bounds_of_clip(device, dtype):
    host = np.arange(8).astype(dtype)
    x = cuda.to_device(host)
    for low in _BOUNDS:
        for high in _BOUNDS:
            try:
                expected = np.clip(host, low, high)
            except OverflowError:
                with pytest.raises(NumberRangeError):
                    np.clip(x, low, high)
            except TypeError:  # NumPy's, without bounds of bools
                assert low is high is None
            else:
                found = np.clip(x, low, high)
                assert found.dtype == expected.dtype, (low, high)
                np.testing.assert_array_equal(found.copy_to_host(), expected, f"{low!r}, {high!r}")


_INITIAL = {
    **{f"{x!r:.12}": x for x in (*_NUMBERS, 3, True, -0.0)},
    **{
        f"{dtype.__name__} {number}": dtype(number)
        for dtype in (np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64)
        for number in (np.iinfo(dtype).min, np.iinfo(dtype).max, 3)
    },
    **{
        f"{dtype.__name__} {number}": dtype(number)
        for dtype in (np.float16, np.float32, np.float64)
        for number in (2.5, -1e4, np.nan, np.inf)
    },
    "bool": np.bool_(True),
    "complex": np.complex64(1),
    "0-d array": np.array(300),
}


@pytest.mark.one_device
@pytest.mark.in_turn(4)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [*_DTYPES, "float16"])
@pytest.mark.parametrize("rows", [2, 0])
def test_initial(device, dtype, rows):
    """Initial values are converted as ``x[i] = value`` is, for no elements, too."""
    if not device.capabilities.fp64:
        pytest.skip("without float64, dtypes of results are not NumPy's")
    host = np.array([[1, 0], [1, 1]], dtype)[:rows]
    x = cuda.to_device(host)
    for name in ("max", "min", "sum", "prod", "nanmax", "nansum"):
        for kind, number in _INITIAL.items():

            def reduced(array, name=name, number=number):
                return getattr(np, name)(array, axis=0, initial=number)

            if isinstance(number, np.complexfloating) and reduced(host, number=1).dtype.kind not in "cb":
                continue  # NumPy drops imaginary parts with a warning; ours refuse them
            _compare(_outcome(reduced, host), _outcome(reduced, x), (name, kind))


_FILLS = {
    **{f"{x!r:.12}": x for x in (*_NUMBERS, True, -(2**64))},
    **{
        repr(x): x
        for x in ([1], [1.5], [300], [1, 2, 3], [[1], [2]], [[1, 2, 3], [3, 2, 1]], [1, 2], [[[1]]], (1, 2, 300))
    },
    "array": np.array([1, 2, 300]),
    "0-d array": np.array(300),
    "floats": np.array([1.5, 2.0, 1e2], np.float32),
    **{repr(x): x for x in (np.int64(300), np.int64(-300), np.float64(1e30), np.uint64(2**64 - 1))},
}
_FILLED = {
    "full_like": lambda x, value: np.full_like(x, value),
    "of a dtype": lambda x, value: np.full_like(x, value, dtype=np.int16),
    "of a shape": lambda x, value: np.full_like(x, value, shape=(4, 3)),
    "of an order": lambda x, value: np.full_like(x, value, order="F"),
    "full": lambda x, value: np.full((2, 3), value, dtype=x.dtype, like=x),
    "of no elements": lambda x, value: np.full((0, 3), value, dtype=x.dtype, like=x),
}


@pytest.mark.one_device
@pytest.mark.in_turn(4)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("place", ["host", "device"])
def test_filled(device, dtype, place):
    """New arrays of one number, and of lists and arrays that broadcast."""
    host = np.zeros((2, 3), dtype)
    x = cuda.to_device(host)
    for name, fill in _FILLED.items():
        for kind, value in _FILLS.items():
            if isinstance(value, complex) and not (name == "full" and dtype == "complex64"):
                continue  # NumPy drops imaginary parts with a warning; ours refuse them
            is_array = isinstance(value, np.ndarray)
            if is_array or place == "host":
                there = cuda.to_device(value) if is_array and place == "device" else value
                _compare(_outcome(fill, host, value), _outcome(fill, x, there), (name, kind))


@pytest.mark.one_device
def test_dtypes_of_what_is_filled(device):
    if not device.capabilities.fp64:
        pytest.skip("without float64, dtypes of results are not NumPy's")
    for value in _FILLS.values():
        if np.asarray(value).dtype != object:
            expected, found = _outcome(np.full, (2, 3), value), _outcome(xp.full, (2, 3), value)
            _compare(expected, found, repr(value))
            assert isinstance(expected, type) or found.dtype == expected.dtype, value
    with pytest.raises(NumberRangeError):
        xp.full(3, 2**64)


@pytest.mark.one_device
@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400])
def test_bools_compared(device, number):
    """Bools are compared as int64, which has no such number."""
    host = np.array([True, False])
    for compare in (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge):
        for first in (True, False):
            args = (lambda x: (x, number)) if first else lambda x: (number, x)
            expected = _outcome(lambda x, compare=compare, args=args: compare(*args(x)), host)
            found = _outcome(lambda x, compare=compare, args=args: compare(*args(x)), cuda.to_device(host))
            assert expected is found is OverflowError


_COMPARISONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "u8"])
def test_comparisons_into_arrays(device, dtype):
    host, mask = np.array([0, 1, 100], dtype), np.array([True, False, True])
    x, results = cuda.to_device(host), cuda.to_device(np.ones((2, 3), np.int8))
    for number, ufunc in itertools.product((2**63, 2**70, -1, -(2**63) - 1), _COMPARISONS):
        for ours, theirs in (((x, number), (host, number)), ((number, x), (number, host))):
            for where in (True, mask):  # NumPy ends the process for where= and such a number
                results.fill(1)
                ufunc(*ours, out=results, where=where)
                expected = np.broadcast_to(np.where(where, ufunc(*theirs), 1), (2, 3))
                np.testing.assert_array_equal(results.copy_to_host(), expected)
