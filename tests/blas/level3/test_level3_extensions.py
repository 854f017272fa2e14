"""gemmt, omatcopy, geam and dgmm, which SciPy does not have: all orders, conjugates, what is not read."""

from __future__ import annotations

import numpy as np
import pytest
from level3_arrays import DTYPES, FACTORS, LETTERS, close, host, numbers, triangle_of, wide

import portagpu.blas as blas
from portagpu import cuda, errors
from portagpu.blas.level3 import combine
from portagpu.blas.level3.tiles import Threads

pytestmark = pytest.mark.each_value
SHAPES = ((0, 3), (1, 1), (1, 40), (33, 7), (64, 65))
NAN = float("nan")


def _op(matrix, trans):
    turned = matrix.T if trans in (1, 2) else matrix
    return turned.conj() if trans >= 2 else turned


@pytest.mark.oclgrind
@pytest.mark.one_device
@pytest.mark.parametrize("letter", LETTERS)
def test_copies_and_sums(device, letter):
    dtype, (alpha, beta) = DTYPES[letter], FACTORS[letter]
    generator = np.random.default_rng(5)
    copy, add, scale = (getattr(blas, letter + name) for name in ("omatcopy", "geam", "dgmm"))
    for turn in range(16):
        m, n = SHAPES[turn % len(SHAPES)]
        trans_a, trans_b = turn % 4, turn // 4
        move = cuda.to_device if (trans_a + trans_b) % 2 else np.asarray
        a = np.asarray(numbers(generator, (n, m) if trans_a in (1, 2) else (m, n), dtype), order="CF"[turn // 2 % 2])
        b = np.asarray(numbers(generator, (n, m) if trans_b in (1, 2) else (m, n), dtype), order="CF"[turn // 3 % 2])
        first, second = (_op(x.astype(wide(dtype)), t) for x, t in ((a, trans_a), (b, trans_b)))
        found = copy(alpha, move(a), trans_a)
        assert host(found).flags.f_contiguous and close(host(found), alpha * first, abs(alpha) * np.abs(first), 4)
        found = host(add(alpha, move(a), beta, move(b), trans_a, trans_b))
        assert close(found, alpha * first + beta * second, abs(alpha) * np.abs(first) + abs(beta) * np.abs(second), 4)
        unread = move(np.full(a.shape, NAN, dtype))
        assert close(host(add(0, unread, beta, move(b), trans_a, trans_b)), beta * second, np.abs(beta * second), 4)
        assert not host(copy(0, unread)).any()
        for side, count in ((0, a.shape[0]), (1, a.shape[1])):
            x = numbers(generator, 2 * count, dtype)
            wanted = a * x[::2] if side else a * x[::2, None]
            assert close(host(scale(move(a), move(x)[::2], side)), wanted, np.abs(wanted), 4)


@pytest.mark.oclgrind
@pytest.mark.one_device
@pytest.mark.parametrize("threads", [Threads(32, 4), Threads(1, 1)])
def test_both_terms_of_a_sum_have_tiles_of_their_own(device, monkeypatch, threads):
    """With one thread or many, whichever the device would have: terms that are alike in all but their elements."""
    monkeypatch.setattr(combine, "threads_for", lambda caps: threads)
    generator = np.random.default_rng(7)
    a, b = generator.standard_normal((2, 33, 40))
    assert np.allclose(blas.dgeam(1.5, a, -0.5, b), 1.5 * a - 0.5 * b)
    assert np.allclose(blas.dgeam(1.5, a.T, -0.5, b.T, 1, 1), 1.5 * a - 0.5 * b)


@pytest.mark.one_device
@pytest.mark.parametrize("letter", LETTERS)
def test_triangles_of_any_products(device, letter):
    dtype, (alpha, beta) = DTYPES[letter], FACTORS[letter]
    generator = np.random.default_rng(6)
    function = getattr(blas, letter + "gemmt")
    for turn, (n, k) in enumerate([(0, 2), (1, 1), (3, 0), (40, 17), (257, 33)]):
        lower, trans_a, trans_b = turn % 2, turn % 3, (turn + 1) % 3
        move = cuda.to_device if (turn + "sdcz".index(letter)) % 2 else np.asarray
        a = numbers(generator, (k, n) if trans_a else (n, k), dtype)
        b = numbers(generator, (n, k) if trans_b else (k, n), dtype)
        left, right = (_op(x.astype(wide(dtype)), t) for x, t in ((a, trans_a), (b, trans_b)))
        there = triangle_of(n, lower)
        c = np.where(there, numbers(generator, (n, n), dtype), NAN)
        options = {"trans_a": trans_a, "trans_b": trans_b, "lower": lower}
        wanted, size = alpha * (left @ right), abs(alpha) * (np.abs(left) @ np.abs(right))
        found = host(function(alpha, move(a), move(b), **options))
        assert close(found[there], wanted[there], size[there]) and not found[~there].any()
        found = host(function(alpha, move(a), move(b), beta, move(c), **options))
        assert close(found[there], (wanted + beta * c)[there], (size + abs(beta) * np.abs(c))[there])
        assert np.isnan(found[~there]).all()
        found = host(function(0, move(a), move(b), 2, move(c), **options))
        assert np.array_equal(found, 2 * c, equal_nan=True)


@pytest.mark.one_device
def test_refusals(device):
    a = np.ones((3, 2))
    for call, error, words in (
        (lambda: blas.dgeam(1, a, 1, a, 1), errors.ShapeError, "op"),
        (lambda: blas.domatcopy(1, a, 4), errors.UnknownOptionError, "trans is 4"),
        (lambda: blas.ddgmm(a, np.ones(2)), errors.ShapeError, "x has 2 elements"),
        (lambda: blas.dgemmt(1, a, a), errors.ShapeError, "takes"),
        (lambda: blas.dgeam(1, a, 1, cuda.to_device(a)), errors.ArgumentTypeError, "on the device"),
    ):
        with pytest.raises(error, match=words):
            call()
