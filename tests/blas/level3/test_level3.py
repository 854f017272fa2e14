"""BLAS 3 under SciPy's names: against higher precision, with NaN where nothing may be read, on host and device."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from portagpu import blas, cuda, errors

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]

DTYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
BEYOND = -7  # what the other triangle holds


def random(generator, rows, columns, dtype, order):
    found = generator.standard_normal((rows, columns))
    if np.dtype(dtype).kind == "c":
        found = found + 1j * generator.standard_normal((rows, columns))
    return np.asarray(found, dtype, order=order)


def wide(x):
    return x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)


def named(n, lower):
    """Where the named triangle is."""
    found = np.tri(n, dtype=bool)
    return found if lower else found.T


def only(a, lower, fill=np.nan):
    """The named triangle, and another value beyond it."""
    return np.where(named(len(a), lower), a, np.asarray(fill, a.dtype)).astype(
        a.dtype, order="F" if a.flags.f_contiguous else "C"
    )


def mirrored(a, lower, hermitian):
    """The whole matrix that a triangle stands for."""
    strict = np.tril(a, -1) if lower else np.triu(a, 1)
    found = (np.tril(a) if lower else np.triu(a)) + (strict.conj() if hermitian else strict).T
    if hermitian:
        found[np.diag_indices(len(found))] = found.diagonal().real
    return found


def op(x, trans):
    return (x, x.T, x.conj().T)[trans]


def check(found, wanted, size):
    """Within 16 eps of the terms' magnitudes; complex terms are four products."""
    found = found.copy_to_host() if hasattr(found, "copy_to_host") else found
    bound = 16 * np.finfo(found.dtype).eps * size * (4 if found.dtype.kind == "c" else 1)
    assert found.shape == wanted.shape and (np.abs(wide(found) - wanted) <= bound).all()
    return found


def places(letter, sizes=((1, 1, 1), (5, 3, 7), (33, 70, 17), (257, 130, 40))):
    """Sizes, orders and where arrays are, each with a generator of matrices."""
    generator = np.random.default_rng(4)
    for number, (m, n, k) in enumerate(sizes):
        order, on_it = "CF"[number % 2], number % 4 > 1

        def made(rows, columns, order=order):
            return random(generator, rows, columns, DTYPES[letter], order)

        yield m, n, k, made, cuda.to_device if on_it else np.array


def factors(letter):
    return (0.5 - 1j, 0.25 + 2j) if letter in "cz" else (0.5, -1.5)


@pytest.mark.parametrize("letter", DTYPES)
def test_symm_and_hemm(device, letter):
    alpha, beta = factors(letter)
    for m, n, _, made, move in places(letter):
        for side, lower, hermitian in itertools.product((0, 1), (0, 1), (0, 1) if letter in "cz" else (0,)):
            a, b, c = made(n if side else m, n if side else m), made(m, n), made(m, n)
            whole = mirrored(wide(a), lower, hermitian)
            product = wide(b) @ whole if side else whole @ wide(b)
            size = np.abs(alpha) * (np.abs(b) @ np.abs(whole) if side else np.abs(whole) @ np.abs(b))
            function = getattr(blas, f"{letter}{'hemm' if hermitian else 'symm'}")
            given = move(only(a, lower)), move(b)
            check(function(alpha, *given, side=side, lower=lower), alpha * product, size)
            found = function(alpha, *given, beta, move(c), side=side, lower=lower)
            check(found, alpha * product + beta * wide(c), size + np.abs(beta) * np.abs(c))
            check(function(0, move(np.full_like(a, np.nan)), given[1], side=side), 0 * product, 0 * size)


@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("letter", DTYPES)
def test_syrk_and_its_relatives(device, letter, two):
    for _, n, k, made, move in places(letter):
        for lower, turned, hermitian in itertools.product((0, 1), (0, 1), (0, 1) if letter in "cz" else (0,)):
            alpha, beta = factors(letter)
            alpha, beta = alpha if two or not hermitian else alpha.real, beta.real if hermitian else beta
            trans = turned * (2 if hermitian else 1)
            a, b = (made(k, n) if turned else made(n, k) for _ in range(2))
            x, y, c = op(wide(a), trans), op(wide(b), trans), made(n, n)
            adjoint = 2 if hermitian else 1
            if two:
                other = np.conj(alpha) if hermitian else alpha
                product = alpha * x @ op(y, adjoint) + other * y @ op(x, adjoint)
                size = np.abs(alpha) * (np.abs(x) @ np.abs(y).T + np.abs(y) @ np.abs(x).T)
            else:
                product, size = alpha * x @ op(x, adjoint), np.abs(alpha) * np.abs(x) @ np.abs(x).T
            function = getattr(blas, f"{letter}{'her' if hermitian else 'syr'}{'2k' if two else 'k'}")
            given = (move(a), move(b)) if two else (move(a),)
            old, inside = wide(c), named(n, lower)
            if hermitian:
                old[np.diag_indices(n)] = old.diagonal().real
            for factor, present in ((0, None), (beta, only(c, lower, BEYOND)), (0, only(c * np.nan, lower, BEYOND))):
                held = None if present is None else move(np.asfortranarray(present))
                found = function(alpha, *given, factor, held, trans=trans, lower=lower, overwrite_c=1)
                wanted = np.where(inside, product + (factor * old if factor else 0), 0 if held is None else BEYOND)
                found = check(found, wanted, np.where(inside, size + abs(factor) * np.abs(old), 0))
                assert not hermitian or (found.diagonal().imag == 0).all()


