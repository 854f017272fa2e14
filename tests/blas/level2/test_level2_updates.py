"""ger, syr, her, syr2 and her2 against higher precision: what they write, and what they leave."""

from __future__ import annotations

import numpy as np
import pytest
from level2_arrays import DTYPES, FACTORS, INCREMENTS, LETTERS, close, host, numbers, sizes_for, spread, triangle, wide
from option_pairs import options_of

import portagpu.blas as blas
from portagpu import cuda

pytestmark = pytest.mark.each_value


@pytest.mark.oclgrind
@pytest.mark.parametrize("letter", LETTERS)
def test_ger(device, letter):
    dtype, alpha = DTYPES[letter], FACTORS[letter][0]
    generator, sizes = np.random.default_rng(8), sizes_for(device)
    for name in ("ger",) if letter in "sd" else ("geru", "gerc"):
        function = getattr(blas, letter + name)
        for turn in range(8):
            m, n = sizes[turn], sizes[(turn * 3 + 1) % 8]
            on_device = turn // 2 % 2
            move = cuda.to_device if on_device else np.asarray
            x, y = numbers(generator, m, dtype), numbers(generator, n, dtype)
            around = np.full((m + 2, n + 3), np.nan, dtype, order="CF"[turn % 2])
            a = around[1:-1, 2:-1]
            a[...] = numbers(generator, (m, n), dtype)
            exact = np.outer(x.astype(wide(dtype)), (y[::-1].conj() if name == "gerc" else y[::-1]))
            wanted, bound = alpha * exact + a, abs(alpha) * np.abs(exact) + np.abs(a)
            held = move(around)
            target = held[1:-1, 2:-1]
            found = function(alpha, move(x), move(y), incy=-1, a=target, overwrite_a=1)
            assert close(host(found), wanted, bound)
            assert np.isnan(host(held)).sum() == around.size - m * n
            assert (found is target) or not on_device
            assert close(host(function(alpha, move(x), move(y), 1, -1)), alpha * exact, abs(alpha) * np.abs(exact))


@pytest.mark.oclgrind
@pytest.mark.parametrize("letter", LETTERS)
def test_updates_of_a_triangle(device, letter):
    dtype, alpha = DTYPES[letter], FACTORS[letter][0]
    generator, sizes = np.random.default_rng(9), sizes_for(device)
    for turn, options in enumerate(options_of(increment=INCREMENTS, lower=(0, 1), order="CF", on_device=(False, True))):
        n, (increment, lower, order, on_device) = sizes[turn % 8], options.values()
        move = cuda.to_device if on_device else np.asarray
        exact, planted = triangle(numbers(generator, (n, n), dtype), lower)
        x, y = (numbers(generator, n, dtype) for _ in range(2))
        gx, gy = spread(x, increment, 1), spread(y, -increment, 1)
        wx, wy = x.astype(wide(dtype)), y.astype(wide(dtype))
        for name in ("syr", "syr2") if letter in "sd" else ("syr", "her", "her2"):
            function, hermitian = getattr(blas, letter + name), name.startswith("h")
            factor = alpha.real if name == "her" else alpha
            right = (wx.conj(), wy.conj()) if hermitian else (wx, wy)
            if name.endswith("2"):
                other = np.conj(factor) if hermitian else factor
                added = factor * np.outer(wx, right[1]) + other * np.outer(wy, right[0])
                size = 2 * abs(factor) * np.maximum(np.abs(np.outer(wx, wy)), np.abs(np.outer(wy, wx)))
            else:
                added = factor * np.outer(wx, right[0])
                size = np.abs(added)
            given, old = planted.copy(), exact.copy()
            if hermitian:
                np.einsum("ii->i", given).imag = np.nan  # of the diagonal, not read
                np.fill_diagonal(old, np.diag(exact).real)
            vectors = (move(gx), move(gy))[: 2 if name.endswith("2") else 1]
            options = {"incx": increment, "offx": 1, "n": n, "lower": lower}
            options |= {"incy": -increment, "offy": 1} if name.endswith("2") else {}
            d = move(np.asarray(given, order=order))
            found = host(function(alpha, *vectors, a=d, **options))
            there = np.tril(np.ones((n, n), bool)) if lower else np.triu(np.ones((n, n), bool))
            assert np.isnan(found[~there]).all()
            assert close(found[there], (old + added)[there], (np.abs(old) + size)[there]), (name, n, options)
            assert not hermitian or (np.diag(found).imag == 0).all()
            fresh = host(function(alpha, *vectors, **options))
            assert (fresh[~there] == 0).all() and close(fresh[there], added[there], size[there])


def test_nothing_to_add(device):
    nan, a = np.full(3, np.nan), np.arange(9.0).reshape(3, 3)
    assert (blas.dger(0, nan, nan, a=a) == a).all()
    assert (blas.dsyr(0, nan, a=a) == a).all() and (blas.dsyr2(0, nan, nan) == 0).all()
    assert (blas.zher(0, nan + 0j, a=a + 1j) == a + 1j).all()
    assert blas.dger(1, nan[:0], nan).shape == (0, 3)
    assert blas.dsyr(1, nan, n=0).shape == (0, 0)
