"""Arrays and numbers that kernels capture: every dtype with its extreme and non-finite values, bit by bit."""

import ml_dtypes
import numpy as np
import pytest

from portagpu import cuda


def _extremes(dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([True, False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array([limits.min, limits.max, 0, 1, limits.min + 1], dtype)
    limits = ml_dtypes.finfo(dtype)
    small, large = float(limits.smallest_subnormal), float(limits.max)
    found = [np.nan, np.inf, -np.inf, -0.0, 0.0, small, -small, float(limits.tiny), large, -large, 1 / 3]
    if dtype.kind == "c":
        found = [complex(a, b) for a in found for b in (np.nan, -np.inf, -0.0, 1.5)]
    return np.array(found, dtype)


_REAL = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16]
_EXACT = [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
_DTYPES = [*_REAL, np.complex64, np.complex128, *_EXACT]


def _same_bits(a, b):
    nan = a != a
    return np.array_equal(nan, b != b) and a[~nan].tobytes() == b[~nan].tobytes()


@pytest.mark.parametrize("dtype", _DTYPES, ids=lambda d: np.dtype(d).name)
def test_arrays(device, dtype):
    values, finite = _extremes(dtype), np.ones(3, dtype)

    @cuda.jit
    def kernel(out, rest):
        i = cuda.grid(1)
        copied = cuda.const.array_like(values)
        if i < values.size:
            out[i] = values[i]
            rest[i] = copied[values.size - 1 - i]
            if values.size > 3:
                out[i] = out[i]
        if i < 3:
            rest[i + values.size] = finite[i]

    out, rest = np.full(values.size, 1, dtype), np.zeros(values.size + 3, dtype)
    kernel[1, 64](out, rest)
    assert _same_bits(out, values)
    assert _same_bits(rest, np.concatenate([values[::-1], finite]))


def test_signs_and_payloads_of_nan_stay(device):
    bits = np.array([0x7FF8DEAD00000001, 0xFFF8000000000002, 0x7FF8000000000000], np.uint64)
    values = bits.view(np.float64)

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < 3:
            out[i] = values[i]

    out = np.zeros(3)
    kernel[1, 4](out)
    assert np.array_equal(out.view(np.uint64), bits)


_NUMBERS = (
    *(np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7976931348623157e308),
    *(np.float32("nan"), np.float32("-inf"), np.float32(1e-45), np.float32(3.4028235e38)),
    *(complex(np.nan, -np.inf), complex(-0.0, np.inf), -(2**63), 2**63 - 1, True, np.int64(-(2**63))),
)


def test_numbers(device):
    (a, b, c, d, e, f, g, h, i, j, k, q, m, n, o, p) = _NUMBERS

    @cuda.jit
    def kernel(real, single, both, whole):
        real[0] = a
        real[1] = b
        real[2] = c
        real[3] = d
        real[4] = e
        real[5] = f
        single[0] = g
        single[1] = h
        single[2] = i
        single[3] = j
        both[0] = k
        both[1] = q
        whole[0] = m
        whole[1] = n
        whole[2] = o
        whole[3] = p

    found = np.zeros(6), np.zeros(4, np.float32), np.zeros(2, np.complex128), np.zeros(4, np.int64)
    kernel[1, 1](*found)
    parts = _NUMBERS[:6], _NUMBERS[6:10], _NUMBERS[10:12], _NUMBERS[12:]
    for array, part in zip(found, parts, strict=True):
        expected = np.array(part, array.dtype)
        assert _same_bits(array.view(np.float64), expected.view(np.float64)) if array.dtype.kind == "c" else True
        assert array.dtype.kind == "c" or _same_bits(array, expected)


def test_an_empty_array(device):
    nothing = np.zeros(0)

    @cuda.jit
    def kernel(out):
        out[0] = nothing.size
        for i in range(nothing.size):
            out[0] = nothing[i]

    out = np.ones(1)
    kernel[1, 1](out)
    assert out[0] == 0


def test_records(device):
    rows = np.array([(np.inf, 2, np.nan), (-0.0, 3, -np.inf)], [("a", "f4"), ("b", "i2"), ("c", "f8")])

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < 2:
            out[i] = rows[i].a
            out[i + 2] = rows[i].c

    out = np.zeros(4)
    kernel[1, 2](out)
    assert _same_bits(out, np.array([np.inf, -0.0, np.nan, -np.inf]))
