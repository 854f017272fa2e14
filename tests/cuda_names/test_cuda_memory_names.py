"""Memory under the original's names: pointers, arrays made by hand, interfaces of shared arrays, handles of streams."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from own_contexts import foreign_queue
from small_kernels import double

from portagpu import cuda, errors, vectorize, xp
from portagpu.cuda import types
from portagpu.cuda.cudadrv.devicearray import DeviceNDArray, DeviceRecord
from portagpu.cuda.kernels.transpose import transpose
from portagpu.runtime.arrays.dlpack import shares_with_host


@cuda.jit(types.void(types.CPointer(types.int32), types.uint32))
def _count_up(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] += 1


def _address(array):
    return array.__cuda_array_interface__["data"][0]


def test_pointers_are_addresses_of_device_arrays(device):
    x = cuda.to_device(np.arange(6, dtype=np.int32))
    _count_up[1, 8](_address(x), 6)
    _count_up[1, 8](_address(x[4:]), 2)
    _count_up[1, 8](x, 1)
    assert list(x.copy_to_host()) == [2, 2, 3, 4, 6, 7]
    for wrong in (12345, 0, -1):
        with pytest.raises(errors.MemoryNotSharedError, match="no device array has the address"):
            _count_up[1, 8](wrong, 1)
    for wrong in (2.5, True, np.zeros(3), None):
        with pytest.raises(errors.ArgumentTypeError):
            _count_up[1, 8](wrong, 1)
    dead = _address(cuda.to_device(np.zeros(3, np.int32)))
    gc.collect()
    with pytest.raises(errors.MemoryNotSharedError):
        _count_up[1, 8](dead, 1)


@cuda.jit(types.void(types.CPointer(types.float32), types.CPointer(types.float32), types.int64))
def _copy_rows(p, q, n):
    x = cuda.carray(p, (n, 3), np.float32)
    y = cuda.farray(q, (n, 3))
    i = cuda.grid(1)
    if i < n:
        for j in range(3):
            y[i, j] = x[i, j] + cuda.carray(p, n)[i]


def test_arrays_at_pointers(device):
    x = np.arange(20, dtype=np.float32)
    rows, columns = cuda.to_device(x), cuda.to_device(np.zeros(20, np.float32))
    _copy_rows[1, 8](rows.gpu_data.device_pointer, int(columns[4:].gpu_data.device_pointer), 4)
    expected = np.zeros(20, np.float32)
    expected[4:16] = (x[:12].reshape(4, 3) + x[:4, None]).ravel("F")
    np.testing.assert_array_equal(columns.copy_to_host(), expected)


def test_pointers_of_other_elements(device):
    def of_other_elements(p):
        cuda.carray(p, 2, np.int32)[0] = 1

    def of_no_pointer(p):
        cuda.carray(p[0], 2)[0] = 1

    for function, text in ((of_other_elements, "mismatching dtype"), (of_no_pointer, "carray needs a pointer")):
        with pytest.raises(errors.KernelTypeError, match=text):
            cuda.jit(types.void(types.CPointer(types.float32)))(function)


def test_memory_of_arrays(device):
    x = cuda.to_device(np.arange(6, dtype=np.int32))
    memory = x[2:].gpu_data
    assert memory == x[2:4].gpu_data != x.gpu_data
    assert hash(memory) == hash(x[2:4].gpu_data)
    assert memory.device_pointer == memory.device_ctypes_pointer.value == _address(x) + 8
    assert memory.size == x.gpu_data.size - 8
    assert memory.buffer is x.buffer
    assert "bytes on" in repr(memory)
    again = cuda.devicearray.from_array_like(np.zeros(3, np.uint32), gpu_data=memory)
    again[0] = 9
    assert x.copy_to_host().tolist() == [0, 1, 9, 3, 4, 5]
    assert x[:0].gpu_data.device_pointer_value is None


_ALIGNED = np.dtype([("a", np.int32), ("b", np.float64)], align=True)
_HOST = np.arange(48, dtype=np.float32)


@pytest.mark.parametrize(
    "like",
    [
        *(_HOST.reshape(4, 12), _HOST.reshape(4, 12, order="F"), _HOST.reshape(2, 4, 6).transpose(1, 2, 0)),
        *(_HOST[::3], _HOST.reshape(6, 8)[:, 2:5], np.broadcast_to(_HOST[:2], (3, 2)), _HOST[:0], _HOST[0, ...]),
        *(_HOST.view(_ALIGNED), _HOST.view(np.complex64), _HOST.view("M8[s]"), _HOST.view(">i4")),
    ],
    ids=lambda x: f"{x.dtype.str}{x.shape}{x.strides}",
)
def test_arrays_like_others_in_given_memory(device, like):
    x = cuda.to_device(_HOST)
    for memory in (x, x[2:], x[:0]):
        behind = _HOST.nbytes - memory.offset
        starts = np.ndarray(like.shape, like.dtype, _HOST, 0, like.strides)
        if (
            starts.size
            and np.lib.array_utils.byte_bounds(starts)[1] - np.lib.array_utils.byte_bounds(_HOST)[0] > behind
        ):
            with pytest.raises(errors.ShapeError, match="reaches out of"):
                cuda.devicearray.from_array_like(like, gpu_data=memory.gpu_data)
            continue
        found = cuda.devicearray.from_array_like(like, gpu_data=memory.gpu_data)
        expected = np.ndarray(like.shape, like.dtype, _HOST, memory.offset, like.strides)
        assert (found.dtype, found.shape, found.strides) == (like.dtype, like.shape, like.strides)
        assert found.copy_to_host().tobytes() == expected.tobytes()


def test_types_of_pointers():
    assert types.CPointer("float32") == types.CPointer(types.float32)
    assert types.as_signature("void(CPointer(float32), int32)").args[0] == types.CPointer(types.float32)
    with pytest.raises(errors.KernelTypeError, match="CPointer takes a scalar type"):
        types.CPointer(types.float32[:])


class _Foreign:
    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_interfaces_of_shared_arrays(device, make):
    stream = cuda.stream()
    x = make(5, np.float32, stream=stream)
    x[:] = np.arange(5)
    told = x.__cuda_array_interface__
    assert told["data"] == (x.ctypes.data, False)
    assert (told["shape"], told["typestr"], told["strides"], told["version"]) == ((5,), "<f4", None, 3)
    assert told["stream"] == int(stream.handle)
    assert make(5).__cuda_array_interface__["stream"] is None
    assert make(0).__cuda_array_interface__["data"][0] == 0
    assert cuda.is_cuda_array(x)
    assert not cuda.is_cuda_array(np.zeros(3))
    if not shares_with_host(cuda.current_context().capabilities):
        with pytest.raises(errors.MemoryNotSharedError, match="does not use the host's memory"):
            cuda.as_cuda_array(x)
        return
    for found in (cuda.as_cuda_array(x), cuda.as_cuda_array(_Foreign(x)), _Foreign(x)):
        x[:] = np.arange(5)
        double[1, 8](found)
        cuda.synchronize()
        assert list(x) == [0, 2, 4, 6, 8]
    whole = make((4, 6))
    part = whole[1:, ::2]
    whole[:] = 3
    view = cuda.as_cuda_array(part)
    assert (view.shape, view.strides) == (part.shape, part.strides)
    np.testing.assert_array_equal(view.copy_to_host(), part)


def test_arrays_made_by_hand(device):
    for x in (
        DeviceNDArray((2, 3), (12, 4), np.float32),
        DeviceNDArray(shape=(2, 3), strides=(4, 8), dtype=np.float32, stream=cuda.stream()),
    ):
        x.copy_to_device(np.ones((2, 3), np.float32))
        double[1, 8](x.ravel("A"))
        assert np.all(x.copy_to_host() == 2)
    one = DeviceNDArray((1, 10), (800, 8), np.float64)
    assert (one.flags["C_CONTIGUOUS"], one.strides) == (True, (800, 8))
    kind = np.dtype([("a", np.int32), ("b", np.float32)])
    record = DeviceRecord(kind)
    record.copy_to_device(np.array([(3, 2.5)], kind)[0])
    assert record.copy_to_host() == np.array((3, 2.5), kind)
    assert record._numba_type_ == types.from_dtype(kind)


def test_types_of_device_arrays(device):
    x = np.zeros((4, 5), np.int16)
    for host, layout in ((x, "C"), (np.asfortranarray(x), "F"), (x[:, 0], "C")):
        assert cuda.to_device(host)._numba_type_ == types.Array(types.int16, host.ndim, layout)
    assert cuda.to_device(x)[:, ::2]._numba_type_.layout == "A"


def test_host_arrays_without_a_copy(device):
    x = cuda.to_device(np.zeros(3))
    with pytest.raises(ValueError, match="`copy=False` is not supported"):
        np.array(x, copy=False)


@pytest.mark.parametrize("shape", [1.5, np.float64(2), [1.5], (2, "3"), True])
def test_shapes_are_made_of_integers(device, shape):
    with pytest.raises(errors.ShapeTypeError):
        cuda.device_array(shape)
    with pytest.raises(errors.ShapeError):
        cuda.device_array((2, -1))


def test_messages_of_views_are_those_of_numpy(device):
    x = cuda.to_device(np.zeros((3, 4), np.int16))
    host = np.zeros((3, 4), np.int16)
    for call in (
        lambda a: a.transpose(0, 0),
        lambda a: a.transpose(0, 2),
        lambda a: a.transpose(0),
        lambda a: a[:, :3].view("i4"),
    ):
        with pytest.raises(ValueError) as theirs:
            call(host)
        with pytest.raises(errors.ShapeError) as ours:
            call(x)
        assert str(ours.value) == str(theirs.value)
    for value in (np.zeros((1, 2, 3), np.int16), np.zeros(5, np.int16)):
        with pytest.raises(errors.ShapeError, match="could not broadcast input array from shape") as ours:
            x[0] = value
        assert str(ours.value).startswith("could not broadcast input array from shape (")


def test_transposes(device):
    x = np.arange(35, dtype=np.int32).reshape(5, 7)
    d = cuda.to_device(x)
    made = transpose(d)
    assert made.is_c_contiguous()
    np.testing.assert_array_equal(made.copy_to_host(), x.T)
    given = cuda.device_array((7, 5), np.int32, order="F")
    assert transpose(d, given) is given
    np.testing.assert_array_equal(given.copy_to_host(), x.T)
    with pytest.raises(errors.ShapeError):
        transpose(d, cuda.device_array((5, 7), np.int32))
    with pytest.raises(errors.ShapeError, match="two axes"):
        transpose(cuda.device_array(3))
    with pytest.raises(errors.ArgumentTypeError):
        transpose(x)


_NO_QUEUE = r"no OpenCL object is at|number of no SYCL queue"


def test_streams_of_foreign_addresses(device):
    if device.backend == "cuda":
        pytest.skip("its numbers are those of CUDA's streams")
    _queue, number = foreign_queue(cuda.current_context())
    stream = cuda.external_stream(number)
    assert stream.external
    assert stream.__cuda_stream__() == (0, int(stream.handle))
    assert int(stream.handle) == number
    with pytest.raises(errors.ArgumentTypeError, match=_NO_QUEUE):
        cuda.external_stream(2**70)


@vectorize(["float64(float64)"], target="cuda")
def _plus_one(x):
    return x + 1


def _synchronize(stream):
    stream.synchronize()


def _make_current(stream):
    with stream:
        cuda.to_device(np.ones(3))


def _add_elements(stream):
    x = xp.asarray(np.ones(3))
    with stream:
        return np.asarray(xp.add(x, x))


_USES = {
    "elements": _add_elements,
    "synchronize": _synchronize,
    "queue": lambda stream: stream.queue,
    "with": _make_current,
    "callback": lambda stream: stream.add_callback(lambda *args: None),
    "wait": lambda stream: cuda.stream().wait_stream(stream),
    "array": lambda stream: cuda.device_array(3, stream=stream).copy_to_host(),
    "copy": lambda stream: cuda.to_device(np.ones(3), stream=stream),
    "assignment": lambda stream: cuda.to_device(np.ones(3)).setitem(0, 2, stream=stream),
    "event": lambda stream: cuda.event().record(stream),
    "function": lambda stream: _plus_one(np.ones(3), stream=stream),
    "launch": lambda stream: _as_declared[1, 1, stream](np.zeros(1, np.int32), np.zeros(1, np.uint8)),
}


def test_numbers_of_no_queue_are_refused_at_their_use(device):
    if device.backend == "cuda":
        pytest.skip("its numbers are those of CUDA's streams")
    zeros = np.zeros(64)
    for number in (0x12345678, 8, 7, 2**63, id(zeros), zeros.ctypes.data):
        stream = cuda.external_stream(number)
        assert stream.external
        assert int(stream.handle) == number
        assert "External" in repr(stream)
        with pytest.raises(errors.ArgumentTypeError, match=_NO_QUEUE):
            stream.synchronize()
    for name, use in _USES.items():
        with pytest.raises(errors.ArgumentTypeError, match=_NO_QUEUE):
            use(stream)
            pytest.fail(f"{name} was not refused")
    with pytest.raises(errors.ArgumentTypeError) as refused:
        stream.synchronize()
    assert refused.value.span is None  # not that of an earlier use
    stream.close()
    assert cuda.to_device(zeros).copy_to_host().tolist() == zeros.tolist()


@cuda.jit("void(int32[:], uint8[::1])")
def _as_declared(x, y):
    i = cuda.grid(1)
    x[i] = 1 if x[i] < 0 else 0
    y[i] = y[i] // 2


def test_signatures_take_integers_of_the_other_sign(device):
    x, y = np.array([2**32 - 1, 5], np.uint32), np.array([-2, 4], np.int8)
    _as_declared[1, 2](x, y)
    assert (list(x), list(y)) == ([1, 0], [127, 2])
    x, y = np.array([2**32 - 1, 5], np.uint32), cuda.to_device(np.array([-2, 4], np.int8))
    _as_declared[1, 2](cuda.InOut(x), y)
    assert (list(x), list(y.copy_to_host())) == ([1, 0], [127, 2])
    with pytest.raises(errors.ArgumentTypeError, match="the signature says"):
        _as_declared[1, 2](x, np.zeros(2, np.uint16))


def test_devices_tell_of_small_floats(device):
    current = cuda.get_current_device()
    assert current.supports_float16 == cuda.is_float16_supported()
    assert current.supports_bfloat16 == cuda.is_bfloat16_supported()


def test_redundant_options():
    with pytest.warns(RuntimeWarning, match="nopython kwarg for cuda target is redundant"):
        cuda.vectorize("float32(float32)", target="cuda", nopython=True)(lambda x: x)
    with pytest.raises(errors.UnknownOptionError) as raised:
        cuda.guvectorize("void(float32[:], float32[:])", "(x)->(x)", one=1, two=2)
    assert str(raised.value).endswith("not supported: one, two")


def test_raw_memory_is_refused(device):
    context = cuda.current_context()
    for call in (
        lambda: context.memalloc(8),
        lambda: context.memallocmanaged(8),
        lambda: context.memhostalloc(8, mapped=True),
        lambda: context.mempin(None, 4096, 8),
    ):
        with pytest.raises(errors.UnsupportedError, match="memory here is arrays"):
            call()
