"""Arguments of one launch, and views in kernels, that are one memory under several dtypes: as NumPy has them.

A kernel writes through one view what it reads through another, in either order, at places that it is passed.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from portagpu import cuda, float32, guvectorize, uint32, vectorize

pytestmark = pytest.mark.filterwarnings("ignore::portagpu.errors.PortaGPUPerformanceWarning")

DTYPES = ["u1", "i1", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8", "c8"]
PACKED = np.dtype({"names": ["a", "b"], "formats": ["f4", "u4"], "offsets": [0, 4], "itemsize": 8})
OTHER = np.dtype({"names": ["a", "b"], "formats": ["u4", "f4"], "offsets": [0, 4], "itemsize": 8})


def to_and_fro(p, q, i, j, one, results):
    """Stores and loads through two views of one memory, which a compiler may not exchange."""
    p[i] = one
    q[j] = q[j] + q[j + 1]
    results[0] = p[i].real
    q[j] = one
    p[i] = p[i] + one + one
    results[1] = q[j].real
    results[2] = p[i].real
    for k in range(3):
        q[j + k] = q[j] + one
        p[i] = p[i] + one
    results[3] = p[i + 1].real


def three(p, q, r, i, one, results):
    p[i] = one
    q[i] = one + one
    results[0] = r[i]
    r[i] = 3
    results[1] = p[i]
    results[2] = q[i]


def fields(p, q, i, results):
    p[i].a = 1.5
    q[i].a = 7
    results[0] = p[i].a
    q[i].b = 2.5
    p[i].b = 9
    results[1] = q[i].b


def in_the_kernel(p, i, one, results):
    f = p.view(np.float32)
    u = p.view(np.uint32)
    f[i] = one
    u[i] = u[i] + one
    results[0] = f[i]
    u[i + 1] = 7
    f[i + 1] = 2
    results[1] = u[i + 1]


KERNELS = {f: cuda.jit(f) for f in (to_and_fro, three, fields, in_the_kernel)}
PLACES = ["host", "device", "stream"]


def launched(function, memory: np.ndarray, views, *rest, place="host"):
    """The memory and the results after a launch on views of the memory, which ``views`` makes of it."""
    memory, results = memory.copy(), np.zeros(4)
    if place == "host":
        KERNELS[function][1, 1](*views(memory), *rest, results)
        return memory, results
    stream = cuda.stream() if place == "stream" else 0
    on_device = cuda.to_device(memory, stream=stream)
    KERNELS[function][1, 1, stream](*views(on_device), *rest, results)
    return on_device.copy_to_host(stream=stream), results


def check(function, views, *rest, place):
    start = np.arange(64, dtype=np.uint8) % 7
    memory, results = start.copy(), np.zeros(4)
    with np.errstate(all="ignore"):
        function(*views(memory), *rest, results)
    after, got = launched(function, start, views, *rest, place=place)
    assert after.tobytes() == memory.tobytes(), function.__name__
    assert np.array_equal(got, results, equal_nan=True), (got, results)


PAIRS = list(itertools.permutations(DTYPES, 2))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("shift", [0, 8])
@pytest.mark.each_value
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_pairs(device, first, second, shift, place):
    if "f8" in (first, second) and not device.capabilities.fp64:
        pytest.skip("no float64")

    def views(memory):
        return memory.view(first), memory[shift:].view(second)

    i = 8 // np.dtype(first).itemsize
    j = (8 - shift) // np.dtype(second).itemsize
    check(to_and_fro, views, i, j, np.int8(1), place=place)


@pytest.mark.parametrize("place", PLACES)
def test_three(device, place):
    check(three, lambda m: (m.view("f4"), m.view("u4"), m.view("i4")), 2, np.int8(1), place=place)


@pytest.mark.parametrize("place", PLACES)
def test_records(device, place):
    def views(memory):
        found = memory.view(PACKED), memory.view(OTHER)
        return [v.view(np.recarray) for v in found] if isinstance(memory, np.ndarray) else found

    check(fields, views, 3, place=place)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dtype", ["u1", "f4", "u8"])
def test_in_the_kernel(device, dtype, place):
    check(in_the_kernel, lambda m: (m.view(dtype),), 5, np.int8(1), place=place)


UNION = np.dtype({"names": ["a", "b"], "formats": ["f4", "u4"], "offsets": [0, 0], "itemsize": 4})


def test_overlapping_fields(device):
    """A record whose fields share bytes."""

    @cuda.jit
    def kernel(p, i, out):
        p[i].a = 1
        p[i + 1].b = p[i].b + 1
        p[i].b = 7
        out[0] = p[i].a
        p[i].a = 2
        out[1] = p[i].b

    out, p = np.zeros(2), np.zeros(4, UNION)
    kernel[1, 1](p, 1, out)
    want = np.zeros(4, np.uint32)
    want[1] = np.float32(2).view(np.uint32)
    want[2] = np.float32(1).view(np.uint32) + 1
    assert np.array_equal(p["b"], want)
    assert out.tolist() == [np.uint32(7).view(np.float32), want[1]]


def test_dynamic_shared_memory(device):
    """Two arrays of different dtypes, both at its beginning."""

    @cuda.jit
    def kernel(i, out):
        f = cuda.shared.array(0, np.float32)
        u = cuda.shared.array(0, np.uint32)
        f[i] = 1
        u[i] = 7
        out[0] = f[i]
        u[i + 1] = 7
        f[i + 1] = 2
        out[1] = u[i + 1]

    out = np.zeros(2)
    kernel[1, 1, 0, 64](1, out)
    assert out.tolist() == [np.uint32(7).view(np.float32), np.float32(2).view(np.uint32)]


def three_views(memory):
    return [memory.view(d) for d in ("f4", "u4", "i4")]


def expected_of_three():
    host, want = np.zeros(8, np.float32), np.zeros(4)
    three(*three_views(host), 2, np.int8(1), want)
    return want.tolist()


def test_launched_in_turn_with_separate_arrays(device):
    """The launch of views that overlap is not the one of arrays that do not, whichever came first."""
    kernel = KERNELS[three]
    stream = cuda.stream()
    together = three_views(cuda.to_device(np.zeros(32, np.uint8)))
    apart = [cuda.to_device(np.zeros(8, d)) for d in ("f4", "u4", "i4")]
    results = [cuda.to_device(np.zeros(4)) for _ in range(2)]
    for _ in range(3):
        kernel[1, 1](*apart, 2, np.int8(1), results[1])
        kernel[1, 1, stream](*together, 2, np.int8(1), results[0])
        assert results[0].copy_to_host(stream=stream).tolist() == expected_of_three()
        assert results[1].copy_to_host()[1:3].tolist() == [1, 2]


def test_captured_graph(device):
    memory = cuda.to_device(np.zeros(32, np.uint8))
    results = cuda.to_device(np.zeros(4))
    with cuda.graph() as graph:
        KERNELS[three][1, 1](*three_views(memory), 2, np.int8(1), results)
    for _ in range(2):
        assert results.copy_to_host().tolist() == expected_of_three()
        memory.copy_to_device(np.zeros(32, np.uint8))
        results.copy_to_device(np.zeros(4))
        graph.launch()


def test_vectorized_function(device):
    """`out=` is the operand's memory under another dtype of the same size."""

    @vectorize(["uint32(float32)"], target="cuda")
    def rounded(x):
        return np.uint32(x * 2 + 1)

    start = np.arange(64, dtype=np.float32)
    memory = cuda.to_device(start)
    rounded(memory, out=memory.view(np.uint32))
    assert memory.view(np.uint32).copy_to_host().tolist() == (start * 2 + 1).tolist()


