"""bfloat16 arrays: elements are read as float32 and rounded to nearest even when they are stored."""

import dataclasses

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda, guvectorize, types, vectorize
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.backends.opencl.ptx.capabilities import from_ptx
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import BFLOAT16, FLOAT32
from portagpu.errors import DTypeError, KernelTypeError, MemoryNotSharedError
from portagpu.frontend.core.bfloat16 import nearest
from portagpu.ir.types import ArrayType, Layout, Scalar

BF16 = ml_dtypes.bfloat16
EVERY = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(BF16)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3.3895314e38, 3.4028235e38, 1e-38], np.float32)


def same(got, wanted):
    """Whether two arrays of floats have the same bits, any nan being as good as any other."""
    bits = np.uint16 if got.dtype.itemsize == 2 else np.uint32
    assert got.dtype == wanted.dtype
    both_nan = np.isnan(got.astype(np.float32)) & np.isnan(wanted.astype(np.float32))
    return bool(np.all((got.view(bits) == wanted.view(bits)) | both_nan))


def floats(seed, n=1 << 16):
    """float32 numbers of all bit patterns, of ties and of their neighbours."""
    words = np.random.default_rng(seed).integers(0, 1 << 32, n, dtype=np.uint64).astype(np.uint32)
    ties = (words & np.uint32(0xFFFF0000)) | np.uint32(0x8000)
    return np.concatenate([words, ties, ties - np.uint32(1), ties + np.uint32(1)]).view(np.float32)


@cuda.jit
def copy(source, target):
    i = cuda.grid(1)
    if i < target.size:
        target[i] = source[i]


def copied(source, dtype):
    target = cuda.device_array(source.shape, dtype)
    copy[-(-source.size // 256), 256](cuda.to_device(source), target)
    return target.copy_to_host()


def test_every_value_is_read_exactly(device):
    assert same(copied(EVERY, np.float32), EVERY.astype(np.float32))
    assert same(copied(EVERY, BF16), EVERY)


def test_stores_round_to_nearest_even(device):
    x = np.concatenate([SPECIAL, floats(1)])
    with np.errstate(all="ignore"):
        assert same(copied(x, BF16), x.astype(BF16))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "float16", "float64"])
def test_other_numbers_are_stored_through_float32(device, dtype):
    if dtype == "float64" and not device.capabilities.fp64:
        pytest.skip("no float64")
    x = np.random.default_rng(2).integers(0, 255, 4096, dtype=np.uint8).view(dtype)
    with np.errstate(all="ignore"):
        assert same(copied(x, BF16), x.astype(np.float32).astype(BF16))


@given(value=st.floats(width=32), seed=st.integers(0, 2**32 - 1))
def test_constants_are_rounded_as_ml_dtypes_does(value, seed):
    for number in (value, *floats(seed, 4).tolist()):
        with np.errstate(all="ignore"):
            expected = np.array([number], np.float32).astype(BF16).astype(np.float32)
        assert same(np.array([nearest(number)], np.float32), expected)


@given(value=st.floats(width=32), factor=st.floats(width=32))
def test_arithmetic_is_that_of_float32(value, factor):
    with np.errstate(all="ignore"):
        a, b = np.array([value], np.float32).astype(BF16), np.array([factor], np.float32).astype(BF16)
        expected = a.astype(np.float32) + b.astype(np.float32)
    out = np.zeros(1, np.float32)
    add[1, 1](a, b, out)
    tiny = np.finfo(np.float32).tiny
    assert same(out, expected) or (abs(expected[0]) < tiny and out[0] == 0) or min(abs(a[0]), abs(b[0])) < tiny


@cuda.jit
def add(a, b, out):
    out[0] = a[0] + b[0]


