"""Calls of cuBLAS and cuSOLVER as C has them: a stand-in for the libraries reads every argument as their types say."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg

from portagpu.bench.routines import cublas, epilogue, task, tasks

INT, POINTER = ctypes.c_int, ctypes.c_void_p
FACTORS = {"S": ctypes.c_float, "D": ctypes.c_double}
DTYPES = {"S": np.float32, "D": np.float64}


class CupyArray(np.ndarray):
    """NumPy's memory in the place of the device's."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self):
        return np.array(self, order="K")


def cupy_array(x, order="C"):
    return np.array(x, order=order).view(CupyArray)


CUPY = SimpleNamespace(
    array=cupy_array,
    zeros=lambda shape, dtype: np.zeros(shape, dtype).view(CupyArray),
    empty=lambda shape, dtype, order="C": np.zeros(shape, dtype, order).view(CupyArray),
    matmul=np.matmul,
    add=np.add,
    cuda=SimpleNamespace(get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None)),
)


def integer(argument):
    assert type(argument) is INT
    return argument.value


def memory(argument, dtype, count):
    assert type(argument) is POINTER
    return np.frombuffer((ctypes.c_byte * (count * np.dtype(dtype).itemsize)).from_address(argument.value), dtype)


def matrices(argument, dtype, n, count):
    """The matrices in columns that an array of pointers tells of."""
    for address in memory(argument, np.uint64, count):
        yield memory(POINTER(int(address)), dtype, n * n).reshape((n, n), order="F")


class Library:
    """The functions of both libraries, by their names in C."""

    def cublasSetPointerMode_v2(self, handle, mode):
        assert mode == 0  # factors are the host's
        return 0

    def potrf(self, letter, handle, uplo, n, a, lda, info, count):
        n, count = integer(n), integer(count)
        assert integer(uplo) == 0 and integer(lda) == n
        for one in matrices(a, DTYPES[letter], n, count):
            one[...] = np.linalg.cholesky(one) + np.triu(one, 1)
        memory(info, np.int32, count)[:] = 0
        return 0

    def getrf(self, letter, handle, n, a, lda, pivots, info, count):
        n, count = integer(n), integer(count)
        assert integer(lda) == n
        rows = memory(pivots, np.int32, n * count).reshape(count, n)
        for one, row in zip(matrices(a, DTYPES[letter], n, count), rows, strict=True):
            one[...], row[:] = scipy.linalg.lu_factor(one)
        rows += 1
        memory(info, np.int32, count)[:] = 0
        return 0

    def trsm(self, letter, handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, count):
        m, n, count = integer(m), integer(n), integer(count)
        assert [integer(x) for x in (side, uplo, trans, diag, lda, ldb)] == [0, 0, 0, 0, m, m] and m == n
        assert ctypes.cast(alpha, ctypes.POINTER(FACTORS[letter])).contents.value == 1
        pairs = zip(matrices(a, DTYPES[letter], n, count), matrices(b, DTYPES[letter], n, count), strict=True)
        for triangle, sides in pairs:
            sides[...] = scipy.linalg.solve_triangular(triangle, sides, lower=True)
        return 0

    def __getattr__(self, name):
        for prefix, functions in (("cublas", ("getrf", "trsm")), ("cusolverDn", ("potrf",))):
            for letter in "SD":
                for function in functions:
                    if name == f"{prefix}{letter}{function}Batched":
                        return lambda *arguments: getattr(self, function)(letter, *arguments)
        raise AttributeError(name)


@pytest.fixture
def library():
    made = cublas.CuBlas.__new__(cublas.CuBlas)
    made.cupy, made._blas, made._solver = CUPY, Library(), Library()
    made._blas_handle = made._solver_handle = POINTER()
    return made


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["potrf-batch", "getrf-batch", "trsm-batch"])
def test_batches(library, name, dtype):
    """Each call begins with the input, and its result is right."""
    made = tasks.TASKS[name].make(5, dtype)
    call = cublas.prepare(library, made)
    for _ in range(2):
        call.product()
        found = call.fetch()
        assert made.error(found) <= 1
    found[0][-1, -1, 0] += 1
    assert made.error(found) > 1


def test_arrays_live_as_long_as_the_call(library):
    call = library.solver("SpotrfBatched", 0, 1, x := cupy_array(np.ones(1)))
    assert call.keep[2] is x


def test_three_calls_of_cupy(library):
    """The elementwise kernel computes what it says; here Python reads it."""

    def kernel(inputs, outputs, operation, name):
        assert (inputs, outputs) == ("T c, T bias", "T y")
        steps = [step.split("=", 1) for step in operation.split(";")]
        assert [left.strip() for left, _ in steps] == ["float x", "y"]
        first, last = (right.replace("(float)", "").replace("f ", " ").replace("tanhf", "tanh") for _, right in steps)

        def run(c, bias, y):
            x = eval(first, {"c": c, "bias": bias})
            y[...] = eval(last.replace("5f", "5"), {"x": x, "tanh": np.tanh})

        return run

    CUPY.ElementwiseKernel = kernel
    made = epilogue.epilogue(20, "float32")
    call = epilogue.calls_of_cupy(CUPY, made)
    call.product()
    assert made.error(call.fetch()) <= 1


def test_loops_of_scipy_are_checked_as_batches_are():
    made = tasks.TASKS["trsm-batch"].make(4, "float64")
    call = task.scipy_call(made)
    call.product()
    assert isinstance(call.fetch(), list) and made.error(call.fetch()) <= 1
