"""Messages that have numba-cuda's words beside our own, for programs and people that look for them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from portagpu import cuda, errors, guvectorize

pytestmark = pytest.mark.one_device


def _text(function, signature="void(float64[:, ::1])"):
    with pytest.raises(errors.KernelError) as caught:
        cuda.jit(signature)(function)
    return str(caught.value)


def by_number(x):
    memory = cuda.local.array(shape=x[0, 1], dtype=np.int16)
    x[0, 0] = memory[0]


def by_tuple(x):
    memory = cuda.shared.array((2, x[0]), np.float32)
    x[0, 0] = memory[0, 0]


def by_equals(x):
    memory = cuda.shared.array((x[0, 0], x[0, 1]), np.float32)
    x[0, 0] = memory[0, 0]


def of_objects(x):
    table = cuda.local.array(3, np.dtype("O"))
    x[0, 0] = table[0]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (by_number, "<function local.array>) found for signature:\n \n >>> array(shape=float64, dtype=class(int16))"),
        (by_tuple, "array(shape=Tuple(Literal[int](2), array(float64, 1d, C)), dtype=class(float32))"),
        (by_equals, ">>> array(shape=UniTuple(float64 x 2), dtype=class(float32))"),
        (of_objects, "Cannot infer the type of variable 'table'"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_arrays_that_cannot_be_made(function, words):
    text = _text(function)
    assert words in text
    assert not text.startswith("in numba-cuda")  # ours come first


@pytest.mark.parametrize("alignment", [-1, 0, 3, 2048, "16", 1.5], ids=str)
def test_alignments(alignment):
    def kernel(x):
        x[0, 0] = cuda.local.array(3, np.float32, alignment=alignment)[0]

    text = _text(kernel)
    assert "Alignment must be a constant power of two up to 1024: in cuda.local.array it is" in text
    assert ("RequireLiteralValue: alignment must be a constant integer" in text) == (not isinstance(alignment, int))


def test_names_without_a_value():
    @cuda.jit(device=True)
    def inner(x):
        return ceil_of(x)  # noqa: F821

    @cuda.jit(device=True)
    def outer(x):
        return inner(x)

    def kernel(x):
        x[0, 0] = outer(x[0, 0])

    text = _text(kernel)
    assert "NameError: name 'ceil_of' is not defined" in text
    assert re.findall(r"resolving callee type: type\(CUDADispatcher\(<function (\w+)>", text) == ["inner"]


def test_device_functions_without_a_signature_that_fits():
    @cuda.jit(["int64(int64, int64)"], device=True)
    def add(x, y):
        return x + y

    def kernel(x):
        x[0, 0] = add(x[0, 0], 2)

    assert "Invalid use of type(CUDADispatcher(<function add>)) with parameters (complex64, int64)" in _text(
        kernel, "void(complex64[:, :])"
    )


def test_device_arrays_that_a_gufunc_would_convert(device):
    @guvectorize(["void(int32[:], int32[:])"], "(n)->(n)", target="cuda")
    def copied(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i]

    with pytest.raises(TypeError, match=r"does not support \.astype\(\)"):
        copied(cuda.to_device(np.zeros(3, np.int64)))
    with pytest.raises(TypeError) as caught:
        copied(np.zeros(3, np.complex64))
    assert "does not support" not in str(caught.value)


def test_a_launch_that_two_signatures_fit(device):
    @cuda.jit(["(float64[::1], float32, float64)", "(float64[::1], float64, float32)"])
    def total(out, x, y):
        out[0] = x + y

    with pytest.raises(TypeError) as caught:
        total[1, 1](np.zeros(1), 1.0, 2.0)
    array = "Array(float64, 1, 'C', False, aligned=True)"
    lines = str(caught.value).split("Ambiguous overloading for <function ")[1].splitlines()
    assert lines[0].endswith(f"> ({array}, float64, float64):")
    assert lines[1:3] == [f"({array}, float32, float64) -> none", f"({array}, float64, float32) -> none"]
