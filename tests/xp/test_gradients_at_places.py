"""`np.gradient` with distances and places of every dtype, against NumPy."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from portagpu import cuda, errors

_KINDS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
_OF = ("i1", "f2", "f4", "f8", "c8")
_PLACES = {
    "falling": [9, 6, 5, 2, 0],
    "rising": [0, 3, 9, 10, 20],
    "even": [0, 2, 4, 6, 8],
    "falling evenly": [80, 60, 40, 20, 0],
    "far": [-128, 0, 127, 10, 120],
    "large": [0, 300, 900, 1000, 2000],
    "huge": [0, 1e20, 3e20, 4e20, 9e20],
    "tiny": [0, 1e-25, 3e-25, 4e-25, 9e-25],
}


def _compare(function, f, *others):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = function(f, *others)
    found = function(cuda.to_device(f), *map(cuda.to_device, others))
    assert found.dtype == wanted.dtype
    tolerance = 16 * np.finfo(wanted.dtype).eps
    np.testing.assert_allclose(found.copy_to_host(), wanted, rtol=tolerance, atol=0, err_msg=f"{f.dtype}")


@pytest.mark.one_device
@pytest.mark.parametrize("kind", _KINDS)
def test_places(device, kind):
    for (name, places), of, order in itertools.product(_PLACES.items(), _OF, (1, 2)):
        at = np.asarray(places, float)
        if np.dtype(kind).kind in "iu" and (at != at.clip(np.iinfo(kind).min, np.iinfo(kind).max).round()).any():
            continue
        if kind == "f2" and name in ("huge", "tiny"):
            continue
        f = (np.arange(5) ** 2).astype(of)
        if name == "huge" and of in ("f4", "f8", "c8"):
            f *= np.asarray(1e20, of)
        at = at.astype(kind)
        _compare(lambda x, at=at, order=order: np.gradient(x, at, edge_order=order), f)
        _compare(lambda x, at, order=order: np.gradient(x, at, edge_order=order), f, at)


@pytest.mark.one_device
@pytest.mark.parametrize("of", _OF)
def test_distances(device, of):
    f = (np.arange(5) ** 2 * 5).astype(of)
    for step in (2, 0.5, True, *(np.dtype(kind).type(40) for kind in _KINDS), np.float64(40000.0), np.asarray(3.0)):
        for order in (1, 2):
            _compare(lambda x, step=step, order=order: np.gradient(x, step, edge_order=order), f)
    _compare(lambda x, step: np.gradient(x, step), f, np.asarray(40000.0))


@pytest.mark.one_device
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_elements_beside_are_kept_from_one_that_is_infinite(device, special):
    f = np.array([1.0, 2.0, special, 4.0, 8.0, 16.0, 32.0])
    for at in (np.arange(7), np.array([0, 1, 3, 4, 6, 9, 10])):
        _compare(lambda x, at=at: np.gradient(x, at), f)


@pytest.mark.one_device
def test_refused(device):
    x = cuda.to_device(np.arange(5.0))
    for places in ([True, False, True, True, False], np.ones(5, bool)):
        with pytest.raises(errors.DTypeError, match="bools"):
            np.gradient(x, places)
    with pytest.raises(errors.DTypeError, match="complex distances"):
        np.gradient(x, 2j)
    for places in ([1.0, 2.0], np.ones((5, 5))):
        with pytest.raises(errors.ShapeError, match="are not those of"):
            np.gradient(x, places)
