"""NaN, infinities and zeros in each operand of LAPACK: elements and info against SciPy's.

Elements are not finite where SciPy's are not, and results are finite where SciPy's whole result is. Two things differ.
Info of Cholesky factors is the order of the minor with a NaN, as in LAPACK's own code; OpenBLAS's is 0. A NaN is the
pivot of a column only where it comes first, as in LAPACK's own code; in OpenBLAS that depends on the length. Inverses
of long matrices have more NaN in OpenBLAS, which multiplies whole tiles of triangles, zeros too.
"""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import lapack

theirs = pytest.importorskip("scipy.linalg.lapack")
pytestmark = [pytest.mark.one_device, pytest.mark.usefixtures("device")]
_TYPES = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}
_UNITS = [{"lower": lower, "unitdiag": unit} for lower in (0, 1) for unit in (0, 1)]
_TRIANGLES = [{"lower": 0}, {"lower": 1}]
_ROUTINES = {
    "potrf": (("p",), [{**one, "clean": clean} for one in _TRIANGLES for clean in (0, 1)]),
    "potrs": (("c", "b"), _TRIANGLES),
    "potri": (("c",), _TRIANGLES),
    "posv": (("p", "b"), _TRIANGLES),
    "getrf": (("a",), [{}]),
    "getrs": (("lu", "piv", "b"), [{"trans": 0}, {"trans": 1}]),
    "getri": (("lu", "piv"), [{}]),
    "gesv": (("a", "b"), [{}]),
    "trtri": (("c",), _UNITS),
    "trtrs": (("c", "b"), [{**one, "trans": trans} for one in _UNITS for trans in (0, 1)]),
    "geqrf": (("a",), [{}]),
}


def _operands(n, dtype, *, lower):
    generator = np.random.default_rng(n)
    a = (generator.uniform(0.5, 1.5, (n, n)) + 2 * n * np.eye(n)).astype(dtype)
    p = (a @ a.T).astype(dtype)
    factor = np.linalg.cholesky(p)
    lu, piv, _ = theirs.dgetrf(a.real)
    arrays = {
        "a": a,
        "p": p,
        "b": generator.uniform(0.5, 1.5, (n, 3)).astype(dtype),
        "c": factor if lower else factor.T,
        "lu": lu.astype(dtype),
    }
    return {**{x: np.asfortranarray(value) for x, value in arrays.items()}, "piv": piv}


def _check(prefix, family, n):
    names, options = _ROUTINES[family]
    ours, other = getattr(lapack, prefix + family), getattr(theirs, prefix + family)
    for option in options:
        base = _operands(n, _TYPES[prefix], lower=option.get("lower", 0))
        for x in set(names) - {"piv"}:
            rows, columns = base[x].shape
            cells = {
                (0, 0),
                (rows - 1, columns - 1),
                (rows - 1, 0),
                (0, columns - 1),
                (n // 2, min(n // 2, columns - 1)),
            }
            for cell in cells:
                for value in (np.nan, np.inf, -np.inf, 0):
                    planted = {**base, x: base[x].copy(order="F")}
                    planted[x][cell] = value
                    expected = other(*(planted[name].copy(order="F") for name in names), **option)
                    result = ours(*(planted[name].copy(order="F") for name in names), **option)
                    _compare(family, result, expected, (option, x, cell, value))


def _compare(family, result, expected, case):
    info, reference = result[-1], expected[-1]
    if family in ("potrf", "posv") and reference == 0 and not np.isfinite(expected[0]).all():
        return  # info or the factor reports it
    assert (info == 0) == (reference == 0), case
    if info != 0:
        return  # results are anything
    if family in ("getrf", "gesv") and not np.array_equal(result[1], expected[1]):
        assert not np.isfinite(expected[0]).all() and not np.isfinite(result[0]).all(), case
        return  # other rows are NaN
    for one, another in zip(result[:-1], expected[:-1], strict=True):
        if one.shape != another.shape:
            continue  # SciPy's workspace
        reached = ~np.isfinite(another)
        by_tiles = family in ("trtri", "getri") and len(one) > 64
        assert by_tiles or not (np.isfinite(one) & reached).any(), case
        assert reached.any() or np.isfinite(one).all(), case


@pytest.mark.parametrize("family", _ROUTINES)
def test_small(family):
    _check("d", family, 5)


@pytest.mark.parametrize("n", [1, 5, 33, 65, 130])
@pytest.mark.parametrize("prefix", _TYPES)
def test_a_nan_is_the_pivot_where_it_comes_first(prefix, n):
    """Of each kernel that factors columns; a NaN that comes later never wins."""
    a = _operands(n, _TYPES[prefix], lower=0)["a"]
    a[0, 0] = np.nan
    _, pivots, info = getattr(lapack, prefix + "getrf")(a.copy(order="F"))
    assert info == 0 and pivots[0] == 0 and sorted(pivots) == list(range(n))
    a[0, 0], a[-1, 0] = a[-1, 0], a[0, 0]
    if n > 1:
        _, pivots, _ = getattr(lapack, prefix + "getrf")(a.copy(order="F"))
        assert pivots[0] == np.argmax(abs(a[:-1, 0].real) + abs(a[:-1, 0].imag))


@pytest.mark.parametrize("prefix", "cz")
def test_one_complex_number_that_is_not_finite_is_not_reflected(prefix):
    """As in LAPACK's zlarfg: its imaginary part is 0, so that tau is."""
    for value in (np.nan, np.inf, -np.inf, 3):
        qr, tau = getattr(lapack, prefix + "geqrf")(np.full((1, 1), value, _TYPES[prefix]))[:2]
        assert tau[0] == 0
        np.testing.assert_array_equal([qr[0, 0].real, qr[0, 0].imag], [value, 0])


@pytest.mark.exhaustive
@pytest.mark.parametrize("n", [1, 2, 5, 33, 130])
@pytest.mark.parametrize("prefix", _TYPES)
@pytest.mark.parametrize("family", _ROUTINES)
def test_every_size(prefix, family, n):
    _check(prefix, family, n)
