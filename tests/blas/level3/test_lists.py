"""Lists of products, systems and updates: runs of equal neighbours, other sizes between them, out=, errors."""

from __future__ import annotations

import numpy as np
import pytest
from level3_arrays import host, numbers

from portagpu import cuda, errors, linalg

pytestmark = pytest.mark.one_device
SIZES = ((5, 7, 3),) * 4 + ((9, 2, 4), (5, 7, 3), (0, 3, 2), (6, 0, 2)) + ((16, 16, 16),) * 3


def _near(found, wanted):
    return all(np.allclose(host(x), y, rtol=1e-4, atol=1e-4) for x, y in zip(found, wanted, strict=True))


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_lists(device, on_device, dtype):
    generator, move = np.random.default_rng(9), cuda.to_device if on_device else np.array
    a = [numbers(generator, (m, k), dtype) for m, _, k in SIZES]
    b = [numbers(generator, (k, n), dtype) for _, n, k in SIZES]
    c = [numbers(generator, (m, n), dtype) for m, n, _ in SIZES]
    products = [x @ y for x, y in zip(a, b, strict=True)]
    d_a, d_b = ([move(x) for x in given] for given in (a, b))
    assert _near(linalg.gemm_batched(d_a, d_b), products)
    held = [move(x) for x in c]
    found = linalg.gemm_batched(d_a, d_b, alpha=2, beta=3, out=held)
    assert all(x is y for x, y in zip(found, held, strict=True))
    assert _near(found, [2 * x + 3 * y for x, y in zip(products, c, strict=True)])
    vectors = [numbers(generator, x.shape[1], dtype) for x in a]
    wanted = [x @ v for x, v in zip(a, vectors, strict=True)]
    d_v = [move(v) for v in vectors]
    assert _near(linalg.gemv_batched(d_a, d_v), wanted)
    held = [move(np.ones(len(x), dtype)) for x in wanted]
    assert _near(linalg.gemv_batched(d_a, d_v, beta=2, out=held), [x + 2 for x in wanted])
    grams = [np.tril(x @ x.T) for x in a]
    assert _near(linalg.syrk_batched(d_a, lower=True), grams)
    held = [move(np.full(x.shape, 7, dtype)) for x in grams]
    found = linalg.syrk_batched(d_a, lower=True, out=held)
    assert _near(found, [x + 7 * np.triu(np.ones_like(x), 1) for x in grams])
    triangles = [np.tril(numbers(generator, (m, m), dtype)) + 5 * np.eye(m, dtype=dtype) for m, _, _ in SIZES]
    d_t = [move(x) for x in triangles]
    found = linalg.trsm_batched(d_t, [move(x) for x in c], lower=True)
    assert _near([t @ host(x) for t, x in zip(triangles, found, strict=True)], c)
    held = [move(x.T) for x in c]
    linalg.trsm_batched(d_t, held, left=False, lower=True, trans=2, alpha=2, out=held)
    assert _near([host(x) @ t.conj().T for t, x in zip(triangles, held, strict=True)], [2 * x.T for x in c])


@pytest.mark.parametrize("on_device", [False, True])
def test_factors_for_each_result(device, on_device):
    """Neighbours of one size whose factors differ, in each routine."""
    generator, move = np.random.default_rng(11), cuda.to_device if on_device else np.array
    a, b, c = (numbers(generator, (4, 8, 8), np.float32) for _ in range(3))
    alpha, beta = (2, 2, 1, -1), np.array([0, 0, 3, 0])
    first, second = (np.reshape(x, (4, 1, 1)) for x in (alpha, beta))
    start = np.where(second == 0, np.float32("nan"), c)  # nan is not read
    held = [move(x) for x in start]
    linalg.gemm_batched([move(x) for x in a], [move(x) for x in b], alpha=alpha, beta=beta, out=held)
    assert _near(held, first * (a @ b) + second * c)
    held = [move(x[0]) for x in start]
    linalg.gemv_batched(move(a), [move(x[0]) for x in b], alpha=alpha, beta=beta, out=held)
    assert _near(held, (first * (a @ b[:, 0, :, None]) + second * c[:, 0, :, None])[..., 0])
    held = [move(x) for x in start]
    linalg.syrk_batched(move(a), alpha=alpha, beta=beta, out=held)
    assert _near([np.triu(host(x)) for x in held], np.triu(first * (a @ a.swapaxes(1, 2)) + second * c))
    triangles = np.triu(a) + 5 * np.eye(8, dtype=np.float32)
    found = linalg.trsm_batched(list(move(triangles)), list(move(b)), alpha=alpha)
    assert _near(triangles @ np.stack([host(x) for x in found]), first * b)


def test_zeros_on_diagonals(device):
    """The place in the list is that of the error, whichever run it was in; info has all of them."""
    a = [np.eye(2), np.eye(3), np.diag([1.0, 0.0, 2.0]), np.diag([0.0, 1.0]), np.eye(2)]
    b = [np.ones((len(x), 1)) for x in a]
    with pytest.raises(errors.SingularMatrixError, match=r"matrix \(2,\) of the batch .* pivot 2") as caught:
        linalg.trsm_batched(a, b)
    assert (caught.value.matrix, caught.value.order) == ((2,), 2)
    assert len(linalg.trsm_batched(a, b, unit_diagonal=True)) == 5
    info = np.full(5, -1, np.int32)
    linalg.trsm_batched(a, b, info=info)
    assert info.tolist() == [0, 0, 2, 1, 0]
    there = cuda.to_device(np.full(5, -1, np.int32))
    linalg.trsm_batched([cuda.to_device(x) for x in a], [cuda.to_device(x) for x in b], info=there)
    assert there.copy_to_host().tolist() == [0, 0, 2, 1, 0]


