"""Complex products are real ones of operands in another form: the form that is cheaper to make, and always right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import portagpu
from portagpu import cuda
from portagpu.blas.gemm import complex_products

pytestmark = pytest.mark.one_device

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
    alpha=st.sampled_from([1, 2.5, 1 - 2j]),
    beta=st.sampled_from([0, 1, 0.5 - 1j]),
)
def test_any_form(device, dtype, m, n, k, batches, turned, alpha, beta):
    def stored(shape, other):
        made = numbers(generator, (*shape[:-2], shape[-1], shape[-2]) if other else shape, dtype)
        return made.swapaxes(-1, -2) if other else made

    generator = np.random.default_rng(m * 10_000 + n * 100 + k)
    a, b = stored((*batches[0], m, k), turned[0]), stored((*batches[1], k, n), turned[1])
    c = stored((*np.broadcast_shapes(*batches), m, n), turned[2])
    wide = [x.astype(np.clongdouble) for x in (a, b, c)]
    wanted = alpha * (wide[0] @ wide[1]) + beta * wide[2]
    size = abs(alpha) * (abs(wide[0]) @ abs(wide[1])) + abs(beta) * abs(wide[2])
    out = cuda.to_device(c)
    portagpu.matmul(cuda.to_device(a), cuda.to_device(b), out, alpha=alpha, beta=beta)
    assert np.all(abs(out.copy_to_host() - wanted) <= 2 * (k + 8) * np.finfo(dtype).eps * size)


@pytest.mark.parametrize(
    ("a", "b", "a_order", "b_order", "made"),
    [
        ((300, 200), (200,), "C", "C", ("expand_complex", (200, 1))),
        ((300, 200), (200,), "F", "C", ("separate_complex", (1, 200))),
        ((200,), (200, 300), "C", "C", ("separate_complex", (1, 200))),
        ((200,), (200, 300), "C", "F", ("expand_complex", (200, 1))),
        ((300, 200), (200, 4), "C", "C", ("expand_complex", (200, 4))),
        ((300, 200), (200, 4), "F", "F", ("separate_complex", (4, 200))),
    ],
)
def test_of_a_matrix_and_a_vector_the_vector_is_copied(device, monkeypatch, a, b, a_order, b_order, made):
    copied = []
    make = complex_products._made

    def noted(matrix, kernel, shape_of, stream):
        copied.append((kernel.__name__, matrix.shape))
        return make(matrix, kernel, shape_of, stream)

    def refuse(*args):
        raise AssertionError("an operand was copied")

    monkeypatch.setattr(complex_products, "_made", noted)
    monkeypatch.setattr(complex_products, "new_aligned_rows", refuse)
    generator = np.random.default_rng(5)
    left, right = (np.asarray(numbers(generator, s, np.complex128), order=o) for s, o in ((a, a_order), (b, b_order)))
    found = portagpu.matmul(cuda.to_device(left), cuda.to_device(right)).copy_to_host()
    assert copied == [made]
    assert np.allclose(found, left @ right)


@pytest.mark.parametrize("shape", [(4, 4, 4), (60, 4, 2), (2, 4, 60)])
@pytest.mark.parametrize("beta", [0, 1, 2, 1j])
def test_alpha_scales_sums_not_operands(device, shape, beta):
    """Else it overflows, or vanishes, with an operand, where the product does not."""
    m, k, n = shape
    a, b = np.full((m, k), 1e-20, "c8"), np.full((k, n), 1e20, "c8")
    c = np.full((m, n), 1 + 1j, "c8")
    for left, right in ((a, b), (np.full((m, k), 1e20, "c8"), np.full((k, n), 1e-20, "c8"))):
        for alpha in (1e25j, 1e-25j):
            out = cuda.to_device(c)
            portagpu.matmul(cuda.to_device(left), cuda.to_device(right), out, alpha=alpha, beta=beta)
            assert np.allclose(out.copy_to_host(), alpha * 4 + beta * c, rtol=1e-5, atol=0)
    largest = np.full((k, n), 3e38, "c8")
    assert not portagpu.matmul(np.zeros((m, k), "c8"), largest, alpha=2j).any()


@pytest.mark.parametrize("alpha", [1, 2, 1j])
def test_what_is_not_finite_spreads_as_in_the_definition(device, alpha):
    """For each part by itself, whatever the form: no zeros take part that the definition does not have."""
    generator = np.random.default_rng(3)
    for m, n in ((1, 9), (9, 1), (5, 6)):
        a, b = numbers(generator, (m, 7), "c8"), numbers(generator, (7, n), "c8")
        a[0, 2], b[3, -1] = np.inf, complex(1, np.nan)
        with np.errstate(invalid="ignore"):
            re, im = a.real @ b.real - a.imag @ b.imag, a.real @ b.imag + a.imag @ b.real
            wanted = (alpha * re, alpha * im) if alpha != 1j else (0 * re - im, 0 * im + re)
        for orders in ("CC", "CF", "FC", "FF"):
            left, right = (np.asarray(x, order=o) for x, o in zip((a, b), orders, strict=True))
            found = portagpu.matmul(left, right, alpha=alpha)
            for part, expected in zip((found.real, found.imag), wanted, strict=True):
                assert np.array_equal(np.isnan(part), np.isnan(expected))
                assert np.allclose(part, expected, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("steps", [(1, 1), (2, -1), (-3, 2)])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_two_vectors_are_read_where_they_lie(device, monkeypatch, steps, dtype):
    def refuse(*args):
        raise AssertionError("an operand was copied")

    for name in ("_made", "new_aligned_rows"):
        monkeypatch.setattr(complex_products, name, refuse)
    generator = np.random.default_rng(9)
    for k in (2, 3, 1000):
        x, y = (numbers(generator, k * abs(step), dtype)[::step] for step in steps)
        wide = [v.astype(np.clongdouble) for v in (x, y)]
        bound = 2 * (k + 8) * np.finfo(dtype).eps * (abs(wide[0]) @ abs(wide[1]))
        on_device = [cuda.to_device(np.repeat(v, 2))[::2] for v in (x, y)]
        for found in (portagpu.matmul(x, y), portagpu.matmul(*on_device).copy_to_host()[()]):
            assert found.dtype == dtype and abs(found - wide[0] @ wide[1]) <= bound
        out = np.array(1 - 1j, dtype)
        assert portagpu.matmul(x, y, out=out, alpha=2j, beta=1j) is out
        assert abs(out - (2j * (wide[0] @ wide[1]) + 1j * (1 - 1j))) <= 2 * bound + 4 * np.finfo(dtype).eps