def test_guvectorized_function(device):
    """Core arrays of one memory under two dtypes: a store through one is read through the other."""

    @guvectorize([(float32[:], uint32[:])], "(n)->(n)", target="cuda", writable_args=("x",))  # others are copied
    def steps(x, y):
        for k in range(x.shape[0]):
            x[k] = 1
            y[k] = y[k] + 1
            x[k] = x[k] + 1

    memory = cuda.to_device(np.zeros((2, 4), np.float32))
    steps(memory, memory.view(np.uint32))
    one = np.uint32(np.float32(1).view(np.uint32) + 1).view(np.float32)
    assert memory.copy_to_host().tolist() == [[one + 1] * 4] * 2


@pytest.mark.parametrize("together", [False, True])
def test_aliasing_types_only_of_overlapping_records(device, together):
    """Fields of one array of records, and of arrays apart, keep their types in OpenCL C."""

    @cuda.jit
    def kernel(p, q):
        p[0].a = q[0].b
        q[0].a = p[0].b

    p = cuda.to_device(np.zeros(4, PACKED))
    kernel[1, 1](p, p if together else cuda.to_device(np.zeros(4, PACKED)))
    (text,) = kernel.inspect_opencl().values()
    assert ("may_alias" in text) == together


@pytest.mark.parametrize("shift", [0, 4, 8])
def test_out_of_array_functions(device, shift):
    """``out=`` is a view of the operand's memory under another dtype."""
    memory = np.arange(64, dtype=np.uint8)
    on_device = cuda.to_device(memory)
    np.add(memory[:56].view("u4"), 1, out=memory[shift : shift + 56].view("f4"), casting="unsafe")
    np.add(on_device[:56].view("u4"), 1, out=on_device[shift : shift + 56].view("f4"), casting="unsafe")
    assert on_device.copy_to_host().tobytes() == memory.tobytes()