@pytest.mark.parametrize("letter", DTYPES)
def test_trmm_and_trsm(device, letter):
    alpha, _ = factors(letter)
    sizes = ((1, 3, 0), (33, 20, 0), (130, 7, 0)) if letter in "cz" else ((1, 3, 0), (33, 70, 0), (130, 257, 0))
    for m, n, _, made, move in places(letter, sizes):
        for side, lower, trans, unit in itertools.product((0, 1), (0, 1), (0, 1, 2), (0, 1)):
            size = n if side else m
            a, b = made(size, size), made(m, n)
            a *= DTYPES[letter](0.3 / np.sqrt(size))
            a[np.diag_indices(size)] = np.nan if unit else 2 + a.diagonal()
            triangle = wide(only(a, lower, 0))
            if unit:
                triangle[np.diag_indices(size)] = 1
            triangle = op(triangle, trans)
            options = {"side": side, "lower": lower, "trans_a": trans, "diag": unit}
            given = move(only(a, lower)), move(b)
            found = getattr(blas, f"{letter}trmm")(alpha, *given, **options)
            terms = np.abs(b) @ np.abs(triangle) if side else np.abs(triangle) @ np.abs(b)
            check(found, alpha * (wide(b) @ triangle if side else triangle @ wide(b)), np.abs(alpha) * terms)
            found = getattr(blas, f"{letter}trsm")(alpha, *given, **options)
            x = wide(found.copy_to_host() if hasattr(found, "copy_to_host") else found)
            back = x @ triangle if side else triangle @ x
            terms = np.abs(x) @ np.abs(triangle) if side else np.abs(triangle) @ np.abs(x)
            check(back.astype(b.dtype), alpha * wide(b), terms + np.abs(alpha) * np.abs(b))


def test_what_is_empty(device):
    """No columns to multiply scale c; nothing to compute is nothing."""
    c = np.asfortranarray(np.ones((3, 3)))
    assert blas.dsyrk(1, np.empty((3, 0)), 2, c, lower=1).tolist() == [[2, 1, 1], [2, 2, 1], [2, 2, 2]]
    assert blas.dsymm(1, np.empty((0, 0)), np.empty((0, 3))).shape == (0, 3)
    assert blas.dtrmm(1, np.empty((0, 0)), np.empty((0, 3))).shape == (0, 3)
    assert blas.dtrsm(1, np.ones((3, 3)), np.empty((3, 0))).shape == (3, 0)
    nothing = np.full((2, 2), np.nan)
    assert (blas.dtrsm(0, nothing, nothing) == 0).all() and (blas.dtrmm(0, nothing, nothing) == 0).all()


def test_errors(device):
    a, b = np.ones((4, 4)), np.ones((4, 3))
    for call, kind, text in (
        (lambda: blas.dsymm(1, a, b, side=1), errors.ShapeError, "a has shape"),
        (lambda: blas.dsymm(1, b, b), errors.ShapeError, "dsymm takes a square a"),
        (
            lambda: blas.dsyrk(1, b, c=np.ones((3, 3))),
            errors.ShapeError,
            r"c has shape \(3, 3\); the result has \(4, 4\)",
        ),
        (lambda: blas.dsyr2k(1, a, b), errors.ShapeError, r"b has shape \(4, 3\), a has \(4, 4\)"),
        (lambda: blas.zsyrk(1, b, trans=2), errors.UnknownOptionError, "trans of zsyrk is 2"),
        (lambda: blas.zherk(1, b, trans=1), errors.UnknownOptionError, "trans of zherk is 1"),
        (lambda: blas.zherk(1j, b), errors.ArgumentTypeError, "alpha of zherk is 1j"),
        (lambda: blas.dtrsm(1, a, b, lower=2), errors.UnknownOptionError, "lower is 2"),
        (lambda: blas.dtrsm(1, a[:3, :3], b), errors.ShapeError, r"b of shape \(4, 3\) needs \(4, 4\)"),
        (lambda: blas.dtrmm(1, a[:3, :3], b), errors.ShapeError, r"b of shape \(4, 3\) needs \(4, 4\)"),
        (
            lambda: blas.dtrmm(1, cuda.to_device(a), b),
            errors.ArgumentTypeError,
            "b is a NumPy array, a is on the device",
        ),
    ):
        with pytest.raises(kind, match=text):
            call()


@pytest.mark.oclgrind
def test_small_triangles_for_oclgrind(device):
    """Tiles at the edges, without races and inside of the arrays."""
    generator = np.random.default_rng(2)
    a = random(generator, 37, 37, np.float32, "C")
    assert np.allclose(np.tril(blas.ssyrk(1, a, lower=1)), np.tril(a @ a.T), rtol=1e-4, atol=1e-4)
    assert np.allclose(blas.ssymm(1, a, a), mirrored(a, 0, False) @ a, rtol=1e-4, atol=1e-4)
    assert np.allclose(blas.strmm(1, a, a), np.triu(a) @ a, rtol=1e-4, atol=1e-4)
