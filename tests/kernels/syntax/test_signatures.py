"""Type objects and declared signatures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from portagpu import cuda
from portagpu.cuda import UniTuple, float32, float64, int32, int64, void
from portagpu.errors import ArgumentTypeError, KernelNameError, KernelTypeError, SpecialisationError, UnsupportedError

pytestmark = pytest.mark.one_device


def test_type_objects_read_as_in_signatures():
    assert str(float32[:]) == "array(float32, 1d, A)"
    assert str(int64[:, ::1]) == "array(int64, 2d, C)"
    assert str(float64[::1, :]) == "array(float64, 2d, F)"
    assert str(void(float32[:, ::1], int64)) == "void(float32[:, ::1], int64)"
    assert float32[:] == float32[:]
    assert np.dtype(float32) == np.float32
    assert float32(3) == np.float32(3)
    assert isinstance(int32(3), np.int32)
    assert UniTuple(int64, 2) == cuda.Tuple((int64, int64))
    with pytest.raises(KernelTypeError, match="no array type"):
        float32[3]


def scale(x, y, factor):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * factor


@pytest.mark.parametrize(
    "signature",
    [
        "void(float32[:], float32[:], int64)",
        "(float32[:], float32[::1], int64)",
        void(float32[:], float32[:], int64),
        (float32[:], float32[:], int64),
        [void(float32[:], float32[:], int64)],
    ],
    ids=["string", "tuple string", "object", "tuple", "list"],
)
def test_signature_forms(device, signature):
    kernel = cuda.jit(signature)(scale)
    x, y = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    kernel[1, 8](x, y, 2.9)
    np.testing.assert_array_equal(y, 2 * x)
    with pytest.raises(ArgumentTypeError, match="says float32"):
        kernel[1, 8](x.astype(np.float64), y, 2)


def test_the_best_of_several_signatures(device):
    @cuda.jit([void(int32[:], int32), void(float64[:], float64), "void(float64[:], int32)"])
    def put(out, value):
        out[0] = value / 2

    ints, floats = np.zeros(1, np.int32), np.zeros(1)
    put[1, 1](ints, np.int32(9))
    assert ints[0] == 4
    put[1, 1](floats, 2.5)
    assert floats[0] == 1.25
    put[1, 1](floats, np.int32(7))
    assert floats[0] == 3.5
    with pytest.raises(ArgumentTypeError, match="No matching definition") as caught:
        put[1, 1](np.zeros(1, np.float32), 1)
    assert "void(int32[:], int32)" in str(caught.value)


def test_ambiguous_signatures_are_refused(device):
    @cuda.jit(["void(float64[:], float32, float64)", "void(float64[:], float64, float32)"])
    def put(out, a, b):
        out[0] = a + b

    with pytest.raises(ArgumentTypeError, match="equally well"):
        put[1, 1](np.zeros(1), 1.0, 2.0)


def test_layouts_in_signatures(device):
    @cuda.jit("void(float32[:, ::1])")
    def fill(x):
        x[0, 0] = 1

    fill[1, 1](np.zeros((2, 3), np.float32))
    with pytest.raises(ArgumentTypeError, match="C order"):
        fill[1, 1](np.zeros((3, 2), np.float32).T)


def test_declared_device_functions_convert(device):
    @cuda.jit("int32(float64, int32)", device=True)
    def truncated(x, y):
        return x * y

    @cuda.jit
    def kernel(out):
        out[0] = truncated(2.75, 2.9)

    out = np.zeros(1)
    kernel[1, 1](out)
    assert out[0] == math.trunc(2.75 * 2)


def test_the_best_of_several_declared_device_functions(device):
    @cuda.jit(["int32(int32, int32)", "float64(float64, float64)", "float32(float32, int64)"], device=True)
    def quotient(x, y):
        return x / y

    @cuda.jit
    def kernel(out):
        out[0] = quotient(np.int8(5), np.int16(2))  # widened to int32, and so is the result
        out[1] = quotient(5.0, np.int8(2))
        out[2] = quotient(np.float32(5), 3)

    out = np.zeros(3)
    kernel[1, 1](out)
    np.testing.assert_array_equal(out, [2, 2.5, np.float32(5) / np.float32(3)])


def test_declared_device_functions_take_tuples(device):
    @cuda.jit("int32(UniTuple(int32, 2), float32[::1])", device=True)
    def pick(pair, x):
        return pair[1] + x[pair[0]]

    @cuda.jit
    def kernel(out, x, n):
        out[0] = pick((n, 2.75), x)

    out = np.zeros(1)
    kernel[1, 1](out, np.array([1, 20], np.float32), np.int64(1))
    assert out[0] == 22


def test_declared_device_functions_refuse(device):
    @cuda.jit("float32(float32[:, :], int32)", device=True)
    def cell(x, i):
        return x[i, 0]

    @cuda.jit
    def kernel(out, x, i):
        out[0] = cell(x, i)

    out = np.zeros(1)
    kernel[1, 1](out, np.full((2, 2), 3, np.float32).T, 1.9)
    assert out[0] == 3
    for x, i in ((np.ones((2, 2)), 1), (np.ones(2, np.float32), 1), (np.ones((2, 2), np.float32), 1j)):
        with pytest.raises(KernelTypeError, match="no signature of `cell`"):
            kernel[1, 1](out, x, i)


def test_kernels_call_kernels(device):
    @cuda.jit
    def inner(x, n):
        for i in range(n):
            x[i] += 1
        return n

    @cuda.jit
    def outer(x):
        x[0] = inner(x[1:], 2) + 5

    x = np.zeros(4, np.int32)
    outer[1, 1](x)
    np.testing.assert_array_equal(x, [7, 1, 1, 0])


def test_declared_signatures_are_checked_at_once(device):
    def wrong(x):
        x[0] = x.no_such_attribute

    def late(x):
        x[0] = is_defined_nowhere(x)  # noqa: F821

    for options in ({}, {"device": True}):
        with pytest.raises(KernelNameError, match="no_such_attribute"):
            cuda.jit("void(float32[:])", **options)(wrong)
        with pytest.raises(KernelNameError, match="is_defined_nowhere"):
            cuda.jit([(int32[:],), (float32[:],)], **options)(late)


def test_what_kernels_have_not_is_told_at_the_launch(device):
    @cuda.jit("int64(int64)", device=True)
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    @cuda.jit("void(int64[:])")
    def kernel(x):
        x[0] = fibonacci(x[0])

    @cuda.jit("void(int64[:])")
    def sets(x):
        x[0] = len({1, 2})

    for wrong in (kernel, sets):
        with pytest.raises(UnsupportedError):
            wrong[1, 1](np.ones(1, np.int64))


def test_kernels_are_compiled_for_types(device):
    @cuda.jit
    def put(x):
        x[0] = 1

    special = put.specialize(float32[::1])
    assert put.specialize(np.zeros(3, np.float32)) is special is put.specialize(float32[::1])
    assert put.specialize(float32[:]) is not special
    x = np.zeros(2, np.float32)
    special[1, 1](x)
    assert x[0] == 1
    found = put.compile(void(int32[::1]))
    assert found is put.compile((int32[::1],))
    count = len(put.overloads)
    put[1, 1](np.zeros(2, np.int32))
    assert len(put.overloads) == count
    with pytest.raises(SpecialisationError):
        special.specialize(int32[::1])


def test_defaults_of_device_functions(device):
    @cuda.jit(device=True)
    def line(x, slope=2.0, offset=1):
        return slope * x + offset

    @cuda.jit
    def kernel(out):
        out[0] = line(3.0)
        out[1] = line(3.0, 5.0)
        out[2] = line(3.0, offset=10)
        out[3] = line(offset=0, x=1.5)

    out = np.zeros(4)
    kernel[1, 1](out)
    np.testing.assert_array_equal(out, [7, 16, 16, 3])


def test_types_as_dtypes_and_conversions(device):
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(4, dtype=float32)
        own = cuda.local.array((2,), int32)
        tile[0] = 1.5
        own[1] = int32(7.9)
        out[0] = float64(tile[0]) + own[1] + cuda.float32(0.25)

    out = np.zeros(1)
    kernel[1, 1](out)
    assert out[0] == 8.75
    assert cuda.device_array(3, float32).dtype == np.float32


def test_bools_in_signatures(device):
    @cuda.jit("void(b1, i8[:], boolean)")
    def kernel(flag, out, other):
        out[0] = 1 if flag else 2
        out[1] = other

    out = np.zeros(2, np.int64)
    kernel[1, 1](True, out, np.bool_(True))
    assert list(out) == [1, 1]
    kernel[1, 1](np.False_, out, 0)
    assert list(out) == [2, 0]


def test_bit_patterns_of_signed_parameters(device):
    @cuda.jit("void(int64[:], int32)")
    def kernel(out, mask):
        out[0] = mask

    out = np.zeros(1, np.int64)
    kernel[1, 1](out, 0xFFFFFFFE)
    assert out[0] == -2
    with pytest.raises(ArgumentTypeError, match="does not fit"):
        kernel[1, 1](out, 2**32)
