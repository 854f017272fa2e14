"""Arrays in kernels: layouts, views, shared, local and constant memory, atomics, vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from opencl_text import text_of

from portagpu import cuda, errors
from tests.helpers.hopper import HOPPER

pytestmark = pytest.mark.oclgrind


@cuda.jit
def copy_2d(source, target):
    x, y = cuda.grid(2)
    if y < source.shape[0] and x < source.shape[1]:
        target[y, x] = source[y, x] + source[-1, -1] * 0 + source[y - source.shape[0], x]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "float32", "float64"])
def test_layouts(device, dtype):
    host = (np.random.default_rng(0).random((12, 10)) * 20).astype(dtype)
    views = (host, np.asfortranarray(host), host.T, host[::2, 1::3], host[::-1, ::-1], host[3:, 2:])
    for view in views:
        for arguments in ((view.copy(), np.zeros(view.shape, dtype)), (view, np.zeros(view.shape[::-1], dtype).T)):
            source, target = (cuda.to_device(a) for a in arguments)
            copy_2d[(2, 2), (8, 8)](source, target)
            np.testing.assert_array_equal(target.copy_to_host(), view + view)
    device_array = cuda.to_device(host)
    target = cuda.to_device(np.zeros((6, 3), dtype))
    copy_2d[(2, 2), (8, 8)](device_array[::2, 1::3], target)
    np.testing.assert_array_equal(target.copy_to_host(), host[::2, 1::3] * 2)


def test_views_inside_kernels(device):
    @cuda.jit
    def kernel(m, out):
        i = cuda.grid(1)
        row = m[i]
        part = row[1:-1:2]
        back = row[::-1]
        block = m[1:, 2:]
        out[i, 0] = part[0] + part[-1] * 100
        out[i, 1] = back[0] + len(part) * 1000
        out[i, 2] = block.shape[0] * 10 + block.shape[1] + block[0, 0] + m.T[2, i]
        out[i, 3] = m.size + m.ndim + row[i:].size

    m = np.arange(48).reshape(6, 8)
    out = np.zeros((6, 4), np.int64)
    kernel[1, 6](m, out)
    for i in range(6):
        part = m[i][1:-1:2]
        assert out[i, 0] == part[0] + part[-1] * 100
        assert out[i, 1] == m[i][-1] + len(part) * 1000
        assert out[i, 2] == 5 * 10 + 6 + m[1, 2] + m[i, 2]
        assert out[i, 3] == 48 + 2 + 8 - i


def test_bool_arrays(device):
    @cuda.jit
    def kernel(flags, out):
        i = cuda.grid(1)
        out[i] = not flags[i] or i > 5

    flags = np.arange(10) % 3 == 0
    out = np.zeros(10, bool)
    kernel[1, 10](flags, out)
    np.testing.assert_array_equal(out, ~flags | (np.arange(10) > 5))


def test_dynamic_shared_memory_larger_than_an_argument_may_be(device):
    caps = device.capabilities
    nbytes = min(max(caps.local_memory_static, caps.local_memory_argument), 100 * 1024)

    @cuda.jit
    def kernel(x):
        cache = cuda.shared.array(0, np.float64)
        t = cuda.threadIdx.x
        last = len(cache) - 1 - t
        cache[last] = x[t]
        cuda.syncthreads()
        x[t] = cache[len(cache) - cuda.blockDim.x + t]

    x = np.arange(32.0)
    kernel[1, 32, 0, nbytes](x)
    np.testing.assert_array_equal(x, np.arange(32.0)[::-1])


def test_local_arrays_with_variable_and_constant_index(device):
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        stack = cuda.local.array((4, 2), np.int32)
        fixed = cuda.local.array(3, np.int32)
        for k in range(4):
            stack[k, 0] = k * i
            stack[k, 1] = k
        for k in cuda.unroll(range(3)):
            fixed[k] = k + i
        total = 0
        for k in range(4):
            total += stack[(k + i) % 4, k % 2]
        out[i] = total + fixed[0] * fixed[1] * fixed[2]

    out = np.zeros(16, np.int64)
    kernel[1, 16](out)
    for i in range(16):
        stack = [(k * i, k) for k in range(4)]
        total = sum(stack[(k + i) % 4][k % 2] for k in range(4))
        assert out[i] == total + i * (i + 1) * (i + 2)


WEIGHTS = np.array([[1, 2], [3, 4]], np.float64)


@pytest.mark.one_device
@pytest.mark.parametrize("elements", [1 << 17, 1 << 40])
def test_local_arrays_have_what_a_thread_has(device, elements):
    @cuda.jit
    def k(x):
        room = cuda.local.array(elements, np.int64)
        room[0] = 1
        x[0] = room[0]

    with pytest.raises(errors.KernelValueError, match="where a thread has 524288") as caught:
        k[1, 1](np.zeros(1))
    assert "room = cuda.local.array" in str(caught.value)


def test_constant_memory(device):
    @cuda.jit
    def kernel(out):
        table = cuda.const.array_like(WEIGHTS)
        i = cuda.grid(1)
        out[i] = table[i // 2, i % 2] + WEIGHTS[1, 1]

    out = np.zeros(4)
    kernel[1, 4](out)
    np.testing.assert_array_equal(out, WEIGHTS.reshape(-1) + 4)


def test_barrier_votes(device):
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        a = cuda.syncthreads_count(t % 3 == 0)
        b = cuda.syncthreads_and(t < 32)
        c = cuda.syncthreads_or(t == 31)
        out[t] = a * 100 + b * 10 + c

    out = np.zeros(32, np.int32)
    kernel[1, 32](out)
    assert (out == 11 * 100 + 11).all()


ATOMICS = {
    "add": (lambda old, v: old + v),
    "sub": (lambda old, v: old - v),
    "max": max,
    "min": min,
    "exch": (lambda old, v: v),
    "and_": (lambda old, v: old & v),
    "or_": (lambda old, v: old | v),
    "xor": (lambda old, v: old ^ v),
    "inc": (lambda old, v: 0 if old >= v else old + 1),
    "dec": (lambda old, v: v if old == 0 or old > v else old - 1),
    "nanmax": max,
    "nanmin": min,
}


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float64"])
@pytest.mark.parametrize("name", ATOMICS)
def test_atomics_return_the_old_value(device, name, dtype):
    whole = np.dtype(dtype).kind in "iu"
    if name in ("and_", "or_", "xor", "inc", "dec") and not whole:
        return
    operation = getattr(cuda.atomic, name)

    @cuda.jit
    def kernel(x, olds, value):
        cell = cuda.shared.array((1, 1), dtype)
        if cuda.threadIdx.x == 0:
            olds[0] = operation(x, 1, value)
            cell[0, 0] = x[0]
            olds[1] = operation(cell, (0, -1), value)
            x[0] = cell[0, 0]

    if np.dtype(dtype).itemsize == 8 and not device.capabilities.int64_atomics:
        with pytest.raises(errors.MissingCapabilityError):
            kernel[1, 2](np.zeros(2, dtype), np.zeros(2, dtype), np.dtype(dtype).type(1))
        return
    for old, value in ((5, 3), (2, 9), (0, 1)):
        x, olds = np.full(2, old, dtype), np.zeros(2, dtype)
        kernel[1, 2](x, olds, np.dtype(dtype).type(value))
        assert (olds == old).all()
        expected = np.array([ATOMICS[name](old, value)]).astype(dtype)[0]
        assert (x == expected).all(), (name, old, value)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "int64"])
def test_atomic_sums_of_many_threads(device, dtype):
    @cuda.jit
    def kernel(total, best, swapped):
        i = cuda.grid(1)
        cuda.atomic.add(total, 0, i)
        cuda.atomic.max(best, (0, 1), i)
        cuda.atomic.compare_and_swap(swapped, 0, i + 1)
        cuda.atomic.cas(swapped, 1, 7, i + 1)

    total, best, swapped = np.zeros(1, dtype), np.zeros((1, 2), dtype), np.array([0, 5], dtype)
    kernel[4, 32](total, best, swapped)
    assert total[0] == sum(range(128))
    assert best[0, 1] == 127
    assert 1 <= swapped[0] <= 128 and swapped[1] == 5


@pytest.mark.parametrize("lanes", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_vectors(device, lanes, dtype):
    maker = getattr(cuda, f"{dtype}x{lanes}")
    whole = dtype == "int32"

    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        v = cuda.vload(a, i * lanes, lanes)
        w = maker(2) * v + maker(a[0])
        if not whole:
            w = cuda.fma(v, w, 1)
        cuda.vstore(w - v.x, out, i * lanes)
        out[i * lanes] = w[lanes - 1]

    a = np.arange(1, 4 * lanes + 1).astype(dtype)
    out = np.zeros_like(a)
    kernel[1, 4](a, out)
    for i in range(4):
        v = a[i * lanes : (i + 1) * lanes]
        w = 2 * v + a[0]
        if not whole:
            w = v * w + 1
        expected = w - v[0]
        expected[0] = w[-1]
        np.testing.assert_array_equal(out[i * lanes : (i + 1) * lanes], expected)


def test_three_dimensional_grid(device):
    @cuda.jit
    def kernel(out):
        x, y, z = cuda.grid(3)
        sx, sy, sz = cuda.gridsize(3)
        if x < out.shape[2] and y < out.shape[1] and z < out.shape[0]:
            out[z, y, x] = x + y * sx + z * sx * sy + 0 * sz

    out = np.zeros((4, 6, 8), np.int64)
    kernel[(2, 3, 2), (4, 2, 2)](out)
    np.testing.assert_array_equal(out, np.arange(192).reshape(4, 6, 8))


def test_bit_functions(device):
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        out[i, 0] = cuda.popc(a[i])
        out[i, 1] = cuda.clz(a[i])
        out[i, 2] = cuda.ffs(a[i])
        out[i, 3] = cuda.brev(a[i])

    for dtype, bits in (("uint32", 32), ("uint64", 64)):
        a = np.array([0, 1, 2, 3, 0x80000000, 0xF0F0F0F0, 12345], dtype)
        out = np.zeros((a.size, 4), np.uint64)
        kernel[1, a.size](a, out)
        for value, row in zip(a.tolist(), out.tolist(), strict=True):
            text = f"{value:0{bits}b}"
            assert row == [
                text.count("1"),
                bits - len(text.lstrip("0")),
                (value & -value).bit_length(),
                int(text[::-1], 2),
            ]


def test_tuples_in_rows(device):
    @cuda.jit
    def kernel(x, i):
        x[i] = 1, 2.5, i
        x[i + 1, :] = x[i, 2], 7, 8

    x = np.zeros((3, 3), np.float32)
    kernel[1, 1](x, 1)
    np.testing.assert_array_equal(x, [[0, 0, 0], [1, 2.5, 1], [1, 7, 8]])
    longer = np.zeros((3, 4), np.float32)
    kernel[1, 1](longer, 1)
    assert not longer.any()
    with pytest.raises(ValueError, match="a tuple of 3 items"):
        cuda.jit(debug=True)(kernel.py_func)[1, 1](longer, 1)


def test_what_is_no_constant_stays_what_it_is(device):
    @cuda.jit
    def kernel(x, out):
        held = cuda.const.array_like(x)
        for i in range(held.shape[0]):
            out[i] = 2 * held[i]

    out = np.zeros(4, np.float32)
    kernel[1, 1](np.arange(4, dtype=np.float32), out)
    assert list(out) == [0, 2, 4, 6]


CACHED = (
    *((cuda.ldca, cuda.stwb), (cuda.ldcg, cuda.stcg), (cuda.ldcs, cuda.stcs)),
    *((cuda.ldlu, cuda.stwt), (cuda.ldcv, cuda.stwt)),
)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, np.float64])
@pytest.mark.parametrize(("load", "store"), CACHED, ids=lambda f: f.name)
def test_loads_and_stores_with_hints(device, load, store, dtype):
    @cuda.jit
    def kernel(x, y, z):
        i = cuda.grid(1)
        if i < x.shape[0]:
            store(y, i, load(x, i))
            store(z, (i, 1), load(z, (i, 0)))

    x, y = np.arange(8).astype(dtype), np.zeros(8, dtype)
    z = np.stack([x, y], axis=1)
    kernel[1, 16](x, y, z)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(z, np.stack([x, x], axis=1))


@cuda.jit
def wait_and_pass_on(flags, values, number):
    while cuda.ldcv(flags, 0) != number:
        pass
    cuda.stwt(values, cuda.grid(1), cuda.ldcv(values, 1))


@pytest.mark.parametrize("dtype", ["float32", "int64", "float64"])
def test_threads_wait_for_what_others_store(device, dtype):
    """Loads and stores that a compiler leaves where they are, and that no cache of a unit answers."""
    flags, values = np.ones(1, np.uint32), np.arange(2).astype(dtype)
    wait_and_pass_on[1, 1](flags, values, np.uint32(1))
    assert list(values) == [1, 1]
    given = cuda.to_device(flags), cuda.to_device(values), np.uint32(1)
    text = text_of(wait_and_pass_on, *given, caps=HOPPER)
    letters = {"float32": "f32", "int64": "s64", "float64": "f64"}[dtype]
    assert "ld.relaxed.gpu.global.u32" in text
    assert f"ld.relaxed.gpu.global.{letters}" in text
    assert f"st.relaxed.gpu.global.{letters}" in text
    plain = text_of(wait_and_pass_on, *given, caps=replace(HOPPER, inline_ptx=False))
    assert "return *place;" in plain
    assert "volatile __global uint*" in plain


def test_hints_are_for_elements(device):
    @cuda.jit
    def whole_row(x):
        cuda.ldcg(x, 0)

    @cuda.jit
    def no_array(x):
        cuda.stwt(x[0], 0, 1)

    with pytest.raises(errors.KernelError, match="2 indices"):
        whole_row[1, 1](np.zeros((2, 2)))
    with pytest.raises(errors.KernelError, match="takes an array"):
        no_array[1, 1](np.zeros(2))


_REVERSED = np.array([[1, 2, 3], [4, 5, 6]], np.int16)[:, ::-1]


def test_copies_of_arrays_in_kernels(device):
    @cuda.jit(device=True)
    def twice(x):
        result = x.copy()
        for i in range(result.size):
            result[i] *= 2
        return result

    @cuda.jit
    def kernel(out):
        mine = cuda.local.array(3, np.float32)
        mine[:] = 1.5
        captured = _REVERSED.copy()
        captured[0, 0] = 9
        first = twice(mine)
        mine[:] = 2.5
        second = twice(mine)  # has memory of its own
        for i in range(3):
            out[0, i], out[1, i], out[2, i] = captured[0, i], _REVERSED[0, i], captured[1, i]
            out[3, i], out[4, i], out[5, i] = mine[i], first[i], second[i]

    out = np.zeros((6, 3), np.float32)
    kernel[1, 1](out)
    assert out.tolist() == [[9, 2, 1], [3, 2, 1], [6, 5, 4], [2.5] * 3, [3] * 3, [5] * 3]


def test_copies_of_arrays_that_kernels_have_no_memory_for(device):
    @cuda.jit
    def of_an_argument(x):
        y = x.copy()
        x[0] = y[1]

    @cuda.jit
    def in_a_loop(x):
        former = _REVERSED
        for _ in range(2):
            now = former.copy()
            x[0] = now[0, 0]

    for kernel, why in ((of_an_argument, "known at compile time"), (in_a_loop, "in a loop")):
        with pytest.raises(errors.UnsupportedSyntaxError, match=why) as caught:
            kernel[1, 1](np.zeros(3))
        assert "target" in caught.value.hint


_TWO = np.dtype([("a", np.uint8), ("b", np.int32)], align=True)


@pytest.mark.parametrize("dtype", [np.uint8, np.float64, np.complex64, _TWO])
def test_addresses_of_arrays(device, dtype):
    """``x.ctypes.data`` in kernels: a multiple of the alignment, and elements and views lie behind it as NumPy's."""

    @cuda.jit
    def addresses(x, out):
        shared = cuda.shared.array((3, 8), dtype, alignment=64)
        local = cuda.local.array(5, dtype, alignment=32)
        shared[2, 7] = x[0]
        local[4] = x[0]
        out[0] = shared.ctypes.data
        out[1] = shared[1, 2::3].ctypes.data
        out[2] = local.ctypes.data
        out[3] = x.ctypes.data
        out[4] = x[::-1].ctypes.data
        x[1] = shared[2, 7]
        x[2] = local[4]

    size = np.dtype(dtype).itemsize
    found, out = np.zeros(8, dtype), np.zeros(5, np.uint64)
    addresses[1, 1](found, out)
    start, inner, local, first, last = map(int, out)
    assert start % 64 == local % 32 == 0
    assert inner - start == 10 * size
    assert last - first == 7 * size
