"""Arrays that are put off when calls and graphs are recorded: they are computed before, or belong to the graph."""

from __future__ import annotations

import numpy as np

from portagpu import cuda


def test_operands_that_are_put_off_are_no_part_of_a_product_that_is_repeated(device):
    rng = np.random.default_rng(0)
    weights, x = rng.random((8, 2)), rng.random((8, 3))
    a, b = cuda.to_device(weights), cuda.to_device(x)
    for _ in range(3):  # the second time that a product is asked for, it is recorded
        for k in range(2):
            scaled = a[:, k] * b.T
            product = scaled @ b
            np.testing.assert_allclose(product.copy_to_host(), (weights[:, k] * x.T) @ x, rtol=1e-12)
            np.testing.assert_array_equal(scaled.copy_to_host(), weights[:, k] * x.T)


def test_what_is_put_off_in_a_graph_is_a_part_of_it(device):
    x = cuda.to_device(np.arange(5.0))
    before = x + 1
    out = cuda.to_device(np.zeros(5))
    with cuda.graph() as graph:
        doubled = x * 2
        out[...] = doubled + 1
        rest = x * 3
    assert len(graph) >= 2
    np.testing.assert_array_equal(before.copy_to_host(), np.arange(5.0) + 1)
    x.copy_to_device(np.arange(5.0) + 10)
    graph.launch()
    np.testing.assert_array_equal(out.copy_to_host(), 2 * np.arange(5.0) + 21)
    np.testing.assert_array_equal(rest.copy_to_host(), 3 * np.arange(5.0) + 30)


def test_reductions_of_numbers_alone(device):
    assert not np.all(np.equal(np.ones_like(cuda.to_device(np.zeros((3, 4)))), 0)).item()
    assert np.sum(np.full_like(cuda.to_device(np.zeros(7)), 2.0)).item() == 14.0
