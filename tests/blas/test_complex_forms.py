"""Complex products are real ones of operands in another form: the form that is cheaper to make, and always right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import portagpu
from portagpu import cuda
from portagpu.blas import complex_products

EXTENTS = st.sampled_from([1, 1, 2, 3, 17, 40])


def numbers(generator, shape, dtype):
    return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@given(
    m=EXTENTS,
    n=EXTENTS,
    k=EXTENTS,
    batches=st.sampled_from([((), ()), ((3,), (3,)), ((3,), ()), ((), (3,)), ((2, 1), (3,))]),
    turned=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    beta=st.sampled_from([0, 1, 0.5 - 1j]),
)
def test_any_form(device, dtype, m, n, k, batches, turned, beta):
    def stored(shape, other):
        made = numbers(generator, (*shape[:-2], shape[-1], shape[-2]) if other else shape, dtype)
        return made.swapaxes(-1, -2) if other else made

    generator = np.random.default_rng(m * 10_000 + n * 100 + k)
    a, b = stored((*batches[0], m, k), turned[0]), stored((*batches[1], k, n), turned[1])
    c = stored((*np.broadcast_shapes(*batches), m, n), turned[2])
    wide = [x.astype(np.clongdouble) for x in (a, b, c)]
    wanted = (1 - 2j) * (wide[0] @ wide[1]) + beta * wide[2]
    size = abs(1 - 2j) * (abs(wide[0]) @ abs(wide[1])) + abs(beta) * abs(wide[2])
    out = cuda.to_device(c)
    portagpu.matmul(cuda.to_device(a), cuda.to_device(b), out, alpha=1 - 2j, beta=beta)
    assert np.all(abs(out.copy_to_host() - wanted) <= 2 * (k + 8) * np.finfo(dtype).eps * size)


@pytest.mark.parametrize(
    ("a", "b", "expanded"),
    [((300, 200), (200,), (200, 1)), ((200,), (200, 300), (200, 1)), ((300, 200), (200, 4), (200, 4))],
)
def test_of_a_matrix_and_a_vector_the_vector_is_expanded(device, monkeypatch, a, b, expanded):
    shapes = []
    expand = complex_products._expand

    def noted(matrix, alpha, stream):
        shapes.append(matrix.shape)
        return expand(matrix, alpha, stream)

    monkeypatch.setattr(complex_products, "_expand", noted)
    generator = np.random.default_rng(5)
    left, right = numbers(generator, a, np.complex128), numbers(generator, b, np.complex128)
    found = portagpu.matmul(cuda.to_device(left), cuda.to_device(right)).copy_to_host()
    assert shapes == [expanded]
    assert np.allclose(found, left @ right)
