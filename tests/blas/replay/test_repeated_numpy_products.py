"""Products of NumPy arrays like an earlier one: the recorded launches run on the memory of these arrays."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl
import pytest
from in_threads import in_threads

import portagpu
import portagpu.blas.matmul as product_module
from portagpu import cuda
from portagpu.blas.gemm.replay.host_products import host_product
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.runtime.replay import replay
from portagpu.runtime.replay.host_calls import is_in_place
from portagpu.runtime.replay.replay import Replay

pytestmark = pytest.mark.one_device

_NUMBERS = (1, 0, None)


@pytest.fixture(autouse=True)
def device(device):
    """Devices that use the host's memory: to others arrays are copied each time."""
    if not device.capabilities.host_unified_memory:
        pytest.skip("arrays are copied to the device")
    return device


def apart(array):
    """A copy that shares no cache line with other memory, and begins where all of them do."""
    room = np.empty(array.nbytes + 512, np.uint8)
    first = -room.ctypes.data % 128 + 128
    made = room[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def matrix(rows, columns, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(dtype)


def is_recorded(a, b, out=None, numbers=_NUMBERS):
    """Whether the product would be made from a recording; makes it if so."""
    product = host_product(a, b, out, numbers, None)
    return product is not None and product.again()


def close(c, wanted):
    return np.allclose(c, wanted, rtol=1e-4, atol=1e-4)


def test_other_arrays_of_the_same_kind_are_served(device):
    a, b, out = apart(matrix(96, 64)), apart(matrix(64, 80, seed=1)), apart(matrix(96, 80))
    for _ in range(3):
        assert close(portagpu.matmul(a, b, out=out), a @ b)
    for seed in range(5):
        a, b, out = apart(matrix(96, 64, seed=seed)), apart(matrix(64, 80, seed=seed + 1)), apart(matrix(96, 80))
        assert is_recorded(a, b, out)
        assert close(out, a @ b)
    assert not is_recorded(a, b, out, (2, 0, None))
    for seed in range(20):  # wherever they happen to lie
        a, b = matrix(96, 64, seed=seed), matrix(64, 80, seed=seed + 1)
        assert close(portagpu.matmul(a, b), a @ b)


@pytest.mark.parametrize("gap", [0, 16, 256])
def test_neighbours_in_memory(device, gap):
    """Operands and a result that share cache lines are in one buffer."""
    sizes = (96 * 64, 64 * 80, 96 * 80)
    room = np.zeros(sum(sizes) + 3 * gap, np.float32)
    for seed in range(4):
        first = 0
        parts = []
        for size in sizes:
            parts.append(room[first : first + size])
            first += size + gap // 4
        a, b, out = parts[0].reshape(96, 64), parts[1].reshape(64, 80), parts[2].reshape(96, 80)
        a[...], b[...] = matrix(96, 64, seed=seed), matrix(64, 80, seed=seed + 1)
        if seed > 1:
            out[...] = 0
            assert is_recorded(a, b, out)
        else:
            portagpu.matmul(a, b, out=out)
        assert close(out, a @ b)
    b, a = parts[0].reshape(96, 64), np.asarray(parts[1][: 80 * 64]).reshape(80, 64).copy()
    assert close(portagpu.matmul(a, b.T), a @ b.T)


@pytest.mark.parametrize("dtype", [np.float32, "float32", np.dtype(np.float32)])
def test_the_operands_own_dtype_may_be_named(device, dtype):
    a, b = apart(matrix(96, 64)), apart(matrix(64, 80, seed=1))
    for _ in range(3):
        assert close(portagpu.matmul(a, b, dtype=dtype), a @ b)
    assert is_recorded(a, b)
    assert portagpu.matmul(a, b, dtype=dtype).dtype == np.float32


def test_results_do_not_share_memory(device):
    a, b = matrix(96, 64), matrix(64, 80, seed=1)
    results = [portagpu.matmul(a * np.float32(f), b) for f in range(1, 6)]
    for factor, result in enumerate(results, 1):
        assert close(result, factor * (a @ b))


@pytest.mark.parametrize("kind", ["same", "transposed", "neighbours"])
def test_operands_that_share_memory(device, kind):
    whole = matrix(128, 96)
    a, b = {
        "same": lambda: (whole[:96], whole[:96]),
        "transposed": lambda: (whole, whole.T),
        "neighbours": lambda: (whole[:64], whole[32:]),
    }[kind]()
    for _ in range(4):
        assert close(portagpu.matmul(a, b), a @ b)


def test_result_in_an_operand(device):
    a, b = matrix(64, 64), matrix(64, 64, seed=1)
    for _ in range(4):
        target = a.copy()
        wanted = target @ b
        assert portagpu.matmul(target, b, out=target) is target
        assert close(target, wanted)


def test_scaled_into_out(device):
    a, b = matrix(96, 64), matrix(64, 80, seed=1)
    for factor in range(1, 6):
        out = np.full((96, 80), factor, np.float32)
        portagpu.matmul(a, b, out=out, alpha=2, beta=3)
        assert close(out, 2 * (a @ b) + 3 * factor)


def test_layouts_are_told_apart(device):
    a, b = matrix(96, 64), matrix(64, 80, seed=1)
    wide = matrix(96, 130)
    for _ in range(3):
        assert close(portagpu.matmul(a, b), a @ b)
        assert close(portagpu.matmul(np.asfortranarray(a), b), a @ b)
        assert close(portagpu.matmul(a[::-1], b[:, ::-1]), a[::-1] @ b[:, ::-1])
        assert close(portagpu.matmul(wide[:, 1:65], b), wide[:, 1:65] @ b)
        assert close(portagpu.matmul(wide[:, ::2][:, :64], b), wide[:, ::2][:, :64] @ b)


@pytest.mark.parametrize("dtype", [np.complex64, np.float16, np.float64])
def test_dtypes(device, dtype):
    a, b = matrix(64, 48, dtype), matrix(48, 64, dtype, seed=1)
    wanted = a.astype(complex) @ b.astype(complex)
    for _ in range(4):
        assert np.allclose(portagpu.matmul(a, b), wanted, rtol=1e-2, atol=5e-2)


def test_readonly_out_is_refused_after_a_recording(device):
    a, b, out = matrix(96, 64), matrix(64, 80, seed=1), np.empty((96, 80), np.float32)
    for _ in range(3):
        portagpu.matmul(a, b, out=out)
    out.flags.writeable = False
    with pytest.raises(ArgumentTypeError, match="read-only"):
        portagpu.matmul(a, b, out=out)


def test_memory_that_was_given_back_ends_a_recording(device):
    a, b, out = apart(matrix(96, 64)), apart(matrix(64, 80, seed=1)), apart(matrix(96, 80))
    for _ in range(3):
        portagpu.matmul(a, b, out=out)
    assert is_recorded(a, b, out)
    cuda.device_array(4, np.float32).close()
    assert not is_recorded(a, b, out)
    for _ in range(3):
        assert close(portagpu.matmul(a, b, out=out), a @ b)
    assert is_recorded(a, b, out)


def test_streams_and_threads(device):
    a, b = matrix(96, 64), matrix(64, 80, seed=1)
    context, problems = cuda.current_context(), []

    def work():
        with context:
            stream = cuda.stream()
            for _ in range(10):
                for where in (None, stream):
                    if not close(portagpu.matmul(a, b, stream=where), a @ b):
                        problems.append("wrong")

    in_threads(work)
    assert not problems


def test_numbers_that_are_equal_but_not_alike(device):
    a, b = matrix(96, 64), matrix(64, 80)
    for _ in range(3):
        portagpu.matmul(a, b)
    with pytest.raises(ArgumentTypeError, match="alpha is complex"):
        portagpu.matmul(a, b, alpha=1 + 0j)


@pytest.mark.opencl  # its markers are PyOpenCL's
@pytest.mark.parametrize("products", [0, 1, 2, 3])
def test_kernels_end_before_an_exception_lets_go_of_their_memory(device, monkeypatch, products):
    """The first product, the one that is recorded, and those that are made from the recording."""
    size = 1024
    a, b = matrix(size, size), matrix(size, size, seed=1)
    for _ in range(products):
        portagpu.matmul(a, b)
    place = cuda.current_context().default_stream
    markers = []

    def stopped(done):
        def call(*args, **kwargs):
            done(*args, **kwargs)
            markers.append(cl.enqueue_marker(place.queue))
            place.queue.flush()
            raise KeyboardInterrupt

        return call

    if products >= 2:
        monkeypatch.setattr(Replay, "launch", stopped(Replay.launch))
        monkeypatch.setattr(Replay, "complete", stopped(Replay.complete))
    else:
        monkeypatch.setattr(product_module, "multiply", stopped(product_module.multiply))
    with pytest.raises(KeyboardInterrupt):
        portagpu.matmul(a, b)
    assert [m.command_execution_status for m in markers] == [cl.command_execution_status.COMPLETE]


def test_views_of_large_arrays_take_little_memory(device):
    """A recording is made with copies of the operands that lie as they do, which these would make large."""
    wide = np.zeros((700, 2**16), np.float32)  # of pages that nobody touches
    x, w = wide[:, :64], matrix(64, 64)
    x[...] = matrix(700, 64)
    assert host_product(x, w, None, _NUMBERS, None) is None
    for _ in range(3):
        assert np.allclose(portagpu.matmul(x, w), x @ w, rtol=1e-4, atol=1e-4)


def test_views_of_what_the_device_cannot_hold(device):
    rows = 64
    wide = np.zeros((rows, device.capabilities.max_allocation // (rows - 2)), np.uint8)
    x, w = wide[:, :256].view(np.float32), matrix(64, 64)
    x[...] = matrix(rows, 64)
    assert np.allclose(portagpu.matmul(x, w), x @ w, rtol=1e-4, atol=1e-4)


def test_results_can_be_made_writeable_again(device):
    a, b = matrix(200, 200), matrix(200, 200, seed=1)
    for _ in range(3):
        c = portagpu.matmul(a, b)
        assert type(c) is np.ndarray
        c.flags.writeable = False
        c.flags.writeable = True
        part = c[::2]
        kept = part.copy()
        del c
        assert not np.may_share_memory(portagpu.matmul(b, a), part)
        assert (part == kept).all()


@cuda.jit
def count(x):
    x[0] += 1


def test_what_runs_in_the_middle_of_a_recording_is_no_part_of_it(device, monkeypatch):
    """As finalisers and signal handlers do: Python calls them between any two instructions."""
    counter = cuda.to_device(np.zeros(1, np.int32))
    a, b = cuda.to_device(matrix(24, 24)), cuda.to_device(matrix(24, 24, seed=1))
    calls = []

    def interrupt(frame, event, argument):
        if event == "call" and frame.f_code is replay.CompiledKernel.launch.__code__:
            sys.setprofile(None)
            calls.append("in the middle")
            count[1, 1](counter)

    out = cuda.device_array((24, 24), np.float32)
    portagpu.matmul(a, b, out)
    sys.setprofile(interrupt)
    try:
        portagpu.matmul(a, b, out)  # this one is recorded
    finally:
        sys.setprofile(None)
    again = Replay.launch

    def launch(self, *arguments):
        calls.append("again")
        return again(self, *arguments)

    monkeypatch.setattr(Replay, "launch", launch)
    for _ in range(3):
        portagpu.matmul(a, b, out)
    assert calls == ["in the middle", *["again"] * 3]
    assert counter.copy_to_host().tolist() == [1]
    wanted = a.copy_to_host() @ b.copy_to_host()
    assert np.allclose(out.copy_to_host(), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("column", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_vectors_are_matrices_of_one_row_or_column(device, column, dtype):
    """Also short ones, which would be copied by themselves."""
    square = matrix(90, 90, dtype)
    for seed in range(6):
        x, out = matrix(1, 90, dtype, seed)[0], np.zeros(90, dtype)
        operands = (square, x) if column else (x, square)
        found = portagpu.matmul(*operands)
        assert found.shape == (90,)
        assert close(found, np.matmul(*operands))
        assert portagpu.matmul(*operands, out=out) is out
        assert close(out, np.matmul(*operands))
        assert portagpu.matmul(*operands, out=out, alpha=2, beta=-1) is out
        assert close(out, np.matmul(*operands))
    strided = np.zeros((90, 3), dtype)[:, 1]
    assert portagpu.matmul(square, x, out=strided) is strided
    assert close(strided, square @ x)


def test_products_with_vectors_are_recorded(device):
    if not is_in_place(cuda.current_context()):
        pytest.skip("small arrays are copied")
    square, x, out = apart(matrix(90, 90)), apart(matrix(1, 90)[0]), apart(matrix(1, 90)[0])
    for _ in range(3):
        portagpu.matmul(square, x, out=out)
    x[...] = 1
    assert is_recorded(square, x[:, None], out[:, None])
    assert close(out, square @ x)
    long, total = apart(matrix(1, 2000)[0]), np.zeros((), np.float32)
    for _ in range(3):
        assert portagpu.matmul(long, long, out=total) is total
        assert type(portagpu.matmul(long, long)) is np.float32
    long[...] = 2
    assert portagpu.matmul(long, long) == portagpu.matmul(long, long, out=total) == 8000


def test_what_lies_beside_short_vectors_is_left_alone(device):
    room = np.full(16 * 100, 7, np.float32)
    square = matrix(64, 64)
    for first in (16, 19, 50):
        for _ in range(4):
            room[...] = 7
            x, out = room[first : first + 64], room[first + 70 : first + 134]
            x[...] = 2
            portagpu.matmul(square, x, out=out)
            assert close(out, square @ np.full(64, 2, np.float32))
            assert (x == 2).all()
            assert (np.r_[room[:first], room[first + 64 : first + 70], room[first + 134 :]] == 7).all()


def test_vectors_that_do_not_fit_are_told_as_they_are(device):
    with pytest.raises(ShapeError, match=r"shapes \(3, 4\) and \(3,\) do not fit"):
        portagpu.matmul(np.ones((3, 4)), np.ones(3))
    with pytest.raises(ShapeError, match=r"\(3,\)"):
        portagpu.matmul(np.ones((3, 4)), np.ones(4), out=np.ones(5))
