"""CUDA's vector types x1 to x4: constructors, fields, device functions, arrays of them."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.cuda import float32x3, int64x2, uint8x4
from portagpu.errors import KernelError

pytestmark = pytest.mark.oclgrind
BASES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
ALIASES = {"char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32"}
ALIASES |= {"long": "int64", "ulong": "uint64", "longlong": "int64", "ulonglong": "uint64"}
ALIASES |= {"float": "float32", "double": "float64"}


@pytest.mark.parametrize("base", BASES)
def test_fields_in_order(device, base):
    if base == "float64" and not device.capabilities.fp64:
        pytest.skip("no float64")
    one, two, three, four = (getattr(cuda, f"{base}x{n}") for n in (1, 2, 3, 4))

    @cuda.jit
    def kernel(out):
        a = one(1)
        b = two(2, 3)
        c = three(4, 5, 6)
        d = four(7, 8, 9, 10)
        out[0] = a.x
        out[1], out[2] = b.x, b.y
        out[3], out[4], out[5] = c.x, c.y, c.z
        out[6], out[7], out[8], out[9] = d.x, d.y, d.z, d.w

    out = np.zeros(10, base)
    kernel[1, 1](out)
    np.testing.assert_array_equal(out, np.arange(1, 11))


def test_constructors_mix_numbers_and_vectors(device):
    @cuda.jit
    def kernel(out):
        zero = np.float32(0)
        pair = cuda.float32x2(1.0, 2.0)
        single = cuda.float32x1(9.0)
        a = float32x3(zero, pair)
        b = cuda.float4(pair, pair)
        c = cuda.float4(single, a)
        out[0], out[1], out[2] = a.x, a.y, a.z
        out[3], out[4], out[5], out[6] = b.x, b.y, b.z, b.w
        out[7], out[8], out[9], out[10] = c.x, c.y, c.z, c.w
        out[11] = (single * 2 + single).x

    out = np.zeros(12, np.float32)
    kernel[1, 1](out)
    np.testing.assert_array_equal(out, [0, 1, 2, 1, 2, 1, 2, 9, 0, 1, 2, 27])


def test_names_of_cuda():
    for alias, base in ALIASES.items():
        for lanes in (1, 2, 3, 4):
            assert getattr(cuda, f"{alias}{lanes}") is getattr(cuda, f"{base}x{lanes}")
    assert cuda.float32x4.aliases == ("float4",)
    assert cuda.int64x2.aliases == ("long2", "longlong2")
    assert cuda.int32x16.aliases == cuda.uint32x8.aliases == ()
    assert len(cuda.vector_types.vector_types) == 40
    assert cuda.uint8 != cuda.uint32x2 and cuda.int16 != cuda.int32x4


@cuda.jit(device=True)
def swapped(v):
    return cuda.int64x2(v.y, v.x)


def test_functions_and_arrays_of_vectors(device):
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(4, int64x2)
        own = cuda.local.array(2, uint8x4)
        ones = cuda.local.array(2, cuda.int32x1)
        t = cuda.threadIdx.x
        tile[t] = int64x2(t, 10 * t)
        own[t % 2] = uint8x4(t, 1, 2, 3)
        ones[t % 2] = cuda.int32x1(t)
        cuda.syncthreads()
        v = swapped(tile[3 - t])
        out[t, 0], out[t, 1] = v.x, v.y
        out[t, 2] = own[t % 2].x + own[t % 2].w
        out[t, 3] = ones[t % 2].x

    out = np.zeros((4, 4), np.int64)
    kernel[1, 4](out)
    t = np.arange(4)
    np.testing.assert_array_equal(out, np.stack([10 * (3 - t), 3 - t, t + 3, t], axis=1))


def test_fields_are_read_only(device):
    @cuda.jit
    def kernel(out):
        v = cuda.float32x2(1, 2)
        v.x = 3
        out[0] = v.x

    with pytest.raises(KernelError):
        kernel[1, 1](np.zeros(1, np.float32))
