"""gbmv, sbmv, hbmv, tbmv and tbsv against higher precision: every option, and what must not be read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
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
    wide,
)
from option_pairs import options_of

import portagpu.blas as blas
from portagpu import cuda, errors
from portagpu.blas.level2.bands.product import multiply
from portagpu.blas.level2.bands.row_variant import RowConfig
from portagpu.blas.level2.bands.solve import solve
from portagpu.blas.level2.bands.storage import band, general, symmetric, triangular_band

pytestmark = pytest.mark.each_value


def banded(generator, shape, below, above, dtype, more=1):
    """A matrix with so many diagonals, and its band storage with NaN outside of it and in ``more`` rows below."""
    (m, n), width = shape, below + above + 1
    dense = numbers(generator, shape, dtype)
    i, j = np.indices(shape)
    dense[(i - j > below) | (j - i > above)] = 0
    stored = np.full((width + more, n), np.nan, dtype)
    for diagonal in range(width):
        places = np.arange(n) - above + diagonal
        inside = (places >= 0) & (places < m)
        stored[diagonal, inside] = dense[places[inside], np.arange(n)[inside]]
    return dense, stored


def ordered(array, how):
    """An array in C or Fortran order, or a view with gaps both ways, upside down."""
    if how < 2:
        return np.asarray(array, order="CF"[how])
    whole = np.full((2 * array.shape[0], 3 * array.shape[1]), np.nan, array.dtype)
    view = whole[::-2, ::3]
    view[...] = array
    return view


def whole_of(dense, symmetry):
    """The matrix of which an upper triangle is given."""
    above = np.triu(dense, 1)
    diagonal = np.diag(np.diag(dense).real if symmetry == 2 else np.diag(dense))
    return above + op(above, symmetry) + diagonal


def triangle_of(generator, n, k, lower, dtype):
    """A triangular band that is well conditioned, and its storage with NaN outside of it."""
    dense, stored = banded(generator, (n, n), k * lower, k * (not lower), dtype)
    dense /= k + 1
    stored /= k + 1
    dense += 2 * np.eye(n, dtype=dtype)
    stored[k * (not lower)] += 2
    return dense, stored


@pytest.mark.oclgrind
@pytest.mark.one_device
@pytest.mark.parametrize("letter", LETTERS)
def test_gbmv(device, letter):
    dtype, (alpha, beta) = DTYPES[letter], FACTORS[letter]
    generator, function = np.random.default_rng(1), getattr(blas, f"{letter}gbmv")
    shapes = [(1, 1), (7, 5), (5, 7), (33, 40), (129, 64), (64, 200), (257, 257), (90, 91)]
    if device.platform == "Oclgrind":  # a simulator takes minutes for large ones
        shapes = [(1, 1), (7, 5), (5, 7), (33, 40), (70, 24), (24, 90), (40, 40), (30, 31)]
    for turn, options in enumerate(
        options_of(
            trans=(0, 1, 2),
            incx=INCREMENTS,
            incy=INCREMENTS,
            overwrite_y=(0, 1),
            added=(False, True),
            order=(0, 1, 2),
            on_device=(False, True),
        )
    ):
        m, n = shapes[turn % 8]
        below, above = (0, 3, 1, 20, 300)[turn % 5], (2, 0, 1, 130, 5, 9)[turn % 6]
        added, order, on_device = (options.pop(name) for name in ("added", "order", "on_device"))
        trans, incx, incy, overwrite = options.values()
        dense, stored = banded(generator, (m, n), below, above, dtype)
        rows, columns = op(dense, trans).shape
        x, y = numbers(generator, columns, dtype), numbers(generator, rows, dtype)
        scale = beta if added else 0
        target = spread(y if scale else np.full_like(y, np.nan), incy, 2)
        a, dx, dy = moved(on_device, ordered(stored, order), spread(x, incx, 1), target)
        found = function(m, n, below, above, alpha, a, dx, beta=scale, y=dy, offx=1, offy=2, **options)
        got, inside = elements(host(found), rows, incy, 2)
        exact = op(dense.astype(wide(dtype)), trans)
        wanted = alpha * (exact @ x.astype(wide(dtype))) + scale * (y.astype(wide(dtype)) if scale else 0)
        assert close(got, wanted, abs(alpha) * (np.abs(exact) @ np.abs(x)) + abs(scale) * np.abs(y)), (m, n, options)
        assert np.isnan(host(found)[~inside]).all()
        assert not on_device or (found is dy) == bool(overwrite)


@pytest.mark.oclgrind
@pytest.mark.parametrize("letter", LETTERS)
def test_sbmv_and_hbmv(device, letter):
    dtype, (alpha, beta) = DTYPES[letter], FACTORS[letter]
    generator, hermitian = np.random.default_rng(2), letter in "cz"
    function = getattr(blas, f"{letter}{'hbmv' if hermitian else 'sbmv'}")
    for turn, options in enumerate(
        options_of(
            incx=INCREMENTS, incy=INCREMENTS, lower=(0, 1), k=(0, 1, 5, 200), order=(0, 1), on_device=(False, True)
        )
    ):
        n, (incx, incy, lower, k, order, on_device) = sizes_for(device)[turn % 8], options.values()
        dense, stored = banded(generator, (n, n), k * lower, k * (not lower), dtype)
        if hermitian:
            stored[k * (not lower)].imag = np.nan  # of the diagonal, not read
        whole = whole_of(dense.T.conj() if lower and hermitian else dense.T if lower else dense, 1 + hermitian)
        x, y = numbers(generator, n, dtype), numbers(generator, n, dtype)
        a, dx, dy = moved(on_device, ordered(stored, order), spread(x, incx, 1), spread(y, incy, 2))
        found = function(k, alpha, a, dx, incx, 1, beta, dy, incy, 2, lower)
        got, inside = elements(host(found), n, incy, 2)
        wanted = alpha * (whole.astype(wide(dtype)) @ x) + beta * y.astype(wide(dtype))
        assert close(got, wanted, abs(alpha) * (np.abs(whole) @ np.abs(x)) + abs(beta) * np.abs(y)), (n, k, lower)
        assert np.isnan(host(found)[~inside]).all()


@pytest.mark.oclgrind
@pytest.mark.one_device
@pytest.mark.parametrize("letter", LETTERS)
def test_tbmv_and_tbsv(device, letter):
    dtype, generator = DTYPES[letter], np.random.default_rng(3)
    for turn, options in enumerate(
        options_of(
            incx=INCREMENTS,
            lower=(0, 1),
            trans=(0, 1, 2),
            diag=(0, 1),
            k=(0, 1, 5, 300),
            order=(0, 1),
            on_device=(False, True),
        )
    ):
        n, (k, order, on_device) = (
            sizes_for(device)[turn % 8],
            (options.pop(name) for name in ("k", "order", "on_device")),
        )
        increment, lower, trans, unit = options.values()
        dense, stored = triangle_of(generator, n, k, lower, dtype)
        if unit:
            np.fill_diagonal(dense, 1)
            stored[k * (not lower)] = np.nan
        exact, x = op(dense.astype(wide(dtype)), trans), numbers(generator, n, dtype)
        a, dx = moved(on_device, ordered(stored, order), spread(x, increment, 1))
        for name in ("tbmv", "tbsv"):
            whole = host(getattr(blas, letter + name)(k, a, dx, offx=1, **options))
            got, inside = elements(whole, n, increment, 1)
            assert np.isnan(whole[~inside]).all()
            if name == "tbmv":
                assert close(got, exact @ x, np.abs(exact) @ np.abs(x)), (n, k, options)
            else:
                assert close(exact @ got, x, np.abs(exact) @ np.abs(got) + np.abs(x)), (n, k, options)


@given(st.integers(0, 257), st.integers(1, 257), st.integers(0, 40), st.integers(0, 40), st.integers(0, 1))
@example(0, 3, 1, 1, 0)
@example(3, 1, 7, 9, 1)
def test_sizes(device, m, n, below, above, trans):
    dense, stored = banded(np.random.default_rng(4), (m, n), below, above, np.float32)
    exact = op(dense.astype(np.float64), trans)
    x = np.random.default_rng(5).standard_normal(exact.shape[1]).astype(np.float32)
    if x.size:
        found = blas.sgbmv(m, n, below, above, 1, stored, x, trans=trans)[: exact.shape[0]]
        assert close(found, exact @ x, np.abs(exact) @ np.abs(x))


@pytest.mark.oclgrind
@pytest.mark.parametrize("config", [RowConfig(rows=16, lanes=4), RowConfig(rows=32, lanes=1)])
@pytest.mark.parametrize("letter", ["d", "c"])
def test_threads_that_share_rows(device, config, letter):
    """As on GPUs: the three ways in which elements may lie side by side, and bands wider than a block."""
    dtype, generator, stream = DTYPES[letter], np.random.default_rng(6), cuda.default_stream()
    n, k = 70, 33
    dense, stored = banded(generator, (n, n), 0, k, dtype)
    x = numbers(generator, n, dtype)
    for order in (0, 1):
        storage = triangular_band(cuda.to_device(ordered(stored, order)), k, False)
        whole = whole_of(dense, 2)
        for parts, exact in (
            (symmetric(storage, hermitian=True), whole),
            (general(storage, 0), dense),
            (general(storage, 1), dense.T),
        ):
            y = cuda.to_device(np.full_like(x, np.nan))
            multiply(storage, parts, cuda.to_device(x), y, stream, config)
            assert close(y.copy_to_host(), exact.astype(wide(dtype)) @ x, np.abs(exact) @ np.abs(x)), order


@pytest.mark.parametrize("config", [RowConfig(rows=1, lanes=1), None])
@pytest.mark.parametrize("order", [0, 1])
def test_long_rows(device, config, order):
    """Sums of many terms that have one sign, whose digits a single running sum would lose."""
    generator, n, k = np.random.default_rng(9), 2300, 1100
    dense, stored = banded(generator, (n, n), k, k, np.float32)
    x = np.abs(numbers(generator, n, np.float32))
    storage, dense = band(cuda.to_device(np.abs(ordered(stored, order))), n, k, k), np.abs(dense)
    for trans in (0, 1):
        y = cuda.to_device(np.zeros_like(x))
        multiply(storage, general(storage, trans), cuda.to_device(x), y, cuda.default_stream(), config)
        wanted = op(dense, trans).astype(np.float64) @ x
        assert close(y.copy_to_host(), wanted, wanted, 8), trans


@pytest.mark.oclgrind
@pytest.mark.parametrize("letter", ["s", "z"])
def test_blocks_that_solve(device, letter):
    """As on GPUs: several unknowns a step, threads that share them, and a product after each block of the diagonal."""
    dtype, generator = DTYPES[letter], np.random.default_rng(7)
    n, k = 75, 40
    for lower, trans, order in ((0, 0, 0), (1, 0, 1), (0, 1, 1), (1, 2, 0)):
        dense, stored = triangle_of(generator, n, k, lower, dtype)
        b = numbers(generator, n, dtype)
        x = cuda.to_device(b)
        storage = triangular_band(cuda.to_device(ordered(stored, order)), k, bool(lower))
        solve(storage, x, cuda.default_stream(), trans=trans, block=(8, 4), unknowns=32)
        exact, got = op(dense.astype(wide(dtype)), trans), x.copy_to_host()
        assert close(exact @ got, b, np.abs(exact) @ np.abs(got) + np.abs(b)), (lower, trans)


def test_nothing_to_multiply(device):
    """alpha = 0 reads neither matrix nor vector, beta = 0 not y, and an empty matrix leaves y as it is."""
    nan, y = np.full((3, 4), np.nan), np.arange(1.0, 5)
    assert (blas.dgbmv(4, 4, 1, 1, 0, nan, nan[0], beta=2.0, y=y) == 2 * y).all()
    assert (blas.dgbmv(4, 4, 1, 1, 0, nan, nan[0], beta=0.0, y=nan[0]) == 0).all()
    assert (blas.zhbmv(2, 0, nan, nan[0]) == 0).all()
    assert (blas.dgbmv(4, 0, 1, 1, 1, nan[:, :0], y) == 0).all()
    assert (blas.dgbmv(4, 0, 1, 1, 1, nan[:, :0], y, beta=5, y=y) == y).all()  # as in BLAS, which returns at once
    for name in ("dtbmv", "dtbsv"):
        assert (getattr(blas, name)(1, nan[:, :0], y) == y).all()


A, X = np.ones((4, 6)), np.ones(6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: blas.dgbmv(-1, 6, 1, 1, 1, A, X), errors.ShapeError, "m of dgbmv is -1"),
        (lambda: blas.dgbmv(6, -1, 1, 1, 1, A, X), errors.ShapeError, "n of dgbmv is -1"),
        (lambda: blas.dgbmv(6, 5, 1, 1, 1, A, X), errors.ShapeError, "n is 5; a has 6 columns"),
        (lambda: blas.dgbmv(6, 6, -1, 1, 1, A, X), errors.ShapeError, "kl is -1"),
        (lambda: blas.dgbmv(6, 6, 1, -1, 1, A, X), errors.ShapeError, "ku is -1"),
        (lambda: blas.dgbmv(6, 6, 2, 2, 1, A, X), errors.ShapeError, "a has 4 rows; a band .* has 5"),
        (lambda: blas.dgbmv(6, 6, 1, 1, 1, A, X, incx=0), errors.ShapeError, "incx is 0"),
        (lambda: blas.dgbmv(6, 6, 1, 1, 1, A, X, y=X, incy=0), errors.ShapeError, "incy is 0"),
        (lambda: blas.dgbmv(6, 6, 1, 1, 1, A, X[:5]), errors.ShapeError, "x has 5 elements"),
        (lambda: blas.dgbmv(6, 6, 1, 1, 1, A, X, y=X[:5]), errors.ShapeError, "y has 5 elements"),
        (lambda: blas.dgbmv(6, 6, 1, 1, 1, A, X, trans=3), errors.UnknownOptionError, "trans is 3"),
        (lambda: blas.dgbmv(6.5, 6, 1, 1, 1, A, X), errors.ArgumentTypeError, "m is 6.5"),
        (lambda: blas.dsbmv(4, 1, A, X), errors.ShapeError, "a has 4 rows; a band with k = 4 has 5"),
        (lambda: blas.dsbmv(-1, 1, A, X), errors.ShapeError, "k is -1"),
        (lambda: blas.dsbmv(1, 1, A, X, lower=2), errors.UnknownOptionError, "lower is 2"),
        (lambda: blas.dtbmv(4, A, X), errors.ShapeError, "a has 4 rows"),
        (lambda: blas.dtbmv(1, A, X, diag=2), errors.UnknownOptionError, "diag is 2"),
        (lambda: blas.dtbsv(1, A, X, incx=2), errors.ShapeError, "room for 3"),
        (lambda: blas.dtbsv(1, A * 1j, X), errors.DTypeError, "a is complex128"),
        (lambda: blas.dtbsv(1, cuda.to_device(A), X), errors.ArgumentTypeError, "on the device"),
    ],
)
@pytest.mark.one_device
def test_refusals(device, call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.one_device
def test_overlapping_arrays(device):
    d = cuda.to_device(np.arange(16.0).reshape(4, 4))
    with pytest.raises(errors.ArgumentTypeError, match="shares memory"):
        blas.dgbmv(4, 4, 1, 1, 1, d, d[0], beta=0, y=d[1], overwrite_y=1)
    with pytest.raises(errors.ArgumentTypeError, match="shares memory"):
        blas.dtbmv(1, d, d[0], overwrite_x=1)
