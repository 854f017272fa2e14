"""`np.insert` and `np.delete` with every kind of subscript, against NumPy: results, their layouts, and errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from portagpu import cuda, errors

_MATRIX = np.arange(12.0).reshape(3, 4)
_ARRAYS = {
    "row": np.arange(5),
    "matrix": _MATRIX,
    "Fortran": np.asfortranarray(_MATRIX.astype(np.float32)),
    "cube": np.arange(24, dtype=np.int16).reshape(2, 3, 4),
    "turned": np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
    "nothing": np.zeros((0, 3)),
}
_INTEGERS = (0, 1, -1, 2, 9, -9)
_LISTS = ([1], [0, 1], [1, 0, 1], [-1, 0], [], [[1, 0], [0, 1]], [[1]], [9])
_SLICES = (slice(1, 2), slice(None), slice(0, 0), slice(None, None, -1), slice(1, None, 2))
_BOOLS = (True, False, [True], [True, False, True], [False, True, True, False], [[True]])
_PLACES = (
    *_INTEGERS,
    *_LISTS,
    *_SLICES,
    *(np.asarray(n).astype(kind) for n, kind in itertools.product((1, *_LISTS), (np.int64, np.uint8, np.int8))),
    *(np.asarray(n) for n in _BOOLS),
    np.array([]),
)
_VALUES = (7, [8, 9], [1, 2, 3], [[1], [2], [3]], [[1, 2, 3, 4]], np.arange(12).reshape(4, 3))


def _outcome(call):
    try:
        return call()
    except Exception as error:
        return error


def _compare(what, wanted, found):
    if isinstance(wanted, Exception):
        assert isinstance(found, errors.PortaGPUError), f"{what}: {found!r} for {wanted!r}"
        assert isinstance(found, IndexError | ValueError | TypeError), f"{what}: {found!r} for {wanted!r}"
        return
    assert not isinstance(found, Exception), f"{what}: {found!r}"
    np.testing.assert_array_equal(found.copy_to_host(), wanted, err_msg=what)
    assert found.dtype == wanted.dtype, what
    if wanted.size and min(wanted.shape) > 1:
        assert found.strides == wanted.strides, f"{what}: {found.strides} for {wanted.strides}"


def _each(name):
    for places, axis in itertools.product(_PLACES, (None, *range(_ARRAYS[name].ndim))):
        yield places, axis, f"{name} at {places!r} along {axis}"


def _on_device(places):
    return cuda.to_device(places) if isinstance(places, np.ndarray) else places


@pytest.mark.one_device
@pytest.mark.parametrize("name", _ARRAYS)
def test_deletions(device, name):
    host, x = _ARRAYS[name], cuda.to_device(_ARRAYS[name])
    for places, axis, what in _each(name):
        wanted = _outcome(lambda places=places, axis=axis: np.delete(host, places, axis))
        for given in (places, _on_device(places)):
            _compare(what, wanted, _outcome(lambda given=given, axis=axis: np.delete(x, given, axis)))
    for place in (True, False):
        with pytest.raises(errors.ShapeError, match="bools"):
            np.delete(x, place)


@pytest.mark.one_device
@pytest.mark.parametrize("name", [name for name in _ARRAYS if name != "nothing"])
def test_insertions(device, name):
    host, x = _ARRAYS[name], cuda.to_device(_ARRAYS[name])
    for places, axis, what in _each(name):
        for values in _VALUES:
            wanted = _outcome(lambda places=places, axis=axis, values=values: np.insert(host, places, values, axis))
            if isinstance(wanted, TypeError) and "same_kind" in str(wanted):
                continue  # NumPy adds int64 to unsigned places in place
            for given in (places, _on_device(places)):
                found = _outcome(lambda given=given, axis=axis, values=values: np.insert(x, given, values, axis))
                _compare(f"{values!r} in {what}", wanted, found)
    for place in (True, np.asarray(False)):
        with pytest.raises(errors.ShapeError, match="one axis"):
            np.insert(x, place, 7)
