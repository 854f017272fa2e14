"""vload and vstore of every dtype, width and memory, and views of vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda
from portagpu.errors import KernelTypeError, KernelValueError

pytestmark = pytest.mark.oclgrind
DTYPES = ["int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32", "int64", "float64"]
WIDTHS = [2, 3, 4, 8, 16]


def bits(dtype, n, seed=1):
    """Numbers of all bit patterns; floats are finite."""
    found = np.random.default_rng(seed).integers(0, 256, n * np.dtype(dtype).itemsize, dtype=np.uint8).view(dtype)
    if found.dtype.kind == "f":
        found = np.where(np.isfinite(found), found, np.array(1.5, dtype))
    return found


def skip_missing(device, dtype):
    if dtype == "float64" and not device.capabilities.fp64:
        pytest.skip("no float64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_global_shared_and_local_arrays(device, dtype):
    skip_missing(device, dtype)
    kind = np.dtype(dtype)

    @cuda.jit
    def kernel(x, out, shift, aligned: cuda.constexpr):
        tile = cuda.shared.array(8 * 16 + 8, kind)
        own = cuda.local.array(16 + 8, kind)
        i = cuda.threadIdx.x
        for n in cuda.unroll(range(5)):
            width = WIDTHS[n]
            cuda.vstore(cuda.vload(x, i * width + shift, width, aligned), own, shift, aligned)
            cuda.syncthreads()
            cuda.vstore(cuda.vload(own, shift, width, aligned), tile, i * width + shift, aligned)
            cuda.syncthreads()
            v = cuda.vload(tile, (7 - i) * width + shift, width, aligned)
            cuda.vstore(v, out, (n, i * width + shift), aligned)

    x = cuda.to_device(bits(dtype, 8 * 16 + 8))
    for shift, aligned in ((0, True), (0, False), (1, False), (3, False)):
        out = cuda.to_device(np.zeros((5, 8 * 16 + 16), dtype))
        kernel[1, 8](x, out, shift, aligned)
        for width, got in zip(WIDTHS, out.copy_to_host(), strict=True):
            end = shift + 8 * width
            host = x.copy_to_host()[shift:end].reshape(8, width)
            assert np.array_equal(got[shift:end].view(np.uint8), host[::-1].reshape(-1).view(np.uint8))
            assert not got[:shift].any() and not got[end:].any()


@pytest.mark.parametrize("width", [2, 3, 16])
def test_arithmetic_of_float16_vectors_rounds_as_numpy_does(device, width):
    lanes = getattr(cuda, f"float16x{width}")
    wide = getattr(cuda, f"float32x{width}")

    @cuda.jit
    def kernel(x, y, out, products, lasts):
        i = cuda.grid(1)
        a, b = cuda.vload(x, i * width, width), cuda.vload(y, i * width, width)
        cuda.vstore(-(a * b + a) / lanes(np.float16(3)) if i % 2 == 0 else a - b, out, i * width)
        cuda.vstore(wide(a) * wide(b), products, i * width)
        held = cuda.local.array(2, lanes)
        held[i % 2] = lanes(wide(a) * wide(b))
        lasts[i] = held[i % 2][width - 1]

    x, y = (np.random.default_rng(s).standard_normal((64, width)).astype(np.float16) for s in (1, 2))
    out, products, lasts = np.zeros_like(x), np.zeros((64, width), np.float32), np.zeros(64, np.float16)
    kernel[2, 32](x.reshape(-1), y.reshape(-1), out.reshape(-1), products.reshape(-1), lasts)
    expected = -(x * y + x) / np.float16(3)
    expected[1::2] = (x - y)[1::2]
    # a device that has half arithmetic may fuse a product with a sum
    np.testing.assert_allclose(out, expected, rtol=2e-3, atol=1e-3)
    assert np.array_equal(products, x.astype(np.float32) * y.astype(np.float32))
    assert np.array_equal(lasts, products.astype(np.float16)[:, -1])


@cuda.jit
def reinterpret(words, halves, bytes_, floats, back):
    v = cuda.vload(words, 0, 4)
    cuda.vstore(v.view(np.float16), halves, 0)
    cuda.vstore(v.view(cuda.int8x16), bytes_, 0)
    cuda.vstore(v.view(np.float32), floats, 0)
    cuda.vstore(cuda.vload(halves, 0, 8).view(cuda.uint32x4), back, 0)
    back[4] = cuda.vload(bytes_, 4, 4).view(np.uint32)
    back[5] = np.uint32(halves[0].view(np.uint16))


@given(words=st.lists(st.integers(0, 2**32 - 1), min_size=4, max_size=4))
def test_views_keep_the_bits(words):
    x = np.array(words, np.uint32)
    assume_finite = x.view(np.float16)
    assume_finite[np.isnan(assume_finite)] = 1
    floats = x.view(np.float32)
    floats[np.isnan(floats)] = 2
    outputs = np.zeros(8, np.float16), np.zeros(16, np.int8), np.zeros(4, np.float32), np.zeros(6, np.uint32)
    reinterpret[1, 1](x, *outputs)
    for got in outputs[:3]:
        assert np.array_equal(got.view(np.uint32), x)
    assert outputs[3].tolist() == [*x.tolist(), int(x[1]), int(x.view(np.uint16)[0])]


def test_views_of_bfloat16_bits(device):
    @cuda.jit
    def kernel(words, out, packed):
        v = cuda.vload(words, 0, 4).view(cuda.bfloat16)
        cuda.vstore(v, out, 0)
        low, high = cuda.float32x4(v[0], v[2], v[4], v[6]), cuda.float32x4(v[1], v[3], v[5], v[7])
        upper = cuda.bfloat16(high * np.float32(1)).view(np.uint32)
        cuda.vstore(cuda.bfloat16(low).view(np.uint32) >> 16 | upper, packed, 0)

    x = np.array([0x3F803F00, 0x40404000, 0xC080C000, 0x7F800080], np.uint32)
    out, packed = np.zeros(8, np.float32), np.zeros(4, np.uint32)
    kernel[1, 1](x, out, packed)
    expected = (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    assert np.array_equal(out, expected)
    assert np.array_equal(packed, x)


def test_views_of_other_sizes_are_refused(device):
    @cuda.jit
    def other_size(x):
        cuda.vstore(cuda.vload(x, 0, 4).view(cuda.float32x2), x, 0)

    @cuda.jit
    def three_lanes(x):
        cuda.vstore(cuda.vload(x, 0, 3).view(cuda.uint32x3), x, 0)

    with pytest.raises(KernelValueError, match="they differ in size"):
        other_size[1, 1](np.zeros(4, np.float32))
    with pytest.raises(KernelTypeError, match="cannot be viewed"):
        three_lanes[1, 1](np.zeros(4, np.float32))
