"""symm, hemm, syrk, herk, syr2k, her2k, trmm and trsm against higher precision: what they read, write and leave."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg.blas
from level3_arrays import DTYPES, FACTORS, LETTERS, SIZES, Held, close, host, numbers, op, triangle_of, wide
from option_pairs import in_short

import portagpu.blas as blas
from portagpu import cuda

pytestmark = pytest.mark.each_value
NAN = float("nan")
SYMMETRIC = [letter + family for family, letters in (("symm", "sdcz"), ("hemm", "cz")) for letter in letters]
UPDATES = [
    letter + family
    for family, letters in (("syrk", "sdcz"), ("herk", "cz"), ("syr2k", "sdcz"), ("her2k", "cz"))
    for letter in letters
]


@pytest.fixture
def sizes(device, request):
    """Products of few rows have kernels of their own for each number; a simulator takes minutes for large matrices, and
    33 is more than a tile.
    """
    if device.platform == "Oclgrind":
        return (0, 1, 3, 17, 33)
    every = request.config.getoption("--thorough") or request.config.getoption("--all-combinations")
    return SIZES if every else (0, 1, 3, 17, 33, 64, 129, 257)


def _place(matrix, order, on_device):
    return cuda.to_device(np.asarray(matrix, order=order)) if on_device else np.asarray(matrix, order=order)


@pytest.mark.one_device
@pytest.mark.oclgrind
@pytest.mark.parametrize("name", in_short(SYMMETRIC, "ssymm", "zhemm"))
def test_symmetric_matrices(device, name, sizes):
    hermitian, letter = name.endswith("hemm"), name[0]
    dtype, (alpha, beta) = DTYPES[letter], FACTORS[letter]
    function, generator = getattr(blas, name), np.random.default_rng(1)
    for turn in range(len(sizes)):
        on_device = (turn // 2 + SYMMETRIC.index(name)) % 2
        n, other = sizes[turn], sizes[(turn * 5 + 3) % len(sizes)]
        side, lower = turn % 2, turn // 2 % 2
        a, there = numbers(generator, (n, n), dtype), triangle_of(n, lower)
        exact = np.where(there, a, a.conj().T if hermitian else a.T).astype(wide(dtype))
        planted = np.where(there, a, NAN)
        if hermitian:
            np.fill_diagonal(exact, np.diag(a).real)
            np.einsum("ii->i", planted).imag = NAN
        shape = (other, n) if side else (n, other)
        b, c = numbers(generator, shape, dtype), numbers(generator, shape, dtype)
        product = b @ exact if side else exact @ b
        size = abs(alpha) * (np.abs(b) @ np.abs(exact) if side else np.abs(exact) @ np.abs(b))
        given = [_place(x, order, on_device) for x, order in ((planted, "CF"[turn // 4 % 2]), (b, "CF"[turn % 2]))]
        options = {"side": side, "lower": lower}
        found = function(alpha, *given, **options)
        assert found.is_f_contiguous() if on_device else found.flags.f_contiguous
        assert close(host(found), alpha * product, size)
        held = Held(c, "FC"[turn // 2 % 2], on_device)
        found = function(alpha, *given, beta, held.array, **options, overwrite_c=on_device)
        assert close(host(found), alpha * product + beta * c, size + abs(beta) * np.abs(c))
        assert np.array_equal(held.found(), host(found) if on_device else c)


@pytest.mark.one_device
@pytest.mark.oclgrind
@pytest.mark.parametrize("name", in_short(UPDATES, "ssyrk", "zherk", "ssyr2k", "zher2k"))
def test_triangles_of_products(device, name, sizes):
    letter, family = name[0], name[1:]
    hermitian, twice = family.startswith("he"), family.endswith("2k")
    dtype, (alpha, beta) = DTYPES[letter], FACTORS[letter]
    beta = beta.real if hermitian else beta
    alpha = alpha.real if family == "herk" else alpha
    function, generator = getattr(blas, name), np.random.default_rng(2)
    for turn in range(len(sizes)):
        on_device = (turn // 2 + UPDATES.index(name)) % 2
        n, k, lower = sizes[turn], sizes[(turn * 3 + 5) % len(sizes)], turn // 2 % 2
        trans = (0, 2 if hermitian else 1)[turn % 2]
        there = triangle_of(n, lower)
        a, b = (numbers(generator, (k, n) if trans else (n, k), dtype) for _ in range(2))
        x, y = (op(z.astype(wide(dtype)), trans) for z in (a, b))
        adjoint = np.conj if hermitian else np.asarray
        if twice:
            exact = alpha * (x @ adjoint(y).T) + adjoint(alpha) * (y @ adjoint(x).T)
            size = abs(alpha) * (np.abs(x) @ np.abs(y).T + np.abs(y) @ np.abs(x).T)
        else:
            exact, size = alpha * (x @ adjoint(x).T), abs(alpha) * (np.abs(x) @ np.abs(x).T)
        given = [_place(z, "CF"[turn // 4 % 2], on_device) for z in ((a, b) if twice else (a,))]
        options = {"trans": trans, "lower": lower}
        found = host(function(alpha, *given, **options))
        assert close(found[there], exact[there], size[there]) and (found[~there] == 0).all()
        assert found.shape == (n, n) and not (hermitian and np.diag(found).imag.any())
        c = np.where(there, numbers(generator, (n, n), dtype), NAN)
        old = np.where(there, c, 0).astype(wide(dtype))
        if hermitian:
            np.fill_diagonal(old, np.diag(old).real)
            np.einsum("ii->i", c).imag = NAN
        held = Held(c, "FC"[turn // 2 % 2], on_device)
        found = host(function(alpha, *given, beta, held.array, **options, overwrite_c=on_device))
        assert close(found[there], (exact + beta * old)[there], (size + abs(beta) * np.abs(old))[there])
        assert np.isnan(found[~there]).all() and not (hermitian and np.diag(found).imag.any())
        assert np.array_equal(held.found(), found if on_device else c, equal_nan=True)
        unread = _place(np.full((n, n), NAN, dtype), "F", on_device)
        found = host(function(alpha, *given, 0, unread, **options))
        assert close(found[there], exact[there], size[there]) and np.isnan(found[~there]).all()


@pytest.mark.each_value(thorough=True)
@pytest.mark.oclgrind
@pytest.mark.one_device
@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("family", ["trmm", "trsm"])
def test_triangular_matrices(device, letter, family, sizes):
    dtype, alpha = DTYPES[letter], FACTORS[letter][0]
    function, generator = getattr(blas, letter + family), np.random.default_rng(3)
    combinations = 2 * 2 * 3 * 2  # of side, lower, trans_a, diag
    for turn in range(combinations):
        side, lower, trans, diag = turn % 2, turn // 2 % 2, turn // 4 % 3, turn // 12
        n, other = sizes[turn % len(sizes)], sizes[(turn * 5 + 2) % len(sizes)]
        on_device, there = (turn + "sdcz".index(letter)) // 2 % 2, triangle_of(n, lower)
        a = numbers(generator, (n, n), dtype)
        if family == "trsm":  # well conditioned, also with ones on the diagonal
            a = (a / max(1, n)).astype(dtype)
            np.fill_diagonal(a, 1 + np.abs(np.diag(a)))
        exact = np.where(there, a, 0).astype(wide(dtype))
        planted = np.where(there, a, NAN)
        if diag:
            np.fill_diagonal(exact, 1)
            np.fill_diagonal(planted, NAN)
        exact = op(exact, trans)
        b = numbers(generator, (other, n) if side else (n, other), dtype)
        given = _place(planted, "CF"[turn // 3 % 2], on_device)
        held = Held(b, "FC"[turn // 2 % 2], on_device)
        options = {"side": side, "lower": lower, "trans_a": trans, "diag": diag}
        for overwrite in (0, 1):
            found = host(function(alpha, given, held.array, **options, overwrite_b=overwrite))
            assert found.shape == b.shape and found.dtype == b.dtype
            one, two = (b, found) if family == "trmm" else (found, b)
            x = one.astype(wide(dtype))
            product = x @ exact if side else exact @ x
            size = np.abs(x) @ np.abs(exact) if side else np.abs(exact) @ np.abs(x)
            if family == "trmm":
                assert close(two, alpha * product, abs(alpha) * size), options
            else:  # the residual
                assert close(two, product / wide(dtype)(alpha), size / abs(alpha)), (options, b.shape)
            # SciPy, too, overwrites views that are contiguous
            written = overwrite and (on_device or np.shares_memory(found, held.array))
            assert np.array_equal(held.found(), found if written else b)


@pytest.mark.one_device
@pytest.mark.parametrize("letter", ["d", pytest.param("s", marks=pytest.mark.thorough)])
def test_large_triangles_times_matrices(device, letter):
    """Blocks on the diagonal, what lies beside them, and a strip that is no whole block."""
    dtype, generator = DTYPES[letter], np.random.default_rng(6)
    n, m = 1100, 70
    function = getattr(blas, letter + "trmm")
    for side, lower, trans in ((0, 0, 0), (1, 1, 0), (0, 1, 1)):
        a = numbers(generator, (n, n), dtype)
        there = triangle_of(n, lower)
        exact = op(np.where(there, a, 0).astype(wide(dtype)), trans)
        b = numbers(generator, (m, n) if side else (n, m), dtype)
        given, x = _place(np.where(there, a, NAN), "F", 1), b.astype(wide(dtype))
        found = host(function(1.5, given, _place(b, "F", 1), side=side, lower=lower, trans_a=trans))
        product, size = (x @ exact, abs(x) @ abs(exact)) if side else (exact @ x, abs(exact) @ abs(x))
        assert close(found, 1.5 * product, 1.5 * size)


@pytest.mark.parametrize("name", ["strmm", "strsm"])
def test_a_vector_beside_a_triangle_stays_one(device, name):
    a, b = np.tri(4, dtype=np.float32).T + np.eye(4, dtype=np.float32), np.arange(4, dtype=np.float32)
    expected = getattr(scipy.linalg.blas, name)(2.0, a, b)
    assert expected.shape == (4,)
    for given in (b, b.tolist(), b.astype(np.int8)):
        assert np.array_equal(getattr(blas, name)(2.0, a, given), expected)
    there = cuda.to_device(b)
    assert np.array_equal(getattr(blas, name)(2.0, cuda.to_device(a), there).copy_to_host(), expected)
    found = getattr(blas, name)(2.0, a, b, overwrite_b=1)
    assert np.array_equal(found, expected) and np.shares_memory(found, b)


@pytest.mark.parametrize("on_device", [False, True])
def test_factors_of_zero(device, on_device):
    """What is multiplied by zero is not read, as in Netlib's BLAS; a sum without terms leaves c, scaled."""
    nan, c = np.full((5, 5), NAN), np.arange(25.0).reshape(5, 5)
    upper = triangle_of(5, False)
    d_nan, d_c, empty = (_place(x, "F", on_device) for x in (nan, c, nan[:, :0]))
    assert np.array_equal(host(blas.dsymm(0, d_nan, d_nan, 2, d_c)), 2 * c)
    assert not host(blas.dsymm(0, d_nan, d_nan)).any()
    assert not host(blas.dtrmm(0, d_nan, d_nan)).any() and not host(blas.dtrsm(0, d_nan, d_nan)).any()
    for call in (
        lambda beta: blas.dsyrk(0, d_nan, beta, d_c),
        lambda beta: blas.dsyr2k(0, d_nan, d_nan, beta, d_c),
        lambda beta: blas.dsyrk(1, empty, beta, d_c),
        lambda beta: blas.dsyr2k(1, empty, empty, beta, d_c),
    ):
        for beta in (0, 1, 2):
            assert np.array_equal(host(call(beta)), np.where(upper, beta * c, c))
    assert not host(blas.zherk(1, _place(np.zeros((5, 0), complex), "F", on_device))).any()
    assert np.array_equal(blas.zherk(2 + 5j, np.eye(5)), 2 * np.eye(5))  # SciPy takes the real part
    z = c + 1j
    assert np.array_equal(blas.zherk(0, z, 1, z), z)  # returns at once: the diagonal stays as it is
    assert np.array_equal(blas.zherk(0, z, 2, z), np.where(upper, 2 * z, z) - 2j * np.eye(5))


def test_the_same_bits_each_time(device):
    generator = np.random.default_rng(4)
    a, b = (cuda.to_device(numbers(generator, (150, 150), np.float32)) for _ in range(2))
    for call in (
        lambda: blas.ssymm(1, a, b),
        lambda: blas.ssyrk(1, a),
        lambda: blas.ssyr2k(1, a, b),
        lambda: blas.strmm(1, a, b),
        lambda: blas.strsm(1, a, b, diag=1),
    ):
        first = call().copy_to_host()
        assert all(np.array_equal(first, call().copy_to_host(), equal_nan=True) for _ in range(3))
