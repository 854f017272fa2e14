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
    found = linalg.trsm_batched([move(x) for x in triangles], [move(x) for x in c], lower=True)
    assert _near([t @ host(x) for t, x in zip(triangles, found, strict=True)], c)


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
        (lambda: linalg.gemm_batched(a, a[:2]), errors.ShapeError, "one length"),
        (lambda: linalg.gemm_batched(3, a), errors.ArgumentTypeError, "a is a int"),
        (lambda: linalg.gemm_batched(a, [np.ones(2)] * 3), errors.ShapeError, r"b\[0\] has shape"),
        (lambda: linalg.gemm_batched(a, [np.ones((3, 2))] * 3), errors.ShapeError, "shapes"),
        (lambda: linalg.gemm_batched(a, a, beta=1), errors.ArgumentTypeError, "no out"),
        (lambda: linalg.gemm_batched(a, ["x"] * 3), errors.ArgumentTypeError, r"b\[0\]"),
        (lambda: linalg.syrk_batched(a, out=[np.ones(2)] * 3), errors.ShapeError, "out has shape"),
    ):
        with pytest.raises(error, match=words):
            call()
