"""NaN and infinities in each operand of BLAS: elements of results are of the classes that SciPy's are.

The classes are finite, NaN, and both infinities; of complex numbers, finite or not. Three differences are documented in
blas-accuracy.md: products with alpha 0 read no operand, also where OpenBLAS does; triangles count as blocks with zeros,
whose extents are not OpenBLAS's; the largest element is a NaN.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from portagpu import blas

scipy_blas = pytest.importorskip("scipy.linalg.blas")
pytestmark = [pytest.mark.one_device, pytest.mark.usefixtures("device")]
_FACTORS = [{"alpha": a, "beta": b} for a in (0, 2) for b in (0, 1, 0.5)]
_TRIANGLES = [{"lower": lower, "diag": diag} for lower in (0, 1) for diag in (0, 1)]


def _with(options, **others):
    names = list(others)
    return [{**one, **dict(zip(names, v, strict=True))} for one in options for v in itertools.product(*others.values())]


# operands by axes, and options
_ROUTINES = {
    "gemv": ({"a": 2, "x": 1, "y": 1}, _with(_FACTORS, trans=(0, 1, 2))),
    "symv": ({"a": 2, "x": 1, "y": 1}, _with(_FACTORS, lower=(0, 1))),
    "hemv": ({"a": 2, "x": 1, "y": 1}, _with(_FACTORS, lower=(0, 1))),
    "gemm": ({"a": 2, "b": 2, "c": 2}, _with(_FACTORS, trans_a=(0, 2), trans_b=(0, 1))),
    "symm": ({"a": 2, "b": 2, "c": 2}, _with(_FACTORS, lower=(0, 1), side=(0, 1))),
    "syrk": ({"a": 2, "c": 2}, _with(_FACTORS, lower=(0, 1))),
    "syr2k": ({"a": 2, "b": 2, "c": 2}, _with(_FACTORS, lower=(0, 1))),
    "ger": ({"x": 1, "y": 1, "a": 2}, [{"alpha": 0}, {"alpha": 2}]),
    "geru": ({"x": 1, "y": 1, "a": 2}, [{"alpha": 0}, {"alpha": 2}]),
    "syr": ({"x": 1, "a": 2}, _with([{"alpha": 2}], lower=(0, 1))),
    "axpy": ({"x": 1, "y": 1}, [{"a": 0}, {"a": 2}]),
    "copy": ({"x": 1, "y": 1}, [{}]),
    "swap": ({"x": 1, "y": 1}, [{}]),
    "dot": ({"x": 1, "y": 1}, [{}]),
    "dotu": ({"x": 1, "y": 1}, [{}]),
    "nrm2": ({"x": 1}, [{}]),
    "asum": ({"x": 1}, [{}]),
    "trmv": ({"a": 2, "x": 1}, _TRIANGLES),
    "trsv": ({"a": 2, "x": 1}, _TRIANGLES),
}


def _name(prefix, family):
    return {"c": "sc", "z": "dz"}.get(prefix, prefix) + family if family in ("nrm2", "asum") else prefix + family


def _class(x):
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return np.isfinite(x)
    return np.select([np.isnan(x), x == np.inf, x == -np.inf], [1, 2, 3])


def _operand(axes, n, dtype, seed):
    generator = np.random.default_rng(seed)
    x = generator.uniform(0.5, 1.5, (n,) * axes).astype(dtype, order="F")
    return x + n * np.eye(n, dtype=dtype) if axes == 2 else x


def _check(prefix, family, n):
    axes, options = _ROUTINES[family]
    dtype = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}[prefix]
    name = _name(prefix, family)
    for option in options:
        base = {x: _operand(count, n, dtype, i) for i, (x, count) in enumerate(axes.items())}
        for x, count in axes.items():
            for cell in {(0,) * count, (n - 1,) * count, (n - 1, 0)[:count], (0, n - 1)[:count], (n // 2,) * count}:
                for value in (np.nan, np.inf, -np.inf):
                    planted = {key: one.copy(order="F") for key, one in base.items()}
                    planted[x][cell] = value
                    unread = family == "gemm" and option["alpha"] == 0 and x != "c"
                    start = base if unread else planted
                    expected = getattr(scipy_blas, name)(**{k: v.copy(order="F") for k, v in start.items()}, **option)
                    found = getattr(blas, name)(**{k: v.copy(order="F") for k, v in planted.items()}, **option)
                    for one, other in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
                        assert np.array_equal(_class(one), _class(other)), (name, option, x, cell, value)


@pytest.mark.parametrize("prefix", ["d"])
@pytest.mark.parametrize("family", _ROUTINES)
def test_small(prefix, family):
    if hasattr(scipy_blas, _name(prefix, family)):
        _check(prefix, family, 5)


@pytest.mark.exhaustive
@pytest.mark.parametrize("n", [1, 2, 5, 33, 130])
@pytest.mark.parametrize("prefix", ["s", "d", "c", "z"])
@pytest.mark.parametrize("family", _ROUTINES)
def test_every_size(prefix, family, n):
    if hasattr(scipy_blas, _name(prefix, family)):
        _check(prefix, family, n)
