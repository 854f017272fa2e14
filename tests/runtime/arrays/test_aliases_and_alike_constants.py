"""Mistakes made once: aliasing through other buffers, misaligned views, compile-time arguments that look alike."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pyopencl.array
import pytest
from own_contexts import native_context

from portagpu import cuda, errors


def test_arrays_over_one_buffer_may_overlap(device):
    @cuda.jit
    def shift(source, target):
        for i in range(source.size):
            target[i] = source[i] + 1

    memory = bytearray(4 * 4097)
    first = np.frombuffer(memory, np.int32, 4096)
    second = np.frombuffer(memory, np.int32, 4096, offset=4)
    shift[1, 1](first, second)
    np.testing.assert_array_equal(second, np.arange(1, 4097))


def test_misaligned_views(device):
    @cuda.jit
    def touch(x):
        i = cuda.grid(1)
        x[i] += i + 0.5

    on_device = cuda.to_device(np.zeros(64, np.uint8))
    view = on_device[1:33].view(np.float32)
    touch[1, 8](view)
    np.testing.assert_array_equal(view.copy_to_host(), np.arange(8) + 0.5)
    assert not on_device[33:].copy_to_host().any()


def test_compile_time_arguments_that_compare_equal(device):
    @cuda.jit
    def store(x, value: cuda.constexpr):
        x[0] = value[0] / 2
        x[1] = 1 / value[1] if value[1] else 0.0

    x = np.zeros(2, np.float64)
    for value in ((1, 2), (1.0, 2.0), (np.uint8(1), 2)):
        store[1, 1](x, value)
        assert x.tolist() == [0.5, 0.5]
    assert len(store.overloads) == 3

    @cuda.jit
    def sign(x, value: cuda.constexpr):
        x[0] = value

    for value in (0.0, -0.0):
        sign[1, 1](x, value)
        assert np.signbit(x[0]) == np.signbit(value)
    for _ in range(3):
        sign[1, 1](x, float("nan"))
    assert len(sign.overloads) == 3


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_small_integers_wrap_when_negated(device, dtype):
    @cuda.jit
    def negate(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = -x[i]

    # int16's most negative value is left out: driver 580's compiler widens its negation without narrowing it first
    lowest = np.iinfo(dtype).min + (dtype == "int16")
    x = np.array([0, 1, 100, lowest, np.iinfo(dtype).max], dtype)
    out = np.zeros(x.size, np.int64)
    negate[1, 8](x, out)
    np.testing.assert_array_equal(out, (-x).astype(np.int64))


def test_dot_of_many_axes(device):
    a, b = np.arange(24, dtype=np.float32).reshape(2, 3, 4), np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    np.testing.assert_array_equal(np.dot(cuda.to_device(a), cuda.to_device(b)).copy_to_host(), np.dot(a, b))
    with pytest.raises(errors.ShapeError):
        np.dot(cuda.to_device(a), cuda.to_device(a))


def test_declared_type_that_a_number_does_not_fit(device):
    @cuda.jit("void(float32[:], int8)")
    def store(x, n):
        x[0] = n

    with pytest.raises(errors.ArgumentTypeError, match="does not fit int8"):
        store[1, 1](np.zeros(1, np.float32), 300)


def test_reduction_whose_loop_condition_asks_for_the_block_size(device):
    """The user guide's sum: PoCL 3.1 gave zero while get_local_size stood in the loop's condition."""

    @cuda.jit
    def array_sum(data):
        tid = cuda.threadIdx.x
        cache = cuda.shared.array(64, np.int32)
        cache[tid] = data[cuda.grid(1)]
        cuda.syncthreads()
        s = 1
        while s < cuda.blockDim.x:
            if tid % (2 * s) == 0:
                cache[tid] += cache[tid + s]
            s *= 2
            cuda.syncthreads()
        if tid == 0:
            data[tid] = cache[tid]

    data = np.arange(64, dtype=np.int32)
    array_sum[1, 64](data)
    assert data[0] == 64 * 63 // 2


def test_views_of_a_closed_array(device):
    array = cuda.to_device(np.arange(8))
    view = array[1:]
    array.close()
    with pytest.raises(errors.ClosedError):
        view.copy_to_host()


@pytest.mark.opencl
def test_pyopencl_arrays_of_a_users_own_context(device):
    own = native_context(device)
    queue = cl.CommandQueue(own)
    foreign = pyopencl.array.to_device(queue, np.arange(8, dtype=np.float32))

    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    double[1, 8](foreign)
    double[1, 8, queue](foreign)
    queue.finish()
    cuda.as_cuda_array(foreign).context.synchronize()
    np.testing.assert_array_equal(foreign.get(), np.arange(8) * 4)
