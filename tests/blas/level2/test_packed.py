"""spmv, hpmv, tpmv, tpsv, spr, hpr, spr2 and hpr2 against higher precision: every option, and what must not be read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from level2_arrays import (
    DTYPES,
    FACTORS,
    INCREMENTS,
    LETTERS,
    close,
    elements,
    host,
    moved,
    numbers,
    op,
    sizes_for,
    spread,
    triangle,
    wide,
)
from option_pairs import in_short, options_of

import portagpu.blas as blas
from portagpu import cuda, errors
from portagpu.blas.level2.products.form import LOWER, REAL, UPPER
from portagpu.blas.level2.products.product import Use, multiply_packed
from portagpu.blas.level2.products.tile_variant import TileConfig

PLACES = ("host", "device", "gaps")
pytestmark = pytest.mark.each_value


def columns_of(matrix, lower, more=3):
    """The packed triangle of a matrix, with NaN behind it."""
    n = len(matrix)
    pieces = [matrix[j:, j] if lower else matrix[: j + 1, j] for j in range(n)]
    return np.concatenate([*pieces, np.full(more, np.nan, matrix.dtype)])


def unpacked(ap, n, lower):
    """The triangle of a packed one, zeros elsewhere."""
    found, start = np.zeros((n, n), ap.dtype), 0
    for j in range(n):
        rows = slice(j, n) if lower else slice(0, j + 1)
        length = len(found[rows, j])
        found[rows, j] = ap[start : start + length]
        start += length
    return found


def gapped(ap):
    """A packed triangle on the device with gaps, from its end."""
    whole = np.full(2 * len(ap), np.nan, ap.dtype)
    whole[::-2] = ap
    return cuda.to_device(whole)[::-2]


def whole_of(dense, hermitian):
    """The matrix of which a triangle is given, zeros elsewhere."""
    diagonal = np.diag(dense)
    beside = dense - np.diag(diagonal)
    return beside + op(beside, 1 + hermitian) + np.diag(diagonal.real if hermitian else diagonal)


@pytest.mark.oclgrind
@pytest.mark.parametrize("name", in_short(["sspmv", "dspmv", "cspmv", "zspmv", "chpmv", "zhpmv"], "sspmv", "zhpmv"))
def test_spmv_and_hpmv(device, name):
    dtype, (alpha, beta) = DTYPES[name[0]], FACTORS[name[0]]
    generator, hermitian = np.random.default_rng(1), "h" in name
    sizes = sizes_for(device)
    for turn, options in enumerate(
        options_of(incx=INCREMENTS, incy=INCREMENTS, lower=(0, 1), overwrite=(0, 1), place=PLACES)
    ):
        n, (incx, incy, lower, overwrite, place) = sizes[turn % 8], options.values()
        on_device = place != "host"
        exact, planted = triangle(numbers(generator, (n, n), dtype), lower)
        if hermitian:
            np.einsum("ii->i", planted).imag = np.nan  # of the diagonal, not read
        whole, ap = whole_of(exact, hermitian), columns_of(planted, lower)
        x, y = numbers(generator, n, dtype), numbers(generator, n, dtype)
        d = gapped(ap) if place == "gaps" else moved(on_device, ap)[0]
        dx, dy = moved(on_device, spread(x, incx, 1), spread(y, incy, 2))
        found = getattr(blas, name)(n, alpha, d, dx, incx, 1, beta, dy, incy, 2, lower, overwrite)
        got, inside = elements(host(found), n, incy, 2)
        wanted = alpha * (whole @ x) + beta * y.astype(wide(dtype))
        assert close(got, wanted, abs(alpha) * (np.abs(whole) @ np.abs(x)) + abs(beta) * np.abs(y)), (n, lower)
        assert np.isnan(host(found)[~inside]).all()
        assert not on_device or (found is dy) == bool(overwrite)


@pytest.mark.oclgrind
@pytest.mark.one_device
@pytest.mark.parametrize("letter", LETTERS)
def test_tpmv_and_tpsv(device, letter):
    dtype, generator = DTYPES[letter], np.random.default_rng(2)
    sizes = sizes_for(device)
    for turn, options in enumerate(
        options_of(incx=INCREMENTS, trans=(0, 1, 2), lower=(0, 1), diag=(0, 1), on_device=(False, True))
    ):
        n, on_device = (*sizes[:-1], 5 * sizes[-1] // 4)[turn % 8], options.pop("on_device")
        increment, trans, lower, unit = options.values()
        exact, planted = triangle(numbers(generator, (n, n), dtype) / n + np.eye(n, dtype=dtype) * 2, lower, unit)
        t, x = op(exact, trans), numbers(generator, n, dtype)
        d, dx = moved(on_device, columns_of(planted, lower), spread(x, increment, 1))
        for name in ("tpmv", "tpsv"):
            whole = host(getattr(blas, letter + name)(n, d, dx, offx=1, **options))
            got, inside = elements(whole, n, increment, 1)
            assert np.isnan(whole[~inside]).all()
            if name == "tpmv":
                assert close(got, t @ x, np.abs(t) @ np.abs(x)), (n, options)
            else:
                assert close(t @ got, x, np.abs(t) @ np.abs(got) + np.abs(x)), (n, options)
        assert (getattr(blas, f"{letter}tpmv")(n, d, dx, offx=1, overwrite_x=1, **options) is dx) or not on_device


UPDATES = ["sspr", "dspr", "cspr", "zspr", "chpr", "zhpr", "sspr2", "dspr2", "chpr2", "zhpr2"]


@pytest.mark.oclgrind
@pytest.mark.parametrize("name", in_short(UPDATES, "sspr", "zspr", "zhpr", "sspr2", "zhpr2"))
def test_updates(device, name):
    dtype, alpha = DTYPES[name[0]], FACTORS[name[0]][0]
    generator, hermitian, two = np.random.default_rng(3), "h" in name, name.endswith("2")
    alpha = alpha.real if name.endswith("hpr") else alpha
    sizes = sizes_for(device)
    for turn, options in enumerate(
        options_of(incx=INCREMENTS, incy=INCREMENTS, lower=(0, 1), overwrite=(0, 1), place=PLACES)
    ):
        n, (incx, incy, lower, overwrite, place) = sizes[turn % 8], options.values()
        on_device = place != "host"
        exact, planted = triangle(numbers(generator, (n, n), dtype), lower)
        if hermitian:
            np.einsum("ii->i", planted).imag = np.nan  # not read, and left real
            np.einsum("ii->i", exact).imag = 0
        x, y = numbers(generator, n, dtype), numbers(generator, n, dtype)
        ap = columns_of(planted, lower)
        d = gapped(ap) if place == "gaps" else moved(on_device, ap.copy())[0]
        dx, dy = moved(on_device, spread(x, incx, 1), spread(y, incy, 2))
        left, right = x.astype(wide(dtype)), (y if two else x).astype(wide(dtype))
        added = alpha * np.outer(left, right.conj() if hermitian else right)
        size = abs(alpha) * np.outer(np.abs(left), np.abs(right))
        if two:
            added, size = added + op(added, 1 + hermitian), size + size.T
            found = getattr(blas, name)(n, alpha, dx, dy, d, incx, 1, incy, 2, lower, overwrite)
        else:
            found = getattr(blas, name)(n, alpha, dx, d, incx, 1, lower, overwrite)
        got, part = unpacked(host(found), n, lower), np.tril if lower else np.triu
        assert close(got, exact + part(added), np.abs(exact) + part(size)), (n, lower)
        assert np.isnan(host(found)[n * (n + 1) // 2 :]).all()
        assert not hermitian or (np.diag(got).imag == 0).all()
        assert (found is d) == bool(overwrite)


@given(st.integers(0, 257), st.integers(0, 1))
def test_sizes(device, n, lower):
    exact, planted = triangle(np.random.default_rng(4).standard_normal((n, n)).astype(np.float32), lower)
    x = np.random.default_rng(5).standard_normal(n).astype(np.float32)
    whole, ap = whole_of(exact, False), columns_of(planted, lower)
    assert close(blas.sspmv(n, 1, ap, x, lower=lower)[:n], whole @ x, np.abs(whole) @ np.abs(x))


@pytest.mark.oclgrind
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("letter", ["s", "z"])
def test_tiles(device, letter, lower):
    """As on GPUs."""
    dtype, generator, n = DTYPES[letter], np.random.default_rng(6), 77
    dense, planted = triangle(numbers(generator, (n, n), dtype), lower)
    x = numbers(generator, n, dtype)
    ap = cuda.to_device(columns_of(planted, lower, 0))
    config = TileConfig(threads_x=16, threads_y=4, lines=4, vectors=1)
    shape = LOWER if lower else UPPER
    symmetric = Use(routine="hpmv", columns=True, conjugate_columns=True, shape=shape, diagonal=REAL)
    transposed = Use(routine="tpmv", rows=False, columns=True, shape=shape)
    for use, exact in ((symmetric, whole_of(dense, True)), (transposed, dense.T)):
        y = cuda.to_device(np.full_like(x, np.nan))
        multiply_packed(use, ap, cuda.to_device(x), y, cuda.default_stream(), config)
        assert close(y.copy_to_host(), exact @ x, np.abs(exact) @ np.abs(x))


def test_nothing_to_do(device):
    """alpha = 0 reads neither triangle nor vector, beta = 0 not y; of no columns, all stays as it is."""
    nan, y = np.full(6, np.nan), np.arange(1.0, 4)
    assert (blas.dspmv(3, 0, nan, nan, beta=2.0, y=y) == 2 * y).all()
    assert (blas.zhpmv(3, 0, nan, nan) == 0).all()
    assert (blas.dspmv(0, 1, nan, y, y=y) == y).all()
    assert (blas.dspr(3, 0, nan, np.arange(6.0)) == np.arange(6)).all()
    assert (blas.zhpr2(3, 0, nan, nan, np.arange(6) * 1j) == np.arange(6) * 1j).all()  # the diagonal, too
    for name in ("dtpmv", "dtpsv"):
        assert (getattr(blas, name)(0, nan, y) == y).all()
    assert (blas.dspr(0, 1, y, y) == y).all()


def test_the_same_bits_each_time(device):
    generator, n = np.random.default_rng(8), 300
    ap, x = generator.standard_normal(n * (n + 1) // 2), generator.standard_normal(n)
    for function in (lambda: blas.dspmv(n, 1, ap, x), lambda: blas.zhpmv(n, 1, ap, x), lambda: blas.dtpmv(n, ap, x)):
        first = function()
        assert all((function() == first).all() for _ in range(3))


AP, X = np.ones(6), np.ones(3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: blas.dspmv(-1, 1, AP, X), errors.ShapeError, "n of dspmv is -1"),
        (
            lambda: blas.dspmv(4, 1, AP, X),
            errors.ShapeError,
            "ap has 6 elements; a packed triangle of 4 columns has 10",
        ),
        (lambda: blas.dspmv(3, 1, AP, X[:2]), errors.ShapeError, "x has 2 elements"),
        (lambda: blas.dspmv(3, 1, AP, X, y=X[:2]), errors.ShapeError, "y has 2 elements"),
        (lambda: blas.dspmv(3, 1, AP, X, incx=0), errors.ShapeError, "incx is 0"),
        (lambda: blas.dspmv(3, 1, AP, X, lower=2), errors.UnknownOptionError, "lower is 2"),
        (lambda: blas.dtpmv(3, AP, X, trans=3), errors.UnknownOptionError, "trans is 3"),
        (lambda: blas.dtpmv(3, AP, X, diag=2), errors.UnknownOptionError, "diag is 2"),
        (lambda: blas.dtpsv(3, AP, X, offx=3), errors.ShapeError, "offx is 3"),
        (lambda: blas.dtpsv(3, AP * 1j, X), errors.DTypeError, "ap is complex128"),
        (lambda: blas.dspr(4, 1, np.ones(4), AP), errors.ShapeError, "ap has 6 elements"),
        (lambda: blas.dspr(3, 1, X, AP, overwrite_ap="y"), errors.UnknownOptionError, "overwrite_ap"),
        (lambda: blas.dspr2(3, 1, X, X[:2], AP), errors.ShapeError, "y has 2 elements"),
        (lambda: blas.dspr2(3, "1", X, X, AP), errors.ArgumentTypeError, "alpha"),
        (lambda: blas.dspr(3, 1, cuda.to_device(X), AP), errors.ArgumentTypeError, "on the device"),
    ],
)
@pytest.mark.one_device
def test_refusals(device, call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.one_device
def test_overlapping_arrays(device):
    d = cuda.to_device(np.arange(12.0))
    with pytest.raises(errors.ArgumentTypeError, match="shares memory"):
        blas.dtpmv(3, d, d[:3], overwrite_x=1)
    with pytest.raises(errors.ArgumentTypeError, match="shares memory"):
        blas.dspr(3, 1, d[:3], d, overwrite_ap=1)
