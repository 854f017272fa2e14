"""gemv, symv, hemv and trmv against higher precision: every option, gaps and what must not be read."""

from __future__ import annotations

import numpy as np
import pytest
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
from option_pairs import options_of

import portagpu.blas as blas
from portagpu import cuda

pytestmark = pytest.mark.each_value


@pytest.mark.oclgrind
@pytest.mark.parametrize("letter", LETTERS)
def test_gemv(device, letter):
    dtype, (alpha, beta) = DTYPES[letter], FACTORS[letter]
    generator = np.random.default_rng(3)
    function = getattr(blas, f"{letter}gemv")
    sizes = sizes_for(device)
    for turn, options in enumerate(
        options_of(
            trans=(0, 1, 2),
            incx=INCREMENTS,
            incy=INCREMENTS,
            order="CF",
            added=(False, True),
            overwrite_y=(0, 1),
            on_device=(False, True),
        )
    ):
        m, n = sizes[turn % 8], sizes[(turn * 3 + 1) % 8]
        order, added, on_device = (options.pop(name) for name in ("order", "added", "on_device"))
        trans, incx, incy = options["trans"], options["incx"], options["incy"]
        a = np.asarray(numbers(generator, (m, n), dtype), order=order)
        rows, columns = op(a, trans).shape
        x, y = numbers(generator, columns, dtype), numbers(generator, rows, dtype)
        scale = beta if added else 0
        given = spread(y if scale else np.full_like(y, np.nan), incy, 2)
        d, dx, dy = moved(on_device, a, spread(x, incx, 1), given)
        found = function(alpha, d, dx, beta=scale, y=dy, offx=1, offy=2, **options)
        got, inside = elements(host(found), rows, incy, 2)
        exact = op(a.astype(wide(dtype)), trans)
        wanted = alpha * (exact @ x.astype(wide(dtype))) + scale * (y.astype(wide(dtype)) if scale else 0)
        bound = abs(alpha) * (np.abs(exact) @ np.abs(x)) + abs(scale) * np.abs(y)
        assert close(got, wanted, bound), (m, n, options)
        assert np.isnan(host(found)[~inside]).all()
        if on_device:
            assert (found is dy) == bool(options["overwrite_y"])


@pytest.mark.oclgrind
@pytest.mark.parametrize("letter", LETTERS)
def test_symv_and_hemv(device, letter):
    dtype, (alpha, beta) = DTYPES[letter], FACTORS[letter]
    generator = np.random.default_rng(4)
    hermitian = letter in "cz"
    function = getattr(blas, f"{letter}{'hemv' if hermitian else 'symv'}")
    sizes = sizes_for(device)
    for turn, options in enumerate(
        options_of(incx=INCREMENTS, incy=INCREMENTS, lower=(0, 1), order="CF", on_device=(False, True))
    ):
        n, (incx, incy, lower, order, on_device) = sizes[turn % 8], options.values()
        exact, planted = triangle(numbers(generator, (n, n), dtype), lower)
        diagonal = np.diag(exact).real
        if hermitian:
            np.einsum("ii->i", planted).imag = np.nan  # of the diagonal, not read
        whole = exact + op(exact, 2 if hermitian else 1)
        np.fill_diagonal(whole, diagonal if hermitian else np.diag(exact))
        x, y = numbers(generator, n, dtype), numbers(generator, n, dtype)
        d, dx, dy = moved(on_device, np.asarray(planted, order=order), spread(x, incx, 1), spread(y, incy, 2))
        found = function(alpha, d, dx, beta, dy, 1, incx, 2, incy, lower)
        got, inside = elements(host(found), n, incy, 2)
        wanted = alpha * (whole @ x.astype(wide(dtype))) + beta * y.astype(wide(dtype))
        assert close(got, wanted, abs(alpha) * (np.abs(whole) @ np.abs(x)) + abs(beta) * np.abs(y)), (n, lower)
        assert np.isnan(host(found)[~inside]).all()


