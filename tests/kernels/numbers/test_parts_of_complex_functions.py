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