def test_the_converter(device):
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = cuda.bfloat16(x[i]) + cuda.bfloat16(0.1)

    x = floats(3, 1000)
    x = x[np.isfinite(x) & (abs(x) > 1e-30)]
    out = np.zeros_like(x)
    kernel[-(-x.size // 64), 64](x, out)
    with np.errstate(all="ignore"):
        assert same(out, x.astype(BF16).astype(np.float32) + np.float32(BF16(0.1)))


@pytest.mark.oclgrind
def test_shared_and_local_arrays(device):
    @cuda.jit
    def kernel(x, out):
        tile = cuda.shared.array(64, cuda.bfloat16)
        own = cuda.local.array(4, BF16)
        place = cuda.local.array(4, "bfloat16")
        dynamic = cuda.shared.array(0, cuda.bfloat16)
        i = cuda.threadIdx.x
        tile[i] = x[i]
        dynamic[i] = x[i] * 3
        cuda.syncthreads()
        for k in cuda.unroll(range(4)):
            own[k] = tile[63 - i] * (k + 1.1)
            place[(k + i) % 4] = own[k]
        total = dynamic[i]
        for k in range(4):
            total += place[k]
        out[i] = total

    x = np.random.default_rng(4).standard_normal(64).astype(np.float32)
    out = np.zeros(64, np.float32)
    kernel[1, 64, 0, 128](x, out)
    tile = x.astype(BF16).astype(np.float32)[::-1]
    parts = [(tile * np.float32(k + 1.1)).astype(BF16).astype(np.float64) for k in range(4)]
    expected = (x * 3).astype(BF16).astype(np.float64) + sum(parts)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


TABLE = np.array([1.5, -2.25, 3e38, np.inf], np.float32).astype(BF16)


def test_captured_arrays_records_and_reductions(device):
    odd = np.dtype([("k", np.uint8), ("v", BF16)])

    @cuda.jit
    def kernel(records, x, out):
        i = cuda.threadIdx.x
        out[i] = TABLE[i] + records[i].v
        records[i].v = x[i] * 2
        cuda.syncthreads()
        if i == 0:
            out[4] = x.sum()
            out[5] = x.max()
            x[:2] = 7.001

    records = np.zeros(4, odd)
    records["v"] = [1, 2, 3, 4]
    x = np.array([0.5, 1, 1.5, 2], BF16)
    out = np.zeros(6, BF16)
    kernel[1, 4](records, x, out)
    assert out.tolist() == [2.5, -0.25, float(BF16(3e38)), np.inf, 5.0, 2.0]
    assert x.tolist()[:2] == [7, 7]
    assert records["v"].tolist() == [1, 2, 3, 4]


@cuda.jit(device=True)
def multiples(x, i):
    own = cuda.local.array(3, cuda.bfloat16)
    for k in range(3):
        own[k] = x[i] * k
    return own


@pytest.mark.oclgrind
def test_arrays_of_functions_and_of_either_branch(device):
    @cuda.jit
    def kernel(x, y, numbers, factor: cuda.constexpr, out):
        i = cuda.threadIdx.x
        own = multiples(x, i)
        either = x if i % 2 == 0 else y
        out[i] = own[2] + either[i] + numbers[0][i] + numbers[1] * factor
        y[i], x[i] = x[i], y[i]
        either[i] += 1

    x, y, out = np.arange(4).astype(BF16), np.arange(4, 8).astype(BF16), np.zeros(4, np.float32)
    kernel[1, 4](x, y, (np.ones(4, BF16), BF16(0.5)), BF16(0.25), out)
    assert out.tolist() == [1.125, 8.125, 7.125, 14.125]
    assert x.tolist() == [5, 5, 7, 7] and y.tolist() == [0, 2, 2, 4]


@pytest.mark.oclgrind
def test_views_and_asynchronous_copies(device):
    @cuda.jit
    def kernel(x, out, words):
        tile = cuda.shared.array(8, cuda.bfloat16)
        i = cuda.threadIdx.x
        cuda.pipeline_memcpy_async(tile, 2 * i, x, 2 * i, 2)
        cuda.pipeline_commit()
        cuda.pipeline_wait_prior(0)
        cuda.syncthreads()
        out[7 - i], out[3 - i] = tile[i], tile[i + 4]
        words[i] = x.view(np.uint32)[i]
        if i == 0:
            words[4] = np.uint32(x.view(np.uint32).view(cuda.bfloat16)[5])
            words[5] = np.uint32(x.reshape((2, 4))[1, 2] + x.itemsize)

    x, out, words = np.arange(8).astype(BF16), np.zeros(8, BF16), np.zeros(6, np.uint32)
    kernel[1, 4](x, out, words)
    assert out.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    assert np.array_equal(words[:4], x.view(np.uint32)) and words[4:].tolist() == [5, 8]


def test_reductions_and_exceptions(device):
    @cuda.jit(debug=True)
    def checked(x):
        if x[0] > 1:
            raise ValueError("large", x[0])

    with pytest.raises(ValueError, match="large") as error:
        checked[1, 1](np.array([2.5], BF16))
    assert error.value.args[1] == 2.5
    assert cuda.reduce(lambda a, b: a + b)(cuda.to_device(np.arange(8).astype(BF16))) == 28


def test_scalars_and_declared_signatures(device):
    @cuda.jit("void(bfloat16[::1], bfloat16, float32[:])")
    def kernel(x, y, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i] * y

    x = cuda.to_device(np.arange(8).astype(BF16))
    for factor in (BF16(0.1), 0.1, np.float32(0.1)):
        out = cuda.device_array(8, np.float32)
        for _ in range(3):
            kernel[1, 8](x, factor, out)
        assert np.array_equal(out.copy_to_host(), np.arange(8, dtype=np.float32) * np.float32(BF16(0.1)))
    copy[1, 8](np.arange(8).astype(BF16)[::-1], x)
    assert x.copy_to_host().tolist() == list(range(8))[::-1]
    assert str(kernel.signatures[0][0]) == "array(bfloat16, 1d, C)"


def test_device_functions_with_signatures(device):
    @cuda.jit("bfloat16(bfloat16)", device=True)
    def rounded(x):
        return x * 1.01

    @cuda.jit
    def kernel(x, out):
        out[0] = rounded(x[0])

    out = np.zeros(1, np.float32)
    kernel[1, 1](np.array([1.23456], np.float32), out)
    assert out[0] == np.float32((np.float32(BF16(1.23456)) * np.float32(1.01)).astype(BF16))


def test_ufuncs(device):
    @vectorize(["bfloat16(bfloat16, bfloat16)"], target="cuda")
    def product(a, b):
        return a * b

    a = np.linspace(-3, 3, 50).astype(BF16)
    expected = (a.astype(np.float32) * a.astype(np.float32)).astype(BF16)
    assert same(product(a, a), expected)
    assert same(vectorize(lambda a: a * 2.0)(a), a.astype(np.float32) * 2)

    @guvectorize(["void(bfloat16[:], bfloat16[:])"], "(n)->()")
    def total(x, out):
        out[0] = x.sum()

    assert total(np.ones((3, 5), BF16)).tolist() == [5, 5, 5]


def test_host_arrays(device):
    x = np.random.default_rng(5).standard_normal((6, 8)).astype(BF16)
    d = cuda.to_device(x)
    assert d.dtype == BF16 and d.nbytes == 96
    assert same(d.copy_to_host(), x)
    assert same(d[1:4, ::2].copy_to_host(), x[1:4, ::2])
    assert same(d.T.copy().copy_to_host(), x.T)
    assert same(d.view(np.uint16).view(BF16).copy_to_host(), x)
    for dtype in (BF16, cuda.bfloat16, "bfloat16", np.dtype(BF16), types.bfloat16):
        made = cuda.device_array((6, 8), dtype=dtype)
        assert made.dtype == BF16
    made.copy_to_device(d)
    made[2] = 1.5
    made[3, 1:3] = x[0, :2]
    wanted = x.copy()
    wanted[2] = 1.5
    wanted[3, 1:3] = x[0, :2]
    assert same(made.copy_to_host(), wanted)
    assert made[2, 3] == BF16(1.5)
    assert float(made[0, 0]) == float(x[0, 0])
    for kept in (cuda.pinned_array(4, BF16), cuda.mapped_array(4, cuda.bfloat16)):
        kept[:] = 3
        copy[1, 4](np.ones(4, BF16), kept)
        assert kept.tolist() == [1, 1, 1, 1]
    big = np.arange(10_000).astype(BF16)  # shared with the device in place, where it can be
    out = np.zeros_like(big)
    copy[40, 256](big, out)
    assert same(out, big)


def test_exchange_with_other_libraries(device):
    class Wrapper:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    x = cuda.to_device(np.arange(6).astype(BF16))
    assert cuda.as_cuda_array(Wrapper(x[1:])).copy_to_host().tolist() == [1, 2, 3, 4, 5]
    shares = x.context.driver.shares_addresses
    if not shares and not (device.capabilities.host_unified_memory and device.capabilities.device_type.value == "cpu"):
        with pytest.raises(MemoryNotSharedError):
            x.__dlpack__()
        return

    class Exporter:
        __dlpack__ = x[1:].__dlpack__
        __dlpack_device__ = x.__dlpack_device__

    exporters = [Exporter()] if shares else [Exporter(), Old()]  # which is in the host's memory
    for same_memory in map(cuda.from_dlpack, exporters):
        assert same_memory.dtype == BF16
        assert same_memory.copy_to_host().tolist()[-5:] == [1, 2, 3, 4, 5]
    with pytest.raises((BufferError, RuntimeError)):  # NumPy's own reader
        np.from_dlpack(x)


class Old:
    """An exporter from before versions of DLPack."""

    def __dlpack__(self, **options):
        return cuda.to_device(np.arange(6).astype(BF16)).__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


def test_types():
    assert cuda.bfloat16(1.1) == BF16(1.1)
    assert cuda.bfloat16.dtype == BF16 and cuda.bfloat16.bitwidth == 16
    assert str(cuda.typeof(np.zeros(3, BF16))) == "array(bfloat16, 1d, C)"
    assert cuda.from_dtype(BF16) == cuda.bfloat16
    assert str(types.as_signature("void(bfloat16[:, ::1], bfloat16)")) == "void(bfloat16[:, ::1], bfloat16)"


def test_without_ml_dtypes(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("portagpu.dtypes.import_module", missing)
    for attempt in (lambda: cuda.bfloat16(1.0), lambda: cuda.bfloat16.dtype, lambda: cuda.device_array(3, "bfloat16")):
        with pytest.raises(DTypeError, match=r"without the package ml_dtypes") as error:
            attempt()
        assert "portagpu[bfloat16]" in str(error.value)


@pytest.mark.parametrize("width", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.oclgrind
def test_vectors_are_of_float32(device, width, aligned):
    @cuda.jit
    def kernel(x, out, floats):
        i = cuda.grid(1) * width
        v = cuda.vload(x, i, width, aligned)
        cuda.vstore(v, floats, i, aligned)
        cuda.vstore(v * np.float32(1.7), out, i, aligned)

    x = np.random.default_rng(width).standard_normal(width * 32).astype(BF16)
    out, wide = np.zeros_like(x), np.zeros(x.size, np.float32)
    kernel[1, 32](x, out, wide)
    assert same(wide, x.astype(np.float32))
    assert same(out, (x.astype(np.float32) * np.float32(1.7)).astype(BF16))


@cuda.jit
def lanes_of_eight(x, out):
    cuda.vstore(cuda.vload(x, 0, 8), out, 0)
    out[8] = x[8]


def test_one_instruction_rounds_where_there_is_one(device):
    caps = dataclasses.replace(device.capabilities, **from_ptx(True, (8, 0)), line_directives=False)
    arrays = tuple(ArrayType(Scalar(d), 1, Layout.C) for d in (FLOAT32, BFLOAT16))
    text = generate(lower_kernel(lanes_of_eight.source, arrays, caps), caps).source
    assert text.count("cvt.rn.bf16x2.f32") == 5
    older = dataclasses.replace(caps, **from_ptx(True, (7, 5)))
    text = generate(lower_kernel(lanes_of_eight.source, arrays, older), older).source
    assert "cvt" not in text.replace("convert", "")


def test_wrong_vectors(device):
    @cuda.jit
    def kernel(x, y):
        cuda.vstore(cuda.vload(y, 0, 4), x, 0)

    with pytest.raises(KernelTypeError, match="needs a vector of float32 for an array of bfloat16"):
        kernel[1, 1](np.zeros(4, BF16), np.zeros(4, np.int32))
