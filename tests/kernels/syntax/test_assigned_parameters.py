"""Parameters that a kernel only writes, names that a loop leaves to its ``else``, a -1 that only the launch knows."""

# ruff: noqa: F841

from __future__ import annotations

import numpy as np
import pytest
from helpers.programs import define

from portagpu import cuda
from portagpu.errors import KernelTypeError, KernelValueError


@cuda.jit
def _only_written(a, b, c, d, e, out):
    if out[0] > 3:
        a = 1
    else:
        a = 2
    for _ in range(3):
        b = 2.5
    while out[0] < 2:
        out[0] += 1
        c = 4
    else:
        c = 5
    for d in range(4):
        pass
    a = c
    e += 1


@cuda.jit(device=True)
def _writes_its_own(x, y):
    x = y
    return y + 1


@cuda.jit
def _through_a_function(n, out):
    n = 7
    out[0] = _writes_its_own(out[0], out[1])


def test_parameters_that_are_only_written(device):
    out = np.zeros(2)
    _only_written[1, 1](1, 2.5, np.int8(3), 4, 5, out)
    assert out[0] == 2
    _through_a_function[1, 1](3, out)
    assert out[0] == 1


def _find(limit, wanted, out):
    for i in range(limit):
        if i == wanted:
            z = wanted
            break
    else:
        z = i * 2
    out[0] = z
    for j in range(3):
        w = j * 2.5
    else:
        out[1] = w + j
    n = 0
    while n < 3:
        v = n * 3
        n += 1
    else:
        out[2] = v


def test_the_else_of_a_loop_reads_what_its_body_set(device):
    kernel = cuda.jit(_find)
    for limit, wanted in ((5, 9), (5, 3)):
        out, expected = np.zeros(3), np.zeros(3)
        kernel[1, 1](limit, wanted, out)
        _find(limit, wanted, expected)
        np.testing.assert_array_equal(out, expected)


@cuda.jit
def _reshaped(x, shape, out, extents):
    y = x.reshape(shape)
    for n in range(len(shape)):
        extents[n] = y.shape[n]
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            out[i * y.shape[1] + j] = y[i, j]


@cuda.jit
def _flattened(x, n, out):
    y = x.reshape(n)
    out[0] = y.shape[0]
    out[1] = y[y.shape[0] - 1]


def test_reshape_works_out_an_extent_at_the_launch(device):
    x = np.arange(24).reshape(2, 12)
    for rows, columns in ((4, 6), (-1, 6), (4, -1), (-1, 1), (1, -1)):
        out, extents = np.zeros(24, np.int64), np.zeros(2, np.int64)
        _reshaped[1, 1](x, (rows, columns), out, extents)
        assert tuple(extents) == x.reshape(rows, columns).shape
        np.testing.assert_array_equal(out, x.ravel())
    for n in (-1, 24):
        out = np.zeros(2, np.int64)
        _flattened[1, 1](x, n, out)
        assert list(out) == [24, 23]


def test_reshape_works_out_one_extent_only(device):
    @cuda.jit
    def kernel(x):
        x[0] = x.reshape((-1, -1))[0, 0]

    with pytest.raises(KernelValueError, match="one extent only"):
        kernel[1, 1](np.zeros(4))


def test_shapes_are_integers(device):
    """Of any integer type, as in NumPy; floats are refused, not cut."""

    @cuda.jit
    def reshaped(x, n, out):
        out[0] = x.reshape(n, 2).shape[0]

    @cuda.jit("void(CPointer(float64), int64[:], float64)")
    def by_kind(p, out, n):
        out[0] = cuda.farray(p, (np.int16(n), 2)).shape[0] + cuda.carray(p, np.uint64(n)).shape[0]

    x = np.zeros(8)
    for kind in (np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float32, np.float64):
        out = np.zeros(1, np.int64)
        if np.dtype(kind).kind == "f":
            with pytest.raises(KernelTypeError, match="reshape needs integers as the shape, not float"):
                reshaped[1, 1](x, kind(4), out)
        else:
            reshaped[1, 1](x, kind(4), out)
            assert out[0] == 4
    by_kind[1, 1](cuda.to_device(x), out, 4.0)
    assert out[0] == 8
    for name in ("carray", "farray"):
        text = f"def kernel(p, n):\n    cuda.{name}(p, (2, n))[0, 0] = 1\n"
        with pytest.raises(KernelTypeError, match=f"{name} needs integers as the shape, not float64"):
            cuda.jit("void(CPointer(float64), float64)")(define(text, "kernel"))


@cuda.jit
def _bit_counts(values, python, out):
    for n, x in cuda.literal_unroll(((0, values[0]), (1, values[1]), (2, values[2]), (3, values[3]), (4, python))):
        out[n] = x.bit_count()
    out[5] = (python + 1).bit_count()
    out[6] = (255).bit_count()
    out[7] = np.int16(-3).bit_count()


@pytest.mark.parametrize("sign", ["", "u"])
def test_bits_are_counted_as_in_numpy(device, sign):
    values = tuple(np.iinfo(f"{sign}int{b}").min + np.dtype(f"{sign}int{b}").type(5) for b in (8, 16, 32, 64))
    out = np.zeros(8, np.int64)
    _bit_counts[1, 1](values, -7, out)
    expected = [int(np.bitwise_count(v)) for v in values]
    assert list(out) == [*expected, 3, 2, 8, 2]


@cuda.jit
def _named_dtypes(out):
    a = cuda.local.array(2, np.dtype("f4"))
    b = cuda.shared.array(2, dtype=np.dtype("int16"))
    a[0] = 1.5
    b[0] = 70000 - 65536
    out[0] = a[0] + b[0]


def test_dtypes_are_made_of_constants(device):
    out = np.zeros(1)
    _named_dtypes[1, 1](out)
    assert out[0] == 4465.5


@cuda.jit
def _aligned(n, out):
    a = cuda.local.array(3, np.int32, alignment=256)
    b = cuda.local.array((2, 2), np.float64)
    for i in range(3):
        a[(n + i) % 3] = i
    for i in range(4):
        b[i // 2, i % 2] = i
    out[0] = a[n] + b[1, n]


def test_local_arrays_are_aligned(device):
    out = np.zeros(1)
    _aligned[1, 1](1, out)
    assert out[0] == 3
    (text,) = _aligned.inspect_opencl().values()
    assert "aligned(256)" in text


@pytest.mark.parametrize("wrong", [3, 0, -1, 1.5, "16", 4096])
def test_wrong_alignments(wrong):
    def of_thread():
        cuda.local.array(4, np.int32, alignment=wrong)

    def of_block():
        cuda.shared.array(4, np.int32, alignment=wrong)

    for kernel in (of_thread, of_block):
        with pytest.raises(KernelValueError, match="must be a constant power of two"):
            cuda.jit("void()")(kernel)
