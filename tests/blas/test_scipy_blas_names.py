"""BLAS's own names, against SciPy's functions."""

from __future__ import annotations

import inspect
import itertools
import pickle
import pydoc
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from portagpu import blas, cuda, errors, lapack
from portagpu.blas import cgemm, dgemm, sgemm, zgemm

pytestmark = [pytest.mark.one_device, pytest.mark.each_value]

scipy_blas = pytest.importorskip("scipy.linalg.blas")

FUNCTIONS = {
    "s": (sgemm, np.float32),
    "d": (dgemm, np.float64),
    "c": (cgemm, np.complex64),
    "z": (zgemm, np.complex128),
}


def matrix(generator, rows, columns, dtype, order="C"):
    values = generator.standard_normal((rows, columns))
    if np.dtype(dtype).kind == "c":
        values = values + 1j * generator.standard_normal((rows, columns))
    return np.asarray(values, dtype, order=order)


def close(found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    eps = np.finfo(wanted.dtype).eps
    return np.allclose(found, wanted, rtol=50 * eps, atol=400 * eps)


@pytest.mark.parametrize("letter", FUNCTIONS)
@pytest.mark.parametrize("on_device", [False, True])
def test_transposes_and_orders(device, letter, on_device):
    function, dtype = FUNCTIONS[letter]
    theirs = getattr(scipy_blas, f"{letter}gemm")
    generator = np.random.default_rng(1)
    m, n, k = 21, 13, 17
    move = cuda.to_device if on_device else np.asarray
    alpha, beta = (1.5 - 0.5j, 0.5 + 2j) if letter in "cz" else (1.5, -0.5)
    for ta, tb in itertools.product((0, 1, 2), repeat=2):
        order = "CF"[(ta + tb) // 2 % 2]
        a = matrix(generator, *((k, m) if ta else (m, k)), dtype, order)
        b = matrix(generator, *((n, k) if tb else (k, n)), dtype, "CF"[order == "C"])
        c = matrix(generator, m, n, dtype, order)
        for options in ({}, {"beta": beta, "c": c}):
            wanted = theirs(alpha, a, b, trans_a=ta, trans_b=tb, **options)
            given = {name: move(value) if name == "c" else value for name, value in options.items()}
            found = function(alpha, move(a), move(b), trans_a=ta, trans_b=tb, **given)
            if on_device:
                assert found.is_f_contiguous() and (not given or (given["c"].copy_to_host() == c).all())
                found = found.copy_to_host()
            assert found.flags.f_contiguous and wanted.flags.f_contiguous
            assert close(found, wanted)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("overwrite", [0, 1])
def test_what_is_overwritten(device, order, overwrite):
    """Where SciPy writes into c; on the device, c itself."""
    generator = np.random.default_rng(2)
    a, b, c = (matrix(generator, 20, 20, np.float64, order) for _ in range(3))
    ours, theirs = c.copy(order), c.copy(order)
    wanted = scipy_blas.dgemm(2, a, b, 3, theirs, 0, 1, overwrite)
    found = dgemm(2, a, b, 3, ours, 0, 1, overwrite)
    assert close(found, wanted) and (found is ours) == np.shares_memory(wanted, theirs)
    assert close(ours, theirs)
    moved = cuda.to_device(c)
    result = dgemm(2, cuda.to_device(a), cuda.to_device(b), 3, moved, 0, 1, overwrite)
    assert (result is moved) == bool(overwrite) and close(result.copy_to_host(), wanted)


def test_what_is_converted(device):
    generator = np.random.default_rng(3)
    a, b = matrix(generator, 8, 8, np.float64), matrix(generator, 8, 8, np.float32)
    whole, vector = np.arange(64).reshape(8, 8), np.arange(8.0)
    for x, y in ((a, b), (whole, b), (a, vector), (a.tolist(), b), (a[::2, ::-1], b)):
        assert close(sgemm(1, x, y), scipy_blas.sgemm(1, x, y))
        assert close(zgemm(2j, x, y), scipy_blas.zgemm(2j, x, y))
    assert np.array_equal(dgemm(1, vector, vector, trans_a=1), [[vector @ vector]])
    old = np.full((8, 8), np.nan)
    found = dgemm(1, a, a, 0, old)  # beta 0: what is there is not read
    assert close(found, a @ a) and np.isnan(old).all() and found.flags.f_contiguous


@pytest.mark.parametrize("beta", [0, 2.0])
@pytest.mark.parametrize("overwrite", [0, 1])
@pytest.mark.parametrize("step", [1, 2])
def test_a_c_that_is_a_vector(device, beta, overwrite, step):
    """Makes the result one, as SciPy's does; on the device it is the result, with gaps too."""
    generator = np.random.default_rng(5)
    a, b = matrix(generator, 6, 5, np.float64), matrix(generator, 5, 1, np.float64)
    around = generator.standard_normal(6 * step)
    theirs, ours, moved = around.copy(), around.copy(), cuda.to_device(around)
    wanted = scipy_blas.dgemm(3, a, b, beta, theirs[::step], overwrite_c=overwrite)
    found = dgemm(3, a, b, beta, ours[::step], overwrite_c=overwrite)
    assert wanted.shape == (6,) and close(found, wanted) and close(ours, theirs)
    assert np.shares_memory(found, ours) == np.shares_memory(wanted, theirs)
    c = moved[::step]
    found = dgemm(3, cuda.to_device(a), cuda.to_device(b), beta, c, overwrite_c=overwrite)
    assert (found is c) == bool(overwrite) and close(found.copy_to_host(), wanted)
    assert close(c.copy_to_host(), wanted if overwrite else around[::step])
    with pytest.raises(errors.ShapeError, match=r"c has shape \(6,\)"):
        dgemm(3, b.T, a.T, beta, around[:6])


@pytest.mark.parametrize("shape", [(4,), (4, 1)])
def test_a_c_of_another_library_on_the_device(device, shape):
    class Wrapped:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    a, b = cuda.to_device(np.arange(12.0).reshape(4, 3)), cuda.to_device(np.ones((3, 1)))
    wanted = a.copy_to_host().sum(axis=1) + 2
    others = [lambda array: array.to_pyopencl()] if device.backend == "opencl" else []
    for wrap in (Wrapped, *others):
        own = cuda.to_device(np.ones(shape))
        assert close(dgemm(1, a, b, 2, wrap(own), overwrite_c=0).copy_to_host(), wanted.reshape(shape))
        cuda.synchronize()
        assert (own.copy_to_host() == 1).all()
        found = dgemm(1, a, b, 2, wrap(own), overwrite_c=1)
        cuda.synchronize()
        assert close(found.copy_to_host(), wanted.reshape(shape)) and close(own.copy_to_host(), wanted.reshape(shape))


NUMBERS = [True, np.True_, np.float16(1), np.array(1), np.array([1.0]), np.array([[True]])]


@pytest.mark.parametrize("one", NUMBERS, ids=repr)
def test_numbers_are_those_that_scipy_takes(device, one):
    a, c = np.arange(4.0).reshape(2, 2), np.ones((2, 2))
    for options in ({}, {"beta": one, "c": c}):
        assert close(dgemm(one, a, a, **options), scipy_blas.dgemm(one, a, a, **options))
        assert close(zgemm(one, a, a, **options), scipy_blas.zgemm(one, a, a, **options))


@pytest.mark.parametrize("one", [True, np.True_, np.int8(1), np.array(1), np.array([1]), np.array([True])], ids=repr)
def test_flags_are_those_that_scipy_takes(device, one):
    a = np.arange(6.0).reshape(2, 3)
    assert close(dgemm(1, a, a, trans_b=one), scipy_blas.dgemm(1, a, a, trans_b=one))


@pytest.mark.parametrize("beta", ["x", None, 1j, [1], np.ones(2)], ids=repr)
def test_beta_is_looked_at_without_a_c(device, beta):
    for c in (None, np.ones((2, 2))):
        with pytest.raises(errors.ArgumentTypeError, match="beta is"):
            dgemm(1, np.eye(2), np.eye(2), beta, c)


def test_a_device_matrix_with_gaps_is_conjugated(device):
    generator = np.random.default_rng(4)
    a, b = matrix(generator, 30, 40, np.complex64), matrix(generator, 30, 9, np.complex64)
    moved = cuda.to_device(a)
    found = cgemm(1, moved[:, 3:20], cuda.to_device(b), trans_a=2)
    assert close(found.copy_to_host(), scipy_blas.cgemm(1, a[:, 3:20], b, trans_a=2))
    found = cgemm(1, moved.T[3:20], cuda.to_device(b).T, trans_b=2)
    assert close(found.copy_to_host(), scipy_blas.cgemm(1, a.T[3:20], b.T, trans_b=2))


def test_wrong_arguments(device):
    a = np.ones((4, 5))
    for options, error in (
        ({"trans_a": 3}, errors.UnknownOptionError),
        ({"trans_b": "T"}, errors.UnknownOptionError),
        ({}, errors.ShapeError),
        ({"trans_b": 1, "c": np.ones((4, 5))}, errors.ShapeError),
        ({"trans_b": 1, "c": "c"}, errors.ArgumentTypeError),
        ({"trans_b": 1, "c": np.ones((5, 5))}, errors.ShapeError),
    ):
        with pytest.raises(error):
            dgemm(1, a, a, **options)
    with pytest.raises(errors.ArgumentTypeError):
        dgemm(1j, a, a, trans_b=1)
    with pytest.raises(errors.DTypeError, match="dgemm takes float64; b is complex128"):
        dgemm(1, a, a.astype(complex), trans_b=1)
    with pytest.raises(errors.DTypeError, match="sgemm takes float32; a is float64"):
        sgemm(1, cuda.to_device(a), cuda.to_device(a), trans_b=1)
    with pytest.raises(errors.ShapeError, match=r"c has shape \(4, 5\)"):
        dgemm(1, a, a, 0, a, 0, 1)
    column = np.ones((2**21, 1))
    with pytest.raises(errors.OutOfMemoryError):
        dgemm(1, column, column, trans_b=1)
    with pytest.raises(errors.ShapeError, match="matrices"):
        dgemm(1, np.ones((2, 3, 4)), a)
    with pytest.raises(errors.ArgumentTypeError, match="on the device"):
        dgemm(1, a, cuda.to_device(a), trans_b=1)


def test_the_names_are_found_without_their_kernels():
    code = "import sys, portagpu.blas as b; print('portagpu.blas.matmul' in sys.modules, b.dgemm.__name__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False dgemm\n"
    with pytest.raises(ImportError):
        from portagpu.blas import hgemm  # noqa: F401


@pytest.mark.parametrize("letter", FUNCTIONS)
def test_functions_are_those_that_programs_import(letter):
    """One routine in four dtypes; each is a function of its own name, to pickle, `help` and `inspect`."""
    function, dtype = FUNCTIONS[letter]
    name = f"{letter}gemm"
    assert (function.__name__, function.__qualname__) == (name, name)
    assert pickle.loads(pickle.dumps(function)) is function
    parameters = inspect.signature(function).parameters
    assert [*parameters] == "alpha a b beta c trans_a trans_b overwrite_c stream".split()
    assert parameters["stream"].kind is inspect.Parameter.KEYWORD_ONLY
    page = pydoc.render_doc(function, renderer=pydoc.plaintext)
    assert f"{name}(alpha: 'Any', a: 'Array', b: 'Array', beta: 'Any' = 0.0," in page and np.dtype(dtype).name in page


@pytest.mark.parametrize(
    ("arguments", "options", "problem"),
    [
        ((1,), {}, "dgemm: missing a required argument: 'a'"),
        ((1, 2, 3), {"trans": 1}, "dgemm: got an unexpected keyword argument 'trans'"),
        ((1, 2, 3, 4, 5, 6, 7, 8, 9), {}, "dgemm: too many positional arguments"),
    ],
)
def test_wrong_calls_name_the_function(arguments, options, problem):
    with pytest.raises(errors.ArgumentTypeError) as caught:
        dgemm(*arguments, **options)
    assert problem in str(caught.value) and "call it as dgemm(alpha, a, b, beta=0.0," in str(caught.value)


def test_overwriting_is_a_whole_number(device):
    a = np.ones((3, 3))
    for wrong in ("no", 0.5, None, [1]):
        for c in (a.copy(), None):
            with pytest.raises(errors.UnknownOptionError, match="overwrite_c"):
                dgemm(1.0, a, a, 1.0, c, overwrite_c=wrong)


@pytest.mark.parametrize("letter", FUNCTIONS)
@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_other_floats_are_converted(device, letter, name):
    function, dtype = FUNCTIONS[letter]
    theirs = getattr(scipy_blas, f"{letter}gemm")
    a = np.arange(-4, 5).reshape(3, 3).astype(getattr(ml_dtypes, name))
    b = np.arange(9).reshape(3, 3).astype(dtype)
    for arguments in ((1, a, b), (1, b, a), (1, a, a, 2, a)):
        assert close(function(*arguments), theirs(*arguments))


@pytest.mark.parametrize("letter", FUNCTIONS)
@pytest.mark.parametrize("given", ["O", "U3", "S3"])
def test_objects_and_texts_are_converted_by_the_caller(device, letter, given):
    function, dtype = FUNCTIONS[letter]
    numbers, one = np.arange(9).reshape(3, 3), np.eye(3, dtype=dtype)
    a = numbers.astype(given)
    with pytest.raises(errors.DTypeError, match=f"a is (.|\\n)*hint: .*a.astype\\(np.{np.dtype(dtype)}\\)"):
        function(1, a, one)
    assert np.array_equal(function(1, a.astype(dtype), one), numbers)  # as the hint says


@pytest.mark.parametrize(
    ("dtype", "hint"),
    [
        ("complex128", "call cgemm or zgemm"),
        ("V4", "give arrays of numbers"),
        ("m8[s]", "a.astype(np.int64).astype(float)"),
        ([("x", "f4"), ("y", "f4")], 'a["x"]'),
    ],
)
def test_hints_for_what_is_not_converted(device, dtype, hint):
    with pytest.raises(errors.DTypeError) as caught:
        sgemm(1, np.zeros((3, 3), dtype), np.eye(3))
    assert hint in str(caught.value)


def test_factors_beyond_the_dtype(device):
    a = np.eye(3, dtype=np.float32)
    with pytest.raises(errors.ArgumentTypeError, match="too large for the float32"):
        sgemm(1e50, a, a)
    assert close(sgemm(1e-50, a, a), scipy_blas.sgemm(1e-50, a, a))


@pytest.mark.parametrize("finder", [blas.get_blas_funcs, lapack.get_lapack_funcs])
def test_there_is_one_interface_whatever_its_integers(finder):
    """As SciPy answers where it has none of 64-bit integers."""
    name = "gemm" if finder is blas.get_blas_funcs else "potrf"
    with pytest.raises(RuntimeError, match="64-bit"):
        finder(name, ilp64=True)
    assert finder(name, ilp64="preferred") is finder(name)
    assert blas.HAS_ILP64 is False