@pytest.mark.oclgrind
@pytest.mark.one_device
@pytest.mark.parametrize("letter", LETTERS)
def test_trmv_and_trsv(device, letter):
    dtype = DTYPES[letter]
    generator = np.random.default_rng(5)
    sizes = sizes_for(device)
    for turn, options in enumerate(
        options_of(incx=INCREMENTS, trans=(0, 1, 2), lower=(0, 1), diag=(0, 1), order="CF", on_device=(False, True))
    ):
        n, order, on_device = sizes[turn % 8], options.pop("order"), options.pop("on_device")
        increment, trans, lower, unit = options.values()
        exact, planted = triangle(numbers(generator, (n, n), dtype) / n + np.eye(n, dtype=dtype) * 2, lower, unit)
        t, x = op(exact, trans), numbers(generator, n, dtype)
        d, dx = moved(on_device, np.asarray(planted, order=order), spread(x, increment, 1))
        for name in ("trmv", "trsv"):
            whole = host(getattr(blas, letter + name)(d, dx, offx=1, **options))
            got, inside = elements(whole, n, increment, 1)
            assert np.isnan(whole[~inside]).all()
            if name == "trmv":
                assert close(got, t @ x.astype(wide(dtype)), np.abs(t) @ np.abs(x)), (n, options)
            else:
                assert close(t @ got.astype(wide(dtype)), x, np.abs(t) @ np.abs(got) + np.abs(x)), (n, options)
        assert (getattr(blas, f"{letter}trmv")(d, dx, offx=1, overwrite_x=1, **options) is dx) or not on_device


@pytest.mark.parametrize("letter", ["s", "z"])
def test_nothing_to_multiply(device, letter):
    """alpha = 0 reads neither matrix nor vector, beta = 0 not y, and no dimension is too small."""
    dtype = DTYPES[letter]
    nan, y = np.full((3, 3), np.nan, dtype), np.arange(1, 4).astype(dtype)
    symmetric = getattr(blas, f"{letter}{'symv' if letter == 's' else 'hemv'}")
    for function in (getattr(blas, f"{letter}gemv"), symmetric):
        assert (function(0, nan, nan[0], 2.0, y) == 2 * y).all()
        assert (function(0, nan, nan[0], 0.0, nan[0]) == 0).all()
        assert (function(0, nan, nan[0]) == 0).all()
        assert function(1, nan[:0, :0], y[:0]).shape[0] <= 1
    gemv = getattr(blas, f"{letter}gemv")
    assert (gemv(1, nan[:, :0], y[:0]) == 0).all()
    assert (gemv(1, nan[:, :0], y[:0], 5, y) == y).all()  # as in BLAS, which returns at once
    assert gemv(1, nan[:0], y).size <= 1
    for name in ("trmv", "trsv"):
        assert (getattr(blas, letter + name)(nan[:0, :0], y) == y).all()


def test_the_same_bits_each_time(device):
    generator = np.random.default_rng(6)
    a, x = generator.standard_normal((300, 300)), generator.standard_normal(300)
    for function in (
        lambda: blas.dsymv(1, a, x),
        lambda: blas.dtrmv(a, x),
        lambda: blas.zhemv(1, a, x),
        lambda: blas.dtrsv(a + 30 * np.eye(300), x),
    ):
        first = function()
        assert all((function() == first).all() for _ in range(3))


def test_views_with_gaps_both_ways(device):
    generator = np.random.default_rng(7)
    whole, x = generator.standard_normal((40, 60)), generator.standard_normal(20)
    part = cuda.to_device(whole)[::2, ::3]
    d = cuda.to_device(x)
    assert np.allclose(blas.dgemv(1, part, d).copy_to_host(), whole[::2, ::3] @ x)
    assert np.allclose(blas.dtrmv(part, d).copy_to_host(), np.triu(whole[::2, ::3]) @ x)
