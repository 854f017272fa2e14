"""`portagpu.linalg`: systems of NumPy arrays and of arrays on the device, batches, results and errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from matrices_in_memory import only_triangle, random

from portagpu import cuda, errors, linalg

pytestmark = pytest.mark.one_device(fast=True)


def matrices(shape, dtype=np.float64, seed=0):
    generator = np.random.default_rng(seed)
    return random(generator, shape, dtype) + 4 * np.eye(shape[-1], dtype=dtype)


def definite(shape, dtype=np.float64):
    a = matrices(shape, dtype)
    return a @ a.conj().swapaxes(-1, -2)


def both(function, *arrays, **options):
    """The results for NumPy arrays, after those for device arrays were found the same."""
    found = function(*arrays, **options)
    there = function(*(cuda.to_device(np.asarray(x)) for x in arrays), **options)
    assert isinstance(there, cuda.DeviceNDArray)
    np.testing.assert_allclose(
        there.copy_to_host(), found, rtol=1e-4 if found.itemsize < 16 and found.dtype.char in "fF" else 1e-11
    )
    return found


def near(found, expected):
    tolerance = 2e-3 if found.dtype.char in "fF" else 1e-9
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("assume_a", ["general", "positive definite"])
def test_solve(device, dtype, assume_a, share):
    shapes = [
        ((5, 5), (5,)),
        ((70, 70), (70, 3)),
        ((4, 6, 6), (4, 6, 2)),
        ((6, 6), (3, 2, 6, 2)),
        ((2, 1, 6, 6), (3, 6, 1)),
        ((0, 0), (0, 2)),
        ((3, 3), (3, 0)),
    ]
    for a_shape, b_shape in share(shapes, (dtype in ("float32", "complex64")) == (assume_a == "general")):
        a = definite(a_shape, dtype)
        given = only_triangle(a, False, 7) if assume_a != "general" else a
        b = random(np.random.default_rng(1), b_shape, dtype)
        found = both(linalg.solve, given, b, assume_a=assume_a)
        assert found.dtype == dtype
        near(found, np.linalg.solve(a, b))


def test_results_in_arrays_of_the_caller(device):
    a, b = matrices((3, 5, 5)), matrices((3, 5, 5), seed=1)
    expected = np.linalg.solve(a, b)
    for out in (np.empty_like(b), np.empty((3, 10, 5))[:, ::2], b.copy()):
        assert linalg.solve(a, b, out=out) is out
        near(out, expected)
    device_out = cuda.device_array((3, 5, 5))
    assert linalg.solve(cuda.to_device(a), cuda.to_device(b), out=device_out) is device_out
    near(device_out.copy_to_host(), expected)
    assert linalg.solve(a, b, out=b) is b
    near(b, expected)
    c = definite((5, 5))
    expected = np.linalg.cholesky(c)
    assert linalg.cholesky(c, out=c) is c
    near(c, expected)


@pytest.mark.parametrize("place", [np.array, cuda.to_device])
def test_results_in_the_matrix(device, place):
    """The right sides may be put there only after the matrix was read."""
    a, b = matrices((6, 6)), random(np.random.default_rng(1), (6, 6), np.float64)
    both_rows = np.stack([a, b])
    for _ in range(3):  # calls that come again take another way
        for function, matrix in ((linalg.solve, a), (linalg.solve_triangular, np.triu(a))):
            held, sides = place(matrix), place(b)
            assert function(held, sides, out=held) is held
            near(np.asarray(held), np.linalg.solve(matrix, b))
            near(np.asarray(sides), b)
        held = place(a)
        near(np.asarray(linalg.solve(held, held, out=held)), np.eye(6))
        factors = linalg.lu_factor(place(a))
        near(np.asarray(linalg.lu_solve(factors, place(b), out=factors.lu)), np.linalg.solve(a, b))
        both = place(both_rows)
        linalg.solve(both, both[1], out=both)
        near(np.asarray(both), np.linalg.solve(both_rows, b))


def test_results_in_arrays_of_others(device):
    """What the caller passed comes back, in factors, too, and has the results."""
    if cuda.current_context().driver.shares_addresses:
        pytest.skip("libraries make their arrays themselves there")
    a = matrices((2, 5, 5))
    out = cuda.to_device(np.zeros_like(a)).to_pyopencl()
    info = cuda.to_device(np.full(2, -1, np.int32)).to_pyopencl()
    factors = linalg.lu_factor(cuda.to_device(a).to_pyopencl(), out=out, info=info)
    assert factors.lu is out and cuda.as_cuda_array(info).copy_to_host().tolist() == [0, 0]
    b = cuda.to_device(np.ones((2, 5, 1)))
    x = cuda.to_device(np.zeros((2, 5, 1))).to_pyopencl()
    assert linalg.lu_solve(factors, b, out=x) is x
    near(a @ cuda.as_cuda_array(x).copy_to_host(), np.ones((2, 5, 1)))


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_determinants_of_large_and_small_parts(device, dtype):
    """Products of some pivots would overflow, or vanish; those of all do where they must."""
    large, known = 10.0 ** (30 if np.finfo(dtype).bits == 32 else 200), np.finfo(dtype)
    small, largest = 1 / large, float(known.max)
    for pivots, wanted in (
        ((large, large, small, small), 1),
        ((small, small, large, large), 1),
        ((large, large, 0, 1), 0),
        ((large, small, -large, small), -1),
        ((large, large), np.inf),
        ((small, small), 0),
        ((largest, largest, 1 / largest), largest),
        ((float(known.smallest_subnormal), large, 1), float(known.smallest_subnormal) * large),
    ):
        a = np.diag(np.array(pivots)).astype(dtype)
        assert abs(linalg.det(a)) == pytest.approx(abs(wanted), rel=1e-4)
        assert not np.isfinite(wanted) or linalg.det(a).real == pytest.approx(wanted, rel=1e-4)
    a = random(np.random.default_rng(7), (130, 130), dtype)
    a[:, 65] = 0
    assert linalg.det(a) == 0


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_factors(device, dtype, share):
    for shape in share([(5, 5), (70, 70), (2, 2, 4, 4), (3, 6, 6), (2, 0, 4, 4)], dtype == "float32"):
        a = definite(shape, dtype)
        near(both(linalg.cholesky, a), np.linalg.cholesky(a))
        near(both(linalg.cholesky, only_triangle(a, False), lower=False), np.linalg.cholesky(a).conj().swapaxes(-1, -2))
        near(both(linalg.inv, a) @ a, np.broadcast_to(np.eye(shape[-1]), shape))
        if a.size and shape[-1] < 10:  # of larger ones it overflows
            near(np.asarray(linalg.det(a)) / np.linalg.det(a), np.ones(shape[:-2]))
            near(linalg.det(cuda.to_device(a)).copy_to_host() / np.linalg.det(a), np.ones(shape[:-2]))
        b = random(np.random.default_rng(2), (*shape[:-1], 2), dtype)
        factors = linalg.lu_factor(a)
        there = linalg.lu_factor(cuda.to_device(a))
        np.testing.assert_array_equal(there.pivots.copy_to_host(), factors.pivots)
        for trans, op in [(0, a), ("T", a.swapaxes(-1, -2)), (2, a.conj().swapaxes(-1, -2))]:
            found = linalg.lu_solve(factors, b, trans=trans)
            near(found, np.linalg.solve(op, b))
            near(linalg.lu_solve(there, cuda.to_device(b), trans=trans).copy_to_host(), found)
    wide = random(np.random.default_rng(3), (4, 9), dtype)
    lu, pivots = linalg.lu_factor(wide)
    near(lu, scipy.linalg.lu_factor(wide)[0])
    np.testing.assert_array_equal(pivots, scipy.linalg.lu_factor(wide)[1])


def test_triangles(device):
    a, b = matrices((3, 9, 9), np.complex64), matrices((3, 9, 9), np.complex64, 1)[..., :2]
    for lower in (False, True):
        for trans in (0, 1, 2):
            for unit in (False, True):
                given = only_triangle(a, lower)
                held = only_triangle(a, lower, 0)
                if unit:
                    given[..., range(9), range(9)] = np.nan
                    held[..., range(9), range(9)] = 1
                op = held if trans == 0 else held.swapaxes(-1, -2)
                op = op.conj() if trans == 2 else op
                found = linalg.solve_triangular(given, b, lower=lower, trans=trans, unit_diagonal=unit)
                near(op @ found, b)
    found = linalg.solve_triangular(cuda.to_device(a), cuda.to_device(b[0]))
    near(np.triu(a) @ found.copy_to_host(), np.broadcast_to(b[0], b.shape))


def test_dtypes_of_numpy_arrays(device):
    a, b = np.array([[4, 1], [2, 3]]), [1, 2]
    for given, dtype in [
        (a, np.float64),
        (a.tolist(), np.float64),
        (a.astype(np.float16), np.float64),
        (a.astype(">f8"), np.float64),
        (a.astype(np.longdouble), np.float64),
        (a.astype(np.complex64), np.complex128),
    ]:
        found = linalg.solve(given, b)
        assert found.dtype == dtype
        near(found, np.array([0.1, 0.6]))
    assert linalg.inv(a.astype(np.float16)).dtype == np.float32
    frozen = a.astype(np.float64)
    frozen.flags.writeable = False
    near(linalg.solve(frozen, np.asfortranarray(np.eye(2))), np.linalg.inv(a))
    assert linalg.det(a) == pytest.approx(10)


def test_matrices_without_factors(device):
    a = matrices((2, 3, 5, 5))
    a[1, 2] = 1
    with pytest.raises(
        errors.SingularMatrixError, match=r"matrix \(1, 2\) of the batch is singular: pivot 2"
    ) as caught:
        linalg.solve(a, np.ones(5))
    assert (caught.value.order, caught.value.matrix) == (2, (1, 2))
    assert isinstance(caught.value, np.linalg.LinAlgError)
    info = np.zeros((2, 3), np.int32)
    linalg.inv(a, info=info)
    np.testing.assert_array_equal(info, [[0, 0, 0], [0, 0, 2]])
    there = cuda.to_device(np.ones((2, 3), np.int32))
    linalg.lu_factor(cuda.to_device(a), info=there)
    np.testing.assert_array_equal(there.copy_to_host(), info)
    assert linalg.det(a)[1, 2] == 0
    with pytest.raises(errors.NotPositiveDefiniteError, match="leading minor of order 3"):
        linalg.cholesky(np.diag([1.0, 2, -1, 4]))
    with pytest.raises(errors.NotPositiveDefiniteError):
        linalg.solve(-np.eye(3), np.ones(3), assume_a="pos")
    with pytest.raises(errors.SingularMatrixError, match="pivot 2"):
        linalg.solve_triangular(np.diag([1.0, 0, 1]), np.ones(3))
    linalg.solve_triangular(np.diag([1.0, 0, 1]), np.ones(3), unit_diagonal=True)


def test_wrong_arguments(device):
    a, there = np.eye(3), cuda.to_device(np.eye(3))
    for error, message, call in [
        (errors.ShapeError, "square", lambda: linalg.solve(np.ones((2, 3)), np.ones(2))),
        (errors.ShapeError, "takes matrices", lambda: linalg.inv(np.ones(3))),
        (errors.ShapeError, "b \\(4,\\)", lambda: linalg.solve(a, np.ones(4))),
        (errors.ShapeError, "leading axes", lambda: linalg.solve(np.ones((2, 3, 3)), np.ones((4, 3, 1)))),
        (errors.ShapeError, "out has shape", lambda: linalg.inv(a, out=np.ones((2, 2)))),
        (errors.DTypeError, "out is float32", lambda: linalg.inv(a, out=np.ones((3, 3), np.float32))),
        (errors.ArgumentTypeError, "on the device", lambda: linalg.solve(there, np.ones(3))),
        (errors.DTypeError, "numbers; a is", lambda: linalg.cholesky(np.full((2, 2), "x"))),
        (errors.DTypeError, "b is float32", lambda: linalg.solve(there, cuda.to_device(np.ones(3, np.float32)))),
        (errors.DTypeError, "int64", lambda: linalg.det(cuda.to_device(np.ones((2, 2), np.int64)))),
        (errors.UnknownOptionError, "assume_a", lambda: linalg.solve(a, np.ones(3), assume_a="positive")),
        (errors.UnknownOptionError, "trans", lambda: linalg.lu_solve(linalg.lu_factor(a), np.ones(3), trans=3)),
        (errors.ShapeError, "pivots", lambda: linalg.lu_solve((a, np.zeros(2, np.int32)), np.ones(3))),
        (errors.ShapeError, "float64", lambda: linalg.lu_solve((a, np.zeros(3)), np.ones(3))),
        (errors.ArgumentTypeError, "not lu and pivots", lambda: linalg.lu_solve(a, np.ones(3))),
        (errors.UnknownOptionError, "trans", lambda: linalg.lu_solve(linalg.lu_factor(a), np.ones(3), trans=[1])),
        (errors.UnknownOptionError, "assume_a", lambda: linalg.solve(a, np.ones(3), assume_a=["general"])),
        (errors.ArgumentTypeError, "info", lambda: linalg.inv(a, info=np.zeros((), np.int64))),
        (errors.ShapeError, "info", lambda: linalg.inv(a, info=np.zeros(1, np.int32))),
    ]:
        with pytest.raises(error, match=message):
            call()
    with pytest.raises(AttributeError, match="no 'slove', but 'solve'"):
        _ = linalg.slove


def test_pivots_of_other_libraries(device):
    """As SciPy takes them: lists, other integers; those that are no rows are refused in calls that come again, too."""
    a, b = matrices((5, 5)), np.arange(5.0)
    lu, pivots = scipy.linalg.lu_factor(a)
    for dtype in (np.int32, np.int64):
        for given in (pivots.astype(dtype), pivots.astype(dtype), pivots.tolist(), pivots.astype(dtype)):
            near(linalg.lu_solve((lu, given), b), np.linalg.solve(a, b))
        for wrong in (5, -1):
            with pytest.raises(errors.ShapeError, match=f"rows from {wrong} to {wrong}, the matrix has 5"):
                linalg.lu_solve((lu, np.full(5, wrong, dtype)), b)
    there = tuple(map(cuda.to_device, (lu, pivots)))
    if not there[0].context.driver.shares_addresses:
        there = tuple(x.to_pyopencl() for x in there)
    near(linalg.lu_solve(there, cuda.to_device(b)).copy_to_host(), np.linalg.solve(a, b))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_refinement(device, dtype):
    """As small residuals as by factors in float64; matrices that are not for float32 are factored in float64."""
    for shape, sides in [((40, 40), (40, 3)), ((3, 9, 9), (3, 9, 2))]:
        a, b = matrices(shape, dtype), random(np.random.default_rng(1), sides, dtype)
        found = both(linalg.solve, a, b, precision="float32")
        residual = np.abs(a @ found - b).max(axis=-2)
        bound = np.sqrt(shape[-1]) * np.finfo(dtype).eps * np.abs(a).sum(axis=-1).max(axis=-1) * 2
        assert np.all(residual <= bound[..., None] * np.abs(found).max(axis=-2))
    ill = np.array([[1.0, 1], [1, 1 + 1e-9]], dtype)  # singular in float32
    near(linalg.solve(ill, ill @ [1, 2], precision="float32"), np.array([1, 2]) + 0 * ill[0])
    large = np.diag([1e50, 1e-60]).astype(dtype)
    near(linalg.solve(large, large @ [1, 2], precision="float32"), np.array([1, 2]) + 0 * ill[0])
    with pytest.raises(errors.SingularMatrixError):
        linalg.solve(np.zeros((2, 2), dtype), np.ones(2), precision="float32")
    for options in ({"precision": "float16"}, {"precision": "float32", "assume_a": "pos"}):
        with pytest.raises(errors.UnknownOptionError, match="precision"):
            linalg.solve(ill, ill[0], **options)
