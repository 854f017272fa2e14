"""`np.polyfit` of places that do not say every coefficient: NumPy's shortest ones, its rank, and its warning."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

from portagpu import cuda

_SYSTEMS = {
    "full": ([0.0, 1, 2, 3, 4], [1.0, 2, 3, 5, 4], 2),
    "one place": ([1.0, 1, 1], [1.0, 2, 3], 1),
    "as many as coefficients": ([1.0, 2, 4], [1.0, 2, 3], 2),
    "degree beyond places": ([1.0, 2, 2], [1.0, 2, 3], 3),
    "places twice": ([1.0, 2, 3, 1, 2, 3], [1.0, 2, 3, 1, 2, 3], 3),
    "fewer points than coefficients": ([1.0, 2.0], [3.0, 5.0], 4),
    "one point": ([2.0], [3.0], 1),
}


def _alike(found, wanted, kind):
    limit = 1e3 * np.finfo(kind).eps
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    largest = max(1, np.abs(wanted).max(initial=0))
    np.testing.assert_allclose(found.copy_to_host(), wanted, rtol=limit, atol=limit * largest)


@pytest.mark.one_device
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", _SYSTEMS)
def test_coefficients(device, name, kind):
    x, y, degree = _SYSTEMS[name]
    x, y = np.asarray(x, kind), np.asarray(y, kind)
    for sides, weights in ((y, None), (y, x + 1), (np.stack([y, -y], 1), None)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = np.polyfit(x, sides, degree, w=weights)
        *parts, limit = np.polyfit(x, sides, degree, w=weights, full=True)
        given = [None if part is None else cuda.to_device(part) for part in (x, sides, weights)]
        is_full = parts[2] == degree + 1
        expected = contextlib.nullcontext() if is_full else pytest.warns(np.exceptions.RankWarning, match="poorly")
        with expected as noticed:
            found = np.polyfit(*given[:2], degree, w=given[2])
        if noticed:
            assert noticed[0].filename == __file__
        _alike(found, wanted, kind)
        *ours, own_limit = np.polyfit(*given[:2], degree, w=given[2], full=True)
        assert own_limit == pytest.approx(limit)
        for one, two in zip(ours, parts, strict=True):
            _alike(one, np.asarray(two), kind)


@pytest.mark.one_device
def test_limit_of_singular_values(device):
    x, y = np.linspace(0, 1, 9), np.linspace(0, 1, 9) ** 3
    for limit in (0.5, 1e-2, 1e-12):
        wanted, found = (np.polyfit(f(x), f(y), 3, rcond=limit, full=True) for f in (np.asarray, cuda.to_device))
        assert int(found[2]) == wanted[2]
        np.testing.assert_allclose(found[0].copy_to_host(), wanted[0], rtol=1e-9, atol=1e-9)
