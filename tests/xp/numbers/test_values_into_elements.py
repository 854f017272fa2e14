"""Assignments of numbers to elements: for all pairs of dtypes and kinds of values, NumPy's result or kind of error.

NumPy has three rules. A number of Python's must fit. A scalar must fit in signed integers, but only in assignments to
elements and in `fill`. Arrays, those of no axis, too, are cast.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from portagpu import cuda

_INTEGERS = "int8 uint8 int16 uint16 int32 uint32 int64 uint64".split()
_DTYPES = ["bool", *_INTEGERS, "float16", "float32", "float64"]
_LISTS = ("part of one element", "all", "list", "mask", "copyto", "put")  # elements and views of no axis take none
_FLOATS = (-1.5, 300.0, 60000.0, 1e300, float("inf"), float("nan"))


def _numbers(dtype: np.dtype) -> list:
    """Numbers at the ends of a dtype and beside the ends of smaller ones."""
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind == "f":
        return list(_FLOATS)
    bounds = [np.iinfo(name) for name in _INTEGERS]
    near = {number for b in bounds for number in (b.min - 1, b.min, b.max, b.max + 1)}
    own = np.iinfo(dtype)
    return sorted(number for number in near if own.min <= number <= own.max)


def _set(key):
    def write(x, value):
        x[key] = value

    return write


def _put_in_mask(x, value):
    x[np.array([True, False, True])] = value


ASSIGNMENTS = {
    "element": _set(1),
    "element, index of NumPy": _set(np.int32(-1)),
    "part of one element": _set(np.s_[1:2]),
    "all": _set(Ellipsis),
    "view of no axis": _set((1, Ellipsis)),
    "list": _set([0, 2]),
    "mask": _put_in_mask,
    "fill": lambda x, value: x.fill(value),
    "copyto": lambda x, value: np.copyto(x, value, casting="unsafe"),
    "put": lambda x, value: np.put(x, [0], value),
}
HOST_VALUES = {
    "Python's number": lambda scalar: scalar.item(),
    "scalar": lambda scalar: scalar,
    "array of no axis": np.asarray,
    "array of one element": lambda scalar: np.array([scalar]),
    "list of a scalar": lambda scalar: [scalar],
    "list of a Python number": lambda scalar: [scalar.item()],
}


def _outcome(assign, x, value):
    """The array after an assignment, or the kind of error."""
    try:
        assign(x, value)
    except (OverflowError, ValueError, TypeError) as error:
        return next(kind for kind in (OverflowError, ValueError, TypeError) if isinstance(error, kind))
    return np.asarray(x)


def _is_undefined(scalar, dtype) -> bool:
    """Whether C does not say what a float becomes as an integer."""
    if scalar.dtype.kind != "f" or dtype.kind not in "iu":
        return False
    return not (np.isfinite(scalar) and np.iinfo(dtype).min <= int(scalar) <= np.iinfo(dtype).max)


def _agree(expected, found, scalar) -> bool:
    if isinstance(expected, type) or isinstance(found, type):
        return found is expected
    return np.array_equal(found, expected, equal_nan=True) or _is_undefined(scalar, expected.dtype)


def _compare(target, sources, assignments, values, on_device=lambda value: value):
    """NumPy's outcome and the device's for each dtype of value, number, kind of value and assignment."""
    wrong = []
    for source in map(np.dtype, sources):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            scalars = [source.type(number) for number in _numbers(source)]
            for kind, made in values.items():
                for scalar in scalars:
                    value = made(scalar)
                    # NumPy takes an array of one element for an element of bools alone, by Python's bool()
                    is_nested = isinstance(value, list) or (np.ndim(value) and target == "bool")
                    for name in _LISTS if is_nested else assignments:
                        host = np.ones(3, target)
                        x = cuda.to_device(host)
                        expected = _outcome(ASSIGNMENTS[name], host, value)
                        found = _outcome(ASSIGNMENTS[name], x, on_device(value))
                        if not _agree(expected, found, scalar):
                            wrong.append(f"{target} {name} = {kind} {source} {scalar}: {expected}, here {found}")
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:20])


@pytest.mark.one_device
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("target", _DTYPES)
def test_scalars(device, target):
    _compare(target, _DTYPES, ("element", "all", "fill"), {"scalar": HOST_VALUES["scalar"]})


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", _DTYPES)
def test_values_of_the_host(device, target):
    _compare(target, _DTYPES, ASSIGNMENTS, HOST_VALUES)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", _INTEGERS)
def test_values_of_the_device(device, target):
    """The value of a device array is not known without a wait: one element is cast as an array of no axis is."""
    names = ("element", "part of one element", "all", "list", "fill", "copyto")
    _compare(target, _INTEGERS, names, {"array of no axis": np.asarray}, cuda.to_device)