def test_systems_from_the_right(device):
    """`solve_triangular` with the matrix on the right: one matrix for all, batches, transposed, scaled."""
    generator = np.random.default_rng(12)
    a = np.tril(numbers(generator, (3, 5, 5), np.float32)) + 5 * np.eye(5, dtype=np.float32)
    b = numbers(generator, (3, 4, 5), np.float32)
    for move in (np.asarray, cuda.to_device):
        for one, many in ((a[0], b), (a[0], b[0]), (a, b), (a, b[0]), (a[0], b[0, 0])):
            found = host(linalg.solve_triangular(move(one), move(many), left=False, lower=True, alpha=3))
            assert np.allclose(found @ one, 3 * np.broadcast_to(many, found.shape), atol=1e-4)
        found = host(linalg.solve_triangular(move(a), move(b), left=False, lower=True, trans="T"))
        assert np.allclose(found @ a.swapaxes(1, 2), b, atol=1e-4)
        held = move(b.copy())
        assert linalg.solve_triangular(move(a), held, left=False, lower=True, out=held) is held
        assert np.allclose(host(held) @ a, b, atol=1e-4)


def test_parts_of_one_memory(device):
    """Views at even steps are one batch; results of a call are again."""
    generator = np.random.default_rng(10)
    a, b = (numbers(generator, (6, 8, 8), np.float32) for _ in range(2))
    d_a, d_b = cuda.to_device(a), cuda.to_device(b)
    found = linalg.gemm_batched(list(d_a), list(d_b))
    assert len({x.allocation_key for x in found}) == 1 and _near(found, a @ b)
    assert _near(linalg.gemm_batched(found, [d_b[0]] * 6), a @ b @ b[0])
    out = cuda.to_device(np.zeros((6, 8, 8), np.float32))
    linalg.gemm_batched(d_a, d_b, out=[out[5 - i] for i in range(6)])
    assert _near(out, (a @ b)[::-1])
    assert linalg.gemm_batched([], []) == []


def test_refusals(device):
    a = [np.ones((2, 2))] * 3
    for call, error, words in (
        (lambda: linalg.gemm_batched(a, a[:2]), errors.ShapeError, "one length; a has 3 arrays, b 2"),
        (lambda: linalg.syrk_batched(a, out=a[:2]), errors.ShapeError, "one length; a has 3 arrays, out 2"),
        (lambda: linalg.gemm_batched(3, a), errors.ArgumentTypeError, "a is a int"),
        (lambda: linalg.gemm_batched(a, [np.ones(2)] * 3), errors.ShapeError, r"b\[0\] has shape"),
        (lambda: linalg.gemv_batched(a, a), errors.ShapeError, r"x\[0\] has shape"),
        (lambda: linalg.gemm_batched(a, [*a[:2], np.ones((3, 2))]), errors.ShapeError, r"b\[2\] has shape \(3, 2\)"),
        (lambda: linalg.gemv_batched(a, [np.ones(2)] * 2 + [np.ones(3)]), errors.ShapeError, r"x\[2\] has shape"),
        (lambda: linalg.trsm_batched(a, [np.ones((3, 2))] * 3), errors.ShapeError, r"a\[0\] has shape .* b\[0\]"),
        (
            lambda: linalg.gemm_batched(a, [*a[:2], cuda.to_device(a[0])]),
            errors.ArgumentTypeError,
            r"a\[2\] is",
        ),
        (lambda: linalg.gemv_batched(a, [np.array(["x", "y"])] * 3), errors.DTypeError, r"x\[0\] is <U1"),
        (lambda: linalg.syrk_batched([*a, a[0].astype(object)]), errors.DTypeError, r"a\[3\] is object"),
        (lambda: linalg.gemm_batched(a, a, alpha=[1, 2]), errors.ShapeError, r"alpha has shape \(2,\), there are 3"),
        (lambda: linalg.gemm_batched(a, a, beta=[0, 0, 1]), errors.ArgumentTypeError, "no out"),
        (lambda: linalg.trsm_batched(a, a, info=np.zeros(3)), errors.ArgumentTypeError, "info is not an int32"),
        (lambda: linalg.trsm_batched(a, a, info=np.zeros(2, np.int32)), errors.ShapeError, r"info has shape \(2,\)"),
        (lambda: linalg.gemm_batched(a, a, beta=1), errors.ArgumentTypeError, "no out"),
        (lambda: linalg.gemm_batched(a, ["x"] * 3), errors.ArgumentTypeError, r"b\[0\]"),
        (lambda: linalg.syrk_batched(a, out=[np.ones(2)] * 3), errors.ShapeError, r"out\[0\] has shape"),
    ):
        with pytest.raises(error, match=words):
            call()
