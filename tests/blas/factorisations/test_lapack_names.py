"""`portagpu.lapack` against `scipy.linalg.lapack`: results, return conventions, options."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg.lapack
from matrices_in_memory import random
from option_pairs import in_short

from portagpu import cuda, errors, lapack

pytestmark = pytest.mark.one_device(fast=True)
theirs = scipy.linalg.lapack
DTYPES = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}


def near(found, expected):
    assert type(found) is type(expected)
    tolerance = 2e-3 if np.asarray(found).dtype.char in "fF" else 1e-9
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    if isinstance(found, np.ndarray):
        assert found.dtype == expected.dtype
        assert found.flags.f_contiguous


def on_host(found):
    return [x.copy_to_host() for x in found]


@pytest.mark.parametrize("letter", in_short(DTYPES, "s", "z"))
def test_results(device, letter):
    dtype = DTYPES[letter]
    generator = np.random.default_rng(0)
    a = random(generator, (20, 20), dtype)
    p = (a @ a.conj().T + 20 * np.eye(20)).astype(dtype)
    b = random(generator, (20, 3), dtype)
    lu, piv, _ = getattr(theirs, letter + "getrf")(a)
    for name, arguments, options in [
        ("potrf", (p,), {}),
        ("potrf", (p,), {"lower": 1}),
        ("potrf", (p,), {"lower": 1, "clean": 0}),
        ("potrs", (np.tril(p), b), {"lower": 1}),
        ("potrs", (np.triu(p), b[:, 0]), {}),
        ("getrf", (a,), {}),
        ("getrf", (a[:7],), {}),
        ("getrs", (lu, piv, b), {}),
        ("getrs", (lu, piv, b[:, 0]), {"trans": 1}),
        ("getrs", (lu, piv, b), {"trans": 2}),
        ("getri", (lu, piv), {}),
        ("getri", (lu, piv), {"lwork": 60, "overwrite_lu": 0}),
        ("gesv", (a, b), {}),
        ("potri", (np.tril(p),), {"lower": 1}),
        ("potri", (p,), {}),
        ("trtri", (p,), {"lower": 1}),
        ("trtri", (a / 10,), {"unitdiag": 1}),
        ("trtrs", (p, b), {"lower": 1, "trans": 2}),
        ("trtrs", (p, b[:, 0]), {"trans": 1}),
    ]:
        ours, other = getattr(lapack, letter + name), getattr(theirs, letter + name)
        expected = other(*arguments, **options)
        found = ours(*arguments, **options)
        assert len(found) == len(expected)
        for one, another in zip(found, expected, strict=True):
            near(one, another)
        there = on_host(ours(*(cuda.to_device(np.asfortranarray(x)) for x in arguments), **options))
        for one, another in zip(there[:-1], expected[:-1], strict=True):
            np.testing.assert_allclose(one, another, rtol=2e-3, atol=2e-3)
        assert there[-1] == expected[-1]
    c, x, info = getattr(lapack, letter + "posv")(p, b, lower=1)
    near(x, getattr(theirs, letter + "posv")(p, b, lower=1)[1])
    assert info == 0
    near(np.tril(c).copy(order="F"), getattr(theirs, letter + "potrf")(p, lower=1)[0])


def test_right_sides_in_lists(device):
    """A list of numbers is a vector, as an array of them, and so is the solution."""
    a, b = np.diag([4.0, 9.0]), [8.0, 18.0]
    lu, piv, _ = lapack.dgetrf(a)
    for name, arguments in (
        ("dpotrs", (np.sqrt(a), b)),
        ("dposv", (a, b)),
        ("dgetrs", (lu, piv, b)),
        ("dgesv", (a, b)),
        ("dtrtrs", (a, b)),
    ):
        near(getattr(lapack, name)(*arguments)[-2], getattr(theirs, name)(*arguments)[-2])


def test_arguments_are_left_or_overwritten(device):
    a = np.asfortranarray(np.diag([4.0, 9.0]))
    before = a.copy()
    c, _ = lapack.dpotrf(a)
    np.testing.assert_array_equal(a, before)
    c, _ = lapack.dpotrf(a, overwrite_a=1)
    assert c is a or c.base is a
    np.testing.assert_array_equal(a, np.diag([2.0, 3.0]))
    there = cuda.to_device(before)
    found, info = lapack.dpotrf(there, overwrite_a=1)
    assert found is there
    assert info.shape == () and int(info.copy_to_host()) == 0


def test_info(device):
    assert lapack.dpotrf(np.diag([1.0, -1.0]))[1] == 2
    assert lapack.dgetrf(np.zeros((2, 2)))[2] == 1
    assert lapack.dgetri(np.diag([1.0, 0.0]), np.arange(2))[1] == 2
    assert lapack.dpotrf(np.zeros((0, 0)))[1] == 0
    assert lapack.dgetrf([[1, 2], [3, 4]])[1].tolist() == [1, 1]


def test_info_on_the_device_has_the_axes_of_the_batch(device):
    for minor in range(4):  # the second call is recorded, and made again from then on
        a = np.eye(3)
        if minor:
            a[minor - 1, minor - 1] = -1
        info = lapack.dpotrf(cuda.to_device(a))[1]
        assert info.shape == () and int(info.copy_to_host()) == minor
        many = lapack.dpotrf(cuda.to_device(np.stack([a, np.eye(3)])))[1]
        assert many.copy_to_host().tolist() == [minor, 0]
    *_, info = lapack.dgeqrf(cuda.to_device(np.eye(3)))
    assert info.shape == () and int(info.copy_to_host()) == 0


def test_wrong_arguments(device):
    for error, message, call in [
        (errors.ShapeError, "square a", lambda: lapack.dpotrf(np.ones((2, 3)))),
        (errors.ShapeError, "b has 4 rows", lambda: lapack.dpotrs(np.eye(3), np.ones(4))),
        (errors.ShapeError, "rows from", lambda: lapack.dgetrs(np.eye(2), np.array([5, 5]), np.ones(2))),
        (errors.ShapeError, "piv has shape", lambda: lapack.dgetrs(np.eye(2), np.array([0]), np.ones(2))),
        (errors.DTypeError, "takes float32", lambda: lapack.spotrf(cuda.to_device(np.eye(2)))),
        (errors.UnknownOptionError, "lower is 2", lambda: lapack.dpotrf(np.eye(2), lower=2)),
        (errors.UnknownOptionError, "no function dpotrg", lambda: lapack.get_lapack_funcs("potrg")),
    ]:
        with pytest.raises(error, match=message):
            call()


def test_functions_found_by_name(device):
    potrf, getrf = lapack.get_lapack_funcs(("potrf", "getrf"), (np.ones((2, 2), np.complex64),))
    assert (potrf.typecode, potrf.module_name, getrf.__name__) == ("c", "flapack", "cgetrf")
    for dtype in DTYPES.values():  # one name for all dtypes, also of complex ones
        for found, its in zip(
            *(x.get_lapack_funcs(("ormqr", "orgqr"), dtype=dtype) for x in (lapack, theirs)), strict=True
        ):
            assert (found.typecode, found.module_name) == (its.typecode, its.module_name)
    assert lapack.get_lapack_funcs("ormqr", dtype="D") is lapack.zunmqr


@pytest.mark.parametrize("letter", in_short(DTYPES, "s", "z"))
def test_orthogonal_factors(device, letter, share):
    dtype = DTYPES[letter]
    generator = np.random.default_rng(0)
    is_complex = letter in "cz"
    multiply, form = ("unmqr", "ungqr") if is_complex else ("ormqr", "orgqr")
    for m, n in share([(12, 7), (7, 12), (50, 40)], letter in "dz"):
        a = random(generator, (m, n), dtype)
        qr, tau, work, info = getattr(lapack, letter + "geqrf")(a)
        expected = getattr(theirs, letter + "geqrf")(a)
        near(qr, expected[0])
        near(tau, expected[1])
        assert (work.dtype, info) == (a.dtype, 0)
        k = min(m, n)
        near(getattr(lapack, letter + form)(qr[:, :k], tau)[0], getattr(theirs, letter + form)(qr[:, :k], tau)[0])
        for side, shape in [("L", (m, 3)), (b"R", (3, m))]:
            for trans in "NC" if is_complex else "NT":
                c = random(generator, shape, dtype)
                arguments = side, trans, qr[:, :k], tau, c, 200
                found = getattr(lapack, letter + multiply)(*arguments)
                near(found[0], getattr(theirs, letter + multiply)(*arguments)[0])
                assert len(found) == 3
    *_, work, info = getattr(lapack, letter + "geqrf")(a, lwork=-1)
    assert work[0] >= 1
    there, numbers, *_ = getattr(lapack, letter + "geqrf")(cuda.to_device(a))
    near(np.asfortranarray(there.copy_to_host()), qr)
    with pytest.raises(errors.UnknownOptionError, match="side is 'X'"):
        getattr(lapack, letter + multiply)("X", "N", there, numbers, there, 1)
