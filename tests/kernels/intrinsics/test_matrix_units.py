"""Matrix units: numbers where a device has them, refusals elsewhere, and the text that is made for them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from opencl_text import text_of

from portagpu import cuda, errors
from portagpu.backends.opencl.ptx import architecture as architecture_ptx
from portagpu.device.ideal_device import IDEAL


@cuda.jit
def multiply_fragments(a, b, c):
    """One warp: c (16, 8) += a (16, 8) @ b (8, 8) in TF32, by PTX's layout of fragments."""
    lane = cuda.threadIdx.x
    row, column = lane // 4, lane % 4
    left = cuda.local.array(4, np.float32)
    right = cuda.local.array(2, np.float32)
    acc = cuda.local.array((1, 4), np.float32)
    for i in cuda.unroll(range(4)):
        left[i] = a[row + i % 2 * 8, column + i // 2 * 4]
        acc[0, i] = c[row + i // 2 * 8, column * 2 + i % 2]
    for i in cuda.unroll(range(2)):
        right[i] = b[column + i * 4, row]
    cuda.mma_sync("m16n8k8", "tfloat32", acc[0], left, right)
    for i in cuda.unroll(range(4)):
        c[row + i // 2 * 8, column * 2 + i % 2] = acc[0, i]


@cuda.jit
def multiply_doubles(a, b, c):
    """One warp: c (8, 8) += a (8, 4) @ b (4, 8)."""
    lane = cuda.threadIdx.x
    left = cuda.local.array(1, np.float64)
    right = cuda.local.array(1, np.float64)
    acc = cuda.local.array(2, np.float64)
    left[0] = a[lane // 4, lane % 4]
    right[0] = b[lane % 4, lane // 4]
    for i in cuda.unroll(range(2)):
        acc[i] = c[lane // 4, lane % 4 * 2 + i]
    cuda.mma_sync("m8n8k4", "float64", acc, left, right)
    for i in cuda.unroll(range(2)):
        c[lane // 4, lane % 4 * 2 + i] = acc[i]


@pytest.mark.parametrize(
    "kernel, dtype, shape", [(multiply_fragments, "float32", (16, 8, 8)), (multiply_doubles, "float64", (8, 8, 4))]
)
def test_mma_sync(device, kernel, dtype, shape):
    m, n, k = shape
    generator = np.random.default_rng(3)
    a, b, c = (generator.integers(-8, 8, s).astype(dtype) for s in ((m, k), (k, n), (m, n)))
    result = c.copy()
    if device.capabilities.ptx_target < (8, 0):
        with pytest.raises(errors.MissingCapabilityError, match=r"compute capability 8\.0"):
            kernel[1, 32](a, b, result)
        return
    kernel[1, 32](a, b, result)
    assert np.array_equal(result, c + a @ b)


@cuda.jit
def pack(x, y, halves, brains):
    i = cuda.grid(1)
    if i < x.size:
        halves[i] = cuda.pack_half2(x[i], y[i])
        brains[i] = cuda.pack_bfloat162(x[i], y[i])


def test_packing_rounds_to_nearest_even(device):
    generator = np.random.default_rng(4)
    x = generator.integers(0, 2**32, 4096, dtype=np.uint64).astype(np.uint32).view(np.float32)
    x[:6] = (np.inf, -np.inf, np.nan, 65519.996, 65520.0, -0.0)
    y = generator.standard_normal(4096).astype(np.float32)
    halves, brains = np.zeros(4096, np.uint32), np.zeros(4096, np.uint32)
    pack[16, 256](x, y, halves, brains)
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = x.astype(np.float16), y.astype(np.float16)
    found_low, found_high = (halves & 0xFFFF).astype(np.uint16).view(np.float16), (halves >> 16).astype(np.uint16)
    assert np.array_equal(found_low, low, equal_nan=True)
    assert np.array_equal(found_high.view(np.float16), high)

    def rounded(values):
        bits = values.view(np.uint32).astype(np.uint64)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)

    numbers = ~np.isnan(x)
    assert np.array_equal((brains & 0xFFFF).astype(np.uint16)[numbers], rounded(x)[numbers])
    assert np.array_equal((brains >> 16).astype(np.uint16), rounded(y))
    widened = ((brains & 0xFFFF) << 16).astype(np.uint32).view(np.float32)
    assert np.isnan(widened[~numbers]).all()


@cuda.jit
def to_tf32(x, rounded):
    i = cuda.grid(1)
    if i < x.size:
        rounded[i] = cuda.float_to_tf32(x[i])


def test_tf32_rounds_to_nearest(device):
    generator = np.random.default_rng(5)
    bits = generator.integers(0, 2**32, 4096, dtype=np.uint64).astype(np.uint32)
    # halfway, below it, up to the next power of two, the largest number, infinities, numbers that are none, zeros
    bits[:4] = (0x3F801000, 0x3F800FFF, 0x3FFFF000, 0x7F7FFFFF)
    bits[4:11] = (0x7F800000, 0xFF800000, 0x7FFFFFFF, 0xFFC00001, 0x7F800001, 0, 0x80000000)
    x = bits.view(np.float32)
    rounded = np.zeros(4096, np.float32)
    to_tf32[16, 256](x, rounded)
    finite = np.isfinite(x)
    expected = ((bits[finite].astype(np.uint64) + 0x1000) & 0xFFFFE000).astype(np.uint32)
    assert np.array_equal(rounded[finite].view(np.uint32), expected)
    assert np.array_equal(rounded[~finite], x[~finite], equal_nan=True)


@cuda.jit
def groups(target, maps):
    tile = cuda.shared.array((2, 64 * 64), np.uint16, alignment=1024)
    bars = cuda.shared.array(2, np.uint64)
    words = cuda.local.array(4, np.uint32)
    acc = cuda.local.array((2, 16), np.float32)
    cuda.setmaxnreg(232, True)
    cuda.mbarrier_init(bars, 0, 1)
    cuda.fence_proxy_async()
    cuda.mbarrier_arrive_expect_tx(bars, 0, 8192)
    cuda.mbarrier_arrive(bars, 1)
    cuda.tensor_map_encode(maps, 0, target, target.shape, (128,), (64, 32), 128, "float32")
    cuda.tensor_map_acquire(maps, 0)
    cuda.tma_load(tile, (0, 0), maps, 0, (0, 64), bars, 0)
    cuda.mbarrier_wait_parity(bars, 0, 0)
    cuda.barrier_sync(1, 128)
    cuda.ldmatrix(words, tile, (0, 0), transposed=True)
    address = np.uint64(cuda.shared_address(tile, (1, 0)))
    cuda.wgmma_fence()
    cuda.wgmma(32, "float16", acc[1], address, address, accumulate=False, transpose_b=True)
    cuda.wgmma(32, "bfloat16", acc[1], words, address, accumulate=target[0, 0] > 0)
    cuda.wgmma_commit_group()
    cuda.wgmma_wait_group(0)
    cuda.tma_store(maps, 0, (0, 0), tile, (0, 0))
    cuda.tma_store_commit()
    cuda.tma_store_wait(0)
    target[0, 0] = acc[1, 3]


HOPPER = dataclasses.replace(IDEAL, local_memory_static=227 * 1024)


def test_text_for_warp_groups(device):
    maps, target = cuda.device_array(16, np.uint64), cuda.device_array((64, 32), np.float32)
    text = text_of(groups, target, maps, caps=HOPPER)
    assert architecture_ptx.is_marked(text)
    assert "aligned(1024)" in text
    compiled = f".version 8.0\n.target sm_90, texmode_independent\n.entry k\n.reqntid 128, 1, 1\n{text}\n".encode()
    real = architecture_ptx.unmarked(compiled).decode()
    assert ".target sm_90a," in real and architecture_ptx.MARK not in real
    assert ".maxntid 128, 1, 1\n.minnctapersm 1" in real
    for instruction in (
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0",
        "setmaxnreg.inc.sync.aligned.u32 232;",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];",
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];",
        "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%0], 3;",
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];",
    ):
        assert instruction in real


def test_what_a_device_lacks_is_refused(device):
    if device.capabilities.architecture_ptx:
        pytest.skip("this device has it")
    maps, target = cuda.device_array(16, np.uint64), cuda.device_array((64, 32), np.float32)
    with pytest.raises(errors.MissingCapabilityError, match="setmaxnreg exists on CUDA GPUs of compute capability 9"):
        groups[1, 128](target, maps)


@cuda.jit
def wrong_shape(c):
    acc = cuda.local.array(4, np.float32)
    cuda.mma_sync("m16n8k99", "float16", acc, acc, acc)
    c[0] = acc[0]


@cuda.jit
def wrong_size(c):
    acc = cuda.local.array(8, np.float32)
    words = cuda.local.array(4, np.uint32)
    cuda.mma_sync("m16n8k16", "float16", acc, words, words)
    c[0] = acc[0]


@cuda.jit
def unknown_place(c):
    acc = cuda.local.array((2, 4), np.float32)
    words = cuda.local.array(4, np.uint32)
    half = cuda.local.array(2, np.uint32)
    for i in range(c.size):
        cuda.mma_sync("m16n8k16", "float16", acc[i], words, half)
    c[0] = acc[0, 0]


@pytest.mark.parametrize(
    "kernel, error, words",
    [
        (wrong_shape, errors.KernelValueError, "no shape 'm16n8k99'"),
        (wrong_size, errors.KernelTypeError, "local array of 4 float32"),
        (unknown_place, errors.KernelValueError, "known at compile time"),
    ],
)
def test_wrong_fragments(device, kernel, error, words):
    with pytest.raises(error, match=words):
        text_of(kernel, cuda.device_array(2, np.float32), caps=HOPPER)
