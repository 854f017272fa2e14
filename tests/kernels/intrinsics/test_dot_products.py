"""dp4a and prefetch: right on every device, by whatever instruction it has."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.backends.opencl.ptx.capabilities import from_ptx
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import INT32, UINT32
from portagpu.errors import KernelTypeError
from portagpu.ir.types import ArrayType, Layout, Scalar

pytestmark = pytest.mark.oclgrind
WORDS = st.integers(0, 2**32 - 1)


@cuda.jit
def four(a, b, c, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = cuda.dp4a(a[i], b[i], c[i])


def expected(a, b, c):
    lanes = [(np.int8 if x.dtype == np.int32 else np.uint8) for x in (a, b)]
    products = a.view(lanes[0]).astype(np.int64) * b.view(lanes[1]).astype(np.int64)
    total = products.reshape(-1, 4).sum(axis=1) + c.astype(np.int64)
    return total.astype(np.uint64).astype(np.uint32).view(c.dtype)


@pytest.mark.parametrize("signs", ["ss", "su", "us", "uu"])
def test_packed_integers(device, signs):
    dtypes = [np.int32 if s == "s" else np.uint32 for s in signs]
    words = np.random.default_rng(1).integers(0, 2**32, (3, 1000), dtype=np.uint64).astype(np.uint32)
    words[0, :4], words[1, :4], words[2, :2] = 0x80808080, [0x80808080, 0xFFFFFFFF, 0x7F7F7F7F, 0], 0x7FFFFFFF
    a, b = (w.view(d) for w, d in zip(words[:2], dtypes, strict=True))
    c = words[2].view(np.uint32 if signs == "uu" else np.int32)
    out = np.zeros_like(c)
    four[4, 256](a, b, c, out)
    assert np.array_equal(out, expected(a, b, c))


@given(words=st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=8))
def test_any_words(words):
    a, b, c = (np.array(column, np.uint32).view(np.int32) for column in zip(*words, strict=True))
    out = np.zeros_like(c)
    four[1, 8](a, b, c, out)
    assert np.array_equal(out, expected(a, b, c))


def test_vectors_and_python_numbers(device):
    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        a, b = cuda.vload(x, 4 * i, 4), cuda.vload(y, 4 * i, 4)
        total = np.int32(0)
        for _ in range(3):
            total = cuda.dp4a(a, b, total)
        out[i] = cuda.dp4a(0x01010101, a, total)

    rng = np.random.default_rng(2)
    x, y = rng.integers(-128, 128, 64).astype(np.int8), rng.integers(0, 256, 64).astype(np.uint8)
    out = np.zeros(16, np.int32)
    kernel[1, 16](x, y, out)
    rows = x.reshape(-1, 4).astype(np.int32)
    assert np.array_equal(out, 3 * (rows * y.reshape(-1, 4)).sum(axis=1) + rows.sum(axis=1))


def test_other_operands_are_refused(device):
    @cuda.jit
    def floats(x, out):
        out[0] = cuda.dp4a(x[0], x[0], 0)

    @cuda.jit
    def added(x, out):
        out[0] = cuda.dp4a(1, 1, x[0])

    for kernel, text in ((floats, "first operand of cuda.dp4a must be an int8x4"), (added, "adds to an integer")):
        with pytest.raises(KernelTypeError, match=text):
            kernel[1, 1](np.ones(1, np.float32), np.zeros(1, np.int32))


def text_for(kernel, caps, *dtypes):
    arrays = tuple(ArrayType(Scalar(d), 1, Layout.C) for d in dtypes)
    return generate(lower_kernel(kernel.source, arrays, caps), caps).source


def test_instructions_by_what_a_device_has(device):
    plain = dataclasses.replace(
        device.capabilities,
        packed_dot_product=False,
        builtin_prefetch=False,
        **from_ptx(False),
        prefetch=True,
        line_directives=False,
    )
    builtin = dataclasses.replace(plain, packed_dot_product=True, builtin_prefetch=True)
    ptx = dataclasses.replace(builtin, **from_ptx(True, (9, 0)))
    signed, mixed = (INT32,) * 4, (UINT32, INT32, INT32, INT32)
    assert "x.s3 * y.s3" in text_for(four, plain, *signed)
    assert "dot_4x8packed_us_int" in text_for(four, builtin, *mixed)
    assert "dot_4x8packed_uu_uint" in text_for(four, builtin, *(UINT32,) * 4)
    assert "dp4a.u32.s32" in text_for(four, ptx, *mixed)
    assert "x.s3 * y.s3" in text_for(four, dataclasses.replace(plain, **from_ptx(True, (6, 0))), *signed)
    assert "prefetch.global.L2" in text_for(ahead, ptx, INT32, INT32)
    assert "__builtin_prefetch((__global const void*)" in text_for(ahead, builtin, INT32, INT32)
    assert "const int*" in text_for(ahead, builtin, INT32, INT32)  # what is fetched is not written


@cuda.jit
def ahead(x, out):
    i = cuda.grid(1)
    cuda.prefetch(x, i + 64)
    cuda.prefetch(x, -1000)
    out[i] = x[i] + 1


def test_prefetching_changes_nothing(device):
    x = np.arange(256, dtype=np.int32)
    out = np.zeros_like(x)
    ahead[4, 64](x, out)
    assert np.array_equal(out, x + 1)

    @cuda.jit(debug=True)
    def records_and_rows(records, rows, out):
        i = cuda.threadIdx.x
        cuda.prefetch(records, i + 1)
        cuda.prefetch(rows, (i + 1, 7))
        cuda.prefetch(rows[:, 1], i)
        out[i] = records[i].v + rows[i, 0]

    records = np.zeros(4, [("k", np.uint8), ("v", np.int32)])
    records["v"] = [1, 2, 3, 4]
    got = np.zeros(4, np.int32)
    records_and_rows[1, 4](records, np.full((4, 3), 10, np.int32), got)
    assert got.tolist() == [11, 12, 13, 14]


def test_only_global_memory_is_fetched_from(device):
    @cuda.jit
    def shared(x):
        tile = cuda.shared.array(4, np.float32)
        cuda.prefetch(tile, 0)
        x[0] = tile[0]

    @cuda.jit
    def one_index(x):
        cuda.prefetch(x, 0)

    with pytest.raises(KernelTypeError, match="takes an array in global memory"):
        shared[1, 1](np.zeros(1, np.float32))
    with pytest.raises(KernelTypeError, match="needs 2 indices"):
        one_index[1, 1](np.zeros((2, 2), np.float32))
