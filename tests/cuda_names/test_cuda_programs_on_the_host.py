"""What programs for the original API do on the host: methods on streams, read-only arguments, pickling, contexts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from portagpu import cuda, errors, guvectorize, vectorize
from portagpu.cuda.cudadrv.devicearray import DeviceRecord, from_record_like

pytestmark = pytest.mark.one_device


@cuda.jit
def write(x):
    x[cuda.grid(1)] = 1


@cuda.jit
def copy(x, out):
    out[cuda.grid(1)] = x[cuda.grid(1)]


@vectorize(["float64(float64)"], target="cuda")
def one_more(a):
    return a + 1


@guvectorize(["void(float64[:], float64[:])"], "(n)->(n)", target="cuda")
def doubled(a, out):
    for i in range(a.shape[0]):
        out[i] = 2 * a[i]


@cuda.reduce
def total(a, b):
    return a + b


@pytest.mark.parametrize("size", [5, 100_000])
def test_writing_a_read_only_array_is_an_error(device, size):
    host = np.zeros(size)
    host.flags.writeable = False
    with pytest.raises(errors.KernelError, match="read-only") as caught:
        write[1, 5](host)
    assert caught.value.span is not None
    with pytest.raises(errors.KernelError, match="read-only"):
        write[1, 5](np.broadcast_to(np.zeros(1), (5,)))
    out = np.ones(size)
    copy[1, 5](host, out)
    np.testing.assert_array_equal(out[:5], 0)
    write[1, 5](cuda.In(host))  # a copy of the launch's own
    assert not host.any()


def test_read_only_in_tuples_and_with_signatures(device):
    host = np.zeros(3, np.int32)
    host.flags.writeable = False

    @cuda.jit
    def first(pair):
        pair[0][0] = 1

    with pytest.raises(errors.KernelError, match="read-only"):
        first[1, 1]((host,))
    with pytest.raises(errors.KernelError, match="read-only"):
        cuda.jit("void(int32[:])")(write.py_func)[1, 3](host)


def test_items_in_streams(device):
    host, stream = np.arange(12.0).reshape(3, 4), cuda.stream()
    array = cuda.to_device(host)
    array.setitem(1, 5.0, stream)
    array.setitem((0, slice(None)), np.arange(4.0) * 2, stream=stream)
    array.setitem(2, array.getitem(0, stream=stream), stream=stream)
    assert array.getitem((2, 3), stream=stream) == 6
    np.testing.assert_array_equal(array.copy_to_host(), [[0, 2, 4, 6], [5] * 4, [0, 2, 4, 6]])
    record = cuda.to_device(np.zeros(2, [("a", np.int32)]))
    record[1].setitem("a", 3)
    assert record.getitem(1).getitem("a") == 3


def test_views_that_need_a_copy(device):
    array = cuda.to_device(np.arange(24.0).reshape(4, 6))
    host = np.arange(24.0).reshape(4, 6)
    for use in (lambda x: x[::2].ravel(), lambda x: x.T.ravel(), lambda x: x.T.reshape(24), lambda x: x.T.ravel("F")):
        np.testing.assert_array_equal(use(array).copy_to_host(), use(host))
    with pytest.raises(NotImplementedError) as caught:
        array.T.reshape(24, copy=False)
    assert isinstance(caught.value, errors.NotContiguousError)
    with pytest.raises(errors.ShapeError) as caught:
        array.reshape(5, -1)
    assert not isinstance(caught.value, NotImplementedError)
    for order in "CA":
        np.testing.assert_array_equal(array.ravel(order, stream=cuda.stream()).copy_to_host(), np.arange(24.0))
    np.testing.assert_array_equal(array.T.ravel("A").copy_to_host(), np.arange(24.0))


def test_numpy_functions_that_make_views(device):
    host = np.arange(24.0).reshape(4, 6)
    array = cuda.to_device(host)
    np.testing.assert_array_equal(np.transpose(array).copy_to_host(), host.T)
    np.testing.assert_array_equal(np.transpose(array, axes=(0, 1)).copy_to_host(), host)
    np.testing.assert_array_equal(np.reshape(array, (2, 12)).copy_to_host(), host.reshape(2, 12))
    assert np.squeeze(array[None]).shape == np.ravel(array).reshape(4, 6).shape == (4, 6)
    with pytest.raises(ValueError, match="axis"):
        np.transpose(array, axes=(0, 2))


@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_arrays_like_others_keep_the_order_of_axes(device, axes):
    like = np.zeros((2, 3, 4), np.float32).transpose(axes)
    assert cuda.device_array_like(like).strides == np.empty_like(like).strides
    assert cuda.device_array_like(like[::2]).strides == np.empty_like(like[::2]).strides
    assert cuda.device_array_like(cuda.device_array_like(like)).strides == like.strides
    with_gaps = np.zeros((2, 3, 8), np.float32)[:, :, ::2].transpose(axes)
    on_device = cuda.to_device(np.zeros((2, 3, 8), np.float32))[:, :, ::2].transpose(axes)
    for made in (cuda.device_array_like, cuda.mapped_array_like, cuda.pinned_array_like):
        assert made(with_gaps).strides == made(on_device).strides == np.empty_like(with_gaps).strides
    assert cuda.mapped_array_like(like).strides == cuda.pinned_array_like(like).strides == like.strides


def test_strides_of_one_axis(device):
    array = cuda.device_array(5, strides=16)
    array[:] = 2
    assert (array.alloc_size, array.copy_to_host().tolist()) == (72, [2.0] * 5)


def test_records_like_others(device):
    host = np.array([(1, 2.0)], [("a", np.int32), ("b", np.float64)])
    record = from_record_like(host[0])
    assert isinstance(record, DeviceRecord)
    record.copy_to_device(host[0])
    assert record["b"] == 2


@pytest.mark.parametrize("config", [(2.0, 3), (1, 3.0), ("a", 1)])
def test_configurations_are_integers(device, config):
    with pytest.raises(TypeError) as caught:
        write[config](np.zeros(3))
    assert isinstance(caught.value, errors.LaunchConfigError)


def test_configure_is_a_subscript(device):
    host = np.zeros(3)
    write.configure(1, 3)(host)
    assert host.all()
    assert write.extensions == []


def test_what_decorators_make_is_pickled(device):
    host = np.arange(4.0)
    assert pickle.loads(pickle.dumps(one_more)) is one_more
    assert pickle.loads(pickle.dumps(total)) is total
    local = vectorize(["float64(float64)"])(lambda a: a - 1)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(local))(host), host - 1)
    again = guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")(doubled.py_func)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again))(host), 2 * host)
    assert pickle.loads(pickle.dumps(cuda.reduce(lambda a, b: a * b)))(host + 1, init=1) == 24


def test_contexts_are_pushed_and_popped(device):
    context = cuda.current_context()
    context.push()
    assert cuda.current_context() is context
    context.pop()
    others = [gpu for gpu in cuda.gpus if gpu.context is not context]
    for other in others:
        other.context.push()
        assert cuda.current_context() is other.context
        with pytest.raises(errors.ArgumentTypeError):
            context.pop()
        other.context.pop()
    assert cuda.current_context() is context


def test_names_of_contexts_and_devices(device):
    context = cuda.current_context()
    stream = context.create_stream()
    event = context.create_event()
    event.record(stream)
    event.synchronize()
    assert stream is not context.get_default_stream() is context.default_stream
    assert not context.can_access_peer(1)
    with pytest.raises(errors.MemoryNotSharedError):
        context.enable_peer_access(1)
    assert [d.id for d in cuda.gpus[:]] == list(range(len(cuda.gpus)))
    for refused in (stream, event):
        with pytest.raises(errors.ArgumentTypeError, match="cannot be pickled"):
            pickle.dumps(refused)


def test_what_tells_of_device_arrays(device):
    x = cuda.to_device(np.arange(12.0).reshape(3, 4))
    cuda.devicearray.verify_cuda_ndarray_interface(x)
    with pytest.raises(TypeError):
        cuda.devicearray.verify_cuda_ndarray_interface(np.zeros(3))
    assert x.view(np.int64).gpu_data == x.gpu_data != x[1:].gpu_data
    repeated = x[0].broadcast_to((5, 4))
    for array, contiguous in ((x, True), (x.T, False), (x[:, ::2], False), (repeated, True), (repeated[:, ::2], False)):
        assert cuda.devicearray.is_contiguous(array) is contiguous
    assert cuda.devicearray.is_contiguous(np.broadcast_to(np.zeros(4), (5, 4)))
    assert cuda.devicearray.array_core(repeated).shape == (4,)
    assert x.transpose(axes=(1, 0)).shape == np.transpose(x, axes=(1, 0)).shape == (4, 3)
    with pytest.raises(errors.ShapeError):
        x.transpose(0, axes=(1, 0))


def test_what_is_no_event(device):
    for misused in (cuda.event().elapsed_time, cuda.stream().wait_event):
        with pytest.raises(errors.ArgumentTypeError, match="event"):
            misused(5)


def test_what_opencl_has_not(device):
    for name in ("compile_ptx", "compile_ptx_for_current_device", "compile", "compile_for_current_device"):
        with pytest.raises(errors.UnsupportedError, match="PTX"):
            getattr(cuda, name)(write.py_func, (cuda.float32[:],))
    with pytest.raises(errors.UnsupportedError, match="linked"):
        cuda.declare_device("f", "int32(int32)")
    with pytest.raises(errors.UnsupportedError):
        cuda.set_memory_manager(object)
    for refused in (lambda: cuda.open_ipc_array(0, 3, np.float32), cuda.to_device(np.zeros(3)).get_ipc_handle):
        with pytest.raises(errors.MemoryNotSharedError):
            refused()
    assert cuda.is_supported_version()
    with pytest.raises(errors.MemoryNotSharedError):
        cuda.to_device(np.zeros(2, [("a", np.int32)])).__dlpack__()


def test_reduction_checks_its_initial_value(device):
    with pytest.raises(errors.ArgumentTypeError, match="does not fit"):
        total(np.arange(3), init="x")


def test_read_only_and_writable_arrays_meet(device):
    @cuda.jit(device=True)
    def either(x, y, flag):
        return x if flag else y

    @cuda.jit
    def pick(x, y, out, flag):
        z = x
        if flag:
            z = y
        out[0] = z[0]
        out[1] = either(x, y, flag)[0]
        for _ in range(2):
            z = x
        out[2] = z[0]

    @cuda.jit
    def scribble(x, y, flag):
        z = x if flag else y
        z[0] = 1

    one, two, out = np.ones(3), np.full(3, 2.0), np.zeros(3)
    one.flags.writeable = False
    for flag in (False, True):
        pick[1, 1](one, two, out, flag)
        np.testing.assert_array_equal(out, [1 + flag, 2 - flag, 1])
        pick[1, 1](two, one, out, flag)
        np.testing.assert_array_equal(out, [2 - flag, 1 + flag, 2])
    with pytest.raises(errors.KernelError, match="read-only"):
        scribble[1, 1](one, two, True)
    with pytest.raises(errors.KernelError, match="read-only"):
        scribble[1, 1](two, one, True)


def _adds(x, y):
    """Adds two arrays.

    In place.
    """
    x[0] += y[0]


def _says_nothing(x):
    x[0] = 1


@pytest.mark.parametrize("device_function", [False, True])
@pytest.mark.parametrize("function", [_adds, _says_nothing])
def test_docstrings_are_those_of_the_functions(function, device_function):
    assert cuda.jit(function, device=device_function).__doc__ == function.__doc__
    assert isinstance(cuda.devicearray.errmsg_contiguous_buffer, str)
