"""Device arrays behave like NumPy's: views, assignment, copies; compared with NumPy on random indices."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pyopencl.array
import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_contexts import native_context

from portagpu import cuda, errors
from portagpu.runtime.execution.context import Context

pytestmark = pytest.mark.one_device

DTYPES = ("int8", "int16", "int32", "int64", "float32", "float64")


def random_array(shape, dtype="float32"):
    generator = np.random.default_rng(0)
    return (generator.random(shape) * 100).astype(dtype)


@pytest.mark.oclgrind
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 4), (2, 3, 4), (0,), (3, 0)])
def test_round_trip(device, shape, order):
    host = np.asarray(random_array(shape), order=order)
    array = cuda.to_device(host)
    assert (array.shape, array.dtype, array.ndim, array.size, array.nbytes) == (
        host.shape,
        host.dtype,
        host.ndim,
        host.size,
        host.nbytes,
    )
    np.testing.assert_array_equal(array.copy_to_host(), host)


axis_index = st.one_of(
    st.integers(-4, 3),
    st.builds(
        slice, st.none() | st.integers(-6, 6), st.none() | st.integers(-6, 6), st.sampled_from([None, 1, 2, -1, -2])
    ),
)
indices = st.one_of(
    st.tuples(axis_index, axis_index, axis_index),
    st.tuples(axis_index),
    st.tuples(st.just(Ellipsis), axis_index),
    st.tuples(st.none(), axis_index, st.none()),
)


@given(index=indices)
def test_getitem_is_numpys(device, index):
    host = random_array((4, 5, 6))
    np.testing.assert_array_equal(np.asarray(cuda.to_device(host)[index]), host[index])


@given(index=indices, scalar=st.booleans())
def test_setitem_is_numpys(device, index, scalar):
    host = random_array((4, 5, 6))
    array = cuda.to_device(host)
    value = np.float32(7) if scalar else random_array(host[index].shape) + 1
    array[index] = value
    host[index] = value
    np.testing.assert_array_equal(array.copy_to_host(), host)


@pytest.mark.parametrize("dtype", DTYPES)
def test_device_to_device_assignment(device, dtype):
    host, other = random_array((6, 8), dtype), random_array((3, 4), dtype) + 1
    array = cuda.to_device(host)
    array[::2, 1::2] = cuda.to_device(other)
    host[::2, 1::2] = other
    array[0] = array[2]  # overlapping allocation: copied first
    host[0] = host[2]
    np.testing.assert_array_equal(array.copy_to_host(), host)


def test_reshape_ravel_transpose_view(device):
    host = random_array((4, 6))
    array = cuda.to_device(host)
    np.testing.assert_array_equal(array.reshape(2, 12).copy_to_host(), host.reshape(2, 12))
    np.testing.assert_array_equal(array.reshape((-1, 3)).copy_to_host(), host.reshape(-1, 3))
    np.testing.assert_array_equal(array.T.copy_to_host(), host.T)
    np.testing.assert_array_equal(array.T.ravel("F").copy_to_host(), host.ravel())
    np.testing.assert_array_equal(array.view(np.int32).copy_to_host(), host.view(np.int32))
    np.testing.assert_array_equal(array[None, :, 2].squeeze().copy_to_host(), host[:, 2])
    array.reshape(24)[5] = -1
    assert array[0, 5] == -1


def test_reshape_copies_where_no_view_is_possible(device):
    host = random_array((4, 6))
    array = cuda.to_device(host)
    np.testing.assert_array_equal(array.T.reshape(24).copy_to_host(), host.T.reshape(24))
    with pytest.raises(errors.ShapeError, match="as a view"):
        array.T.reshape(24, copy=False)
    with pytest.raises(errors.ShapeError):
        array.reshape(5, 5)


def test_copies_check_shape_and_dtype(device):
    array = cuda.to_device(random_array((4, 6)))
    with pytest.raises(errors.ShapeError):
        array.copy_to_host(np.empty((6, 4), np.float32))
    with pytest.raises(errors.DTypeError):
        array.copy_to_host(np.empty((4, 6), np.float64))
    with pytest.raises(errors.DTypeError):
        array.copy_to_device(np.zeros((4, 6)))
    with pytest.raises(errors.ShapeError):
        array[:, 0] = np.zeros(5, np.float32)


def test_copy_to_host_into_strided_target(device):
    host = random_array((4, 6))
    target = np.zeros((8, 12), np.float32)
    cuda.to_device(host).copy_to_host(target[::2, ::2])
    np.testing.assert_array_equal(target[::2, ::2], host)
    assert target.sum() == host.sum(dtype=np.float32) or np.isclose(target.sum(), host.sum())


def test_use_after_close(device):
    array = cuda.to_device(random_array(10))
    array.close()
    with pytest.raises(errors.ClosedError):
        array.copy_to_host()


@pytest.mark.opencl
def test_pyopencl_array_is_shared_both_ways(device):
    context = cuda.current_context()
    queue = cl.CommandQueue(context.cl_context)
    foreign = pyopencl.array.to_device(queue, random_array((5, 4)))
    mine = cuda.as_cuda_array(foreign)
    mine[0] = 3
    cuda.default_stream().synchronize()
    mine.stream.synchronize()
    assert (foreign.get()[0] == 3).all()
    again = mine.to_pyopencl(queue)
    cl.enqueue_fill_buffer(queue, again.base_data, np.float32(4), again.offset, again.nbytes)
    queue.finish()
    assert (mine.copy_to_host()[0] == 4).all()


@pytest.mark.opencl
def test_buffer_of_a_users_own_context(device):
    own = native_context(device)
    host = random_array(32)
    buffer = cl.Buffer(own, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
    array = cuda.as_cuda_array(buffer, dtype=np.float32)
    assert array.context is Context.wrap(own)

    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    double[1, 32](array)
    np.testing.assert_array_equal(array.copy_to_host(), host * 2)


def test_too_large_an_array_is_a_typed_error_and_work_goes_on(device):
    limit = device.capabilities.max_allocation
    with pytest.raises(errors.OutOfMemoryError):
        cuda.device_array(limit * 4, np.int8)
    assert cuda.to_device(np.ones(3))[1] == 1


def test_repr_and_scalars(device):
    array = cuda.to_device(np.float64(2.5))
    assert float(array) == 2.5
    assert "DeviceNDArray" in repr(array)
    with pytest.raises(TypeError):
        len(array)


@pytest.mark.parametrize("strides", [(0,), (8,), (-3,)])
def test_arrays_without_elements_keep_their_strides(device, strides):
    host = np.ndarray((0,), np.int8, strides=strides)
    there = cuda.to_device(host)
    assert (there.shape, there.strides) == (host.shape, host.strides)
    there.copy_to_device(cuda.device_array(0, np.int8))
    assert there.copy_to_host(np.empty(0, np.int8)).shape == (0,)


def test_flags_are_items_and_attributes(device):
    for host in (np.zeros((2, 3)), np.zeros((2, 3), order="F"), np.zeros((4, 6))[::2, ::2], np.zeros(3)):
        whole = cuda.to_device(host.base if host.base is not None else host)
        found = (whole[::2, ::2] if host.base is not None else whole).flags
        for name in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE"):
            assert found[name] == getattr(found, name.lower()) == host.flags[name]
    with pytest.raises(AttributeError, match="c_contiguous, f_contiguous, writeable"):
        found.behaved  # noqa: B018
