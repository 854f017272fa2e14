"""Mapped, managed and pinned arrays, and memory shared with other libraries."""

from __future__ import annotations

import numpy as np
import pytest
from host_memory import shares
from small_kernels import increment

from portagpu import cuda, errors


def run(x, stream=0):
    increment[-(-x.size // 64), 64, stream](x)


SIZES = (3, 10_000)


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array, cuda.pinned_array])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_host_and_kernel_see_each_other(device, make, size, dtype):
    array = make(size, dtype=dtype)
    assert isinstance(array, np.ndarray)
    array[:] = np.arange(size)
    run(array)
    cuda.synchronize()
    np.testing.assert_array_equal(array, np.arange(size) + 1)
    stream = cuda.stream()
    array *= 2
    run(array, stream)
    stream.synchronize()
    np.testing.assert_array_equal(array, 2 * (np.arange(size) + 1) + 1)


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_methods_of_device_arrays(device, make):
    array = make((4, 3), dtype=np.float32, order="F")
    assert (array.is_f_contiguous(), array.is_c_contiguous(), array.alloc_size) == (True, False, 48)
    array.copy_to_device(np.arange(12, dtype=np.float32).reshape(4, 3))
    array.copy_to_device(cuda.to_device(np.asarray(array)))
    copy = array.copy_to_host(stream=cuda.stream())
    assert type(copy) is np.ndarray
    array[:] = 0
    assert copy[3, 2] == 11
    target = np.empty((4, 3), np.float32)
    assert array.bind(cuda.stream()).copy_to_host(target) is target
    assert [len(part) for part in make(5).split(2)] == [2, 2, 1]
    with pytest.raises(errors.DTypeError):
        array.copy_to_device(np.zeros((4, 3)))


def test_results_of_numpy_are_plain_arrays(device):
    array = cuda.mapped_array(10, dtype=np.uint32)
    array[:] = range(10)
    assert type(array + 1) is np.ndarray
    assert isinstance(array.sum(), np.uint64 | np.uint32)
    assert sum(array + 1) == 55
    assert sum((array + 1) * 2 - 1) == 100
    assert sum(array < 5) == 5


def test_like(device):
    model = np.zeros((3, 4), np.int16, order="F")
    for make in (cuda.mapped_array_like, cuda.pinned_array_like, cuda.device_array_like):
        for source in (model, cuda.to_device(model)):
            made = make(source)
            assert (made.shape, made.dtype, made.strides) == (model.shape, model.dtype, model.strides)
    with pytest.raises(errors.ArgumentTypeError):
        cuda.mapped_array_like([1, 2])


@pytest.mark.one_device
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("cut", [(), (slice(None, None, 2), slice(1, None, 3))])
def test_like_a_view(device, order, cut):
    whole, host = cuda.device_array((10, 12), order=order), np.zeros((10, 12), order=order)
    for make in (cuda.mapped_array_like, cuda.pinned_array_like, cuda.device_array_like):
        assert make(whole[cut]).strides == np.zeros_like(host[cut]).strides
        wanted = host[cut].T.copy() if order == "C" else np.zeros_like(host[cut].T)
        assert make(whole[cut].T).strides == wanted.strides


@pytest.mark.parametrize("size", SIZES)
def test_mapped_context_manager(device, size):
    first, second = np.zeros(size), np.ones(size)
    with cuda.mapped(first) as one:
        run(one)
        assert (one.copy_to_host() == 1).all()
    with cuda.mapped(first, second, stream=cuda.stream()) as both:
        for array in both:
            run(array)
    assert (first == 2).all()
    assert (second == 2).all()
    with pytest.raises(errors.ArgumentTypeError), cuda.mapped([1, 2]):
        pass


def test_pinned_context_manager(device):
    array = np.arange(100.0)
    with cuda.pinned(array):
        stream = cuda.stream()
        on_device = cuda.to_device(array, stream=stream)
        on_device.copy_to_host(array, stream=stream)
        stream.synchronize()
    np.testing.assert_array_equal(array, np.arange(100.0))


@pytest.mark.parametrize("size", SIZES)
def test_dlpack_is_the_same_memory_or_a_typed_error(device, size):
    array = cuda.to_device(np.arange(float(size)))
    if not shares(device):
        with pytest.raises(BufferError, match=r"does not share|Unsupported device"):  # of NumPy, for a card's
            np.from_dlpack(array)
        return
    run(array)
    view = np.from_dlpack(array[1:])
    np.testing.assert_array_equal(view, np.arange(1.0, size) + 1)
    run(array)
    cuda.synchronize()
    np.testing.assert_array_equal(view, np.arange(1.0, size) + 2)
    del array
    others = [cuda.to_device(np.full(size, -7.0)) for _ in range(4)]  # none of which gets that memory
    assert view[0] == 3 and len(others) == 4


@pytest.mark.parametrize("size", SIZES)
def test_from_dlpack(device, size):
    host = np.zeros(size)
    array = cuda.from_dlpack(host)
    run(array)
    read = array.copy_to_host()
    assert (read == 1).all(), (read[:3], host[:3])
    assert (host == 1).all() == shares(device)
    assert cuda.from_dlpack(array) is array
    with pytest.raises(errors.ArgumentTypeError):
        cuda.from_dlpack([1])


def test_from_dlpack_of_a_device(device):
    class Elsewhere:
        def __dlpack__(self, **options):
            raise AssertionError

        def __dlpack_device__(self):
            return 10, 0  # ROCm's

    with pytest.raises(BufferError, match="memory of a device"):
        cuda.from_dlpack(Elsewhere())


@pytest.mark.parametrize(
    "source",
    [
        [1, 2, 3],
        5,
        np.float32(2),
        np.array(7),
        np.broadcast_to(np.arange(3), (2, 3)),
        np.arange(6)[::-2],
        np.asfortranarray(np.ones((2, 3))),
        np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2),
    ],
    ids="list int scalar 0-d broadcast negative fortran transposed".split(),
)
def test_to_device_of_array_likes(device, source):
    expected = np.asarray(source)
    found = cuda.to_device(source)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(found.copy_to_host(), expected)


def test_to_device_of_what_is_no_array(device):
    with pytest.raises(TypeError):
        cuda.to_device(np.array(["text", None], dtype=object))
    with pytest.raises(TypeError):
        cuda.to_device([[1, 2], [3]])


def test_freed_memory_is_counted_and_given_back():
    kept = cuda.current_context().deallocations
    assert len(kept) >= 0
    kept.clear()
    assert len(cuda.current_context().deallocations) == 0
    assert not kept.is_locked


@pytest.mark.parametrize("streams", [False, True], ids=["one stream", "several"])
def test_cleanup_that_is_deferred(device, streams):
    context = cuda.current_context()
    if streams:
        context.stream()  # from now on freed memory is not used again
    kept = context.memory_manager.deallocations
    kept.clear()
    free = context.get_memory_info().free
    x = cuda.to_device(np.arange(1000))
    with pytest.raises(KeyError), cuda.defer_cleanup():
        with cuda.defer_cleanup():
            y = cuda.to_device(np.arange(1000))
            del x
            blocks = len(kept)
            del y
            assert len(kept) == 2 * blocks
        kept.clear()
        assert kept.is_locked
        assert len(kept) == 2 * blocks
        assert cuda.to_device(np.arange(3)).copy_to_host().tolist() == [0, 1, 2]
        raise KeyError
    kept.clear()
    assert not kept.is_locked
    assert len(kept) == 0
    assert context.get_memory_info().free == free


def test_freed_memory_by_the_name_of_the_memory_manager(device):
    manager = cuda.current_context().memory_manager
    manager.deallocations.clear()
    kept = len(manager.deallocations)
    x = cuda.to_device(np.ones(1000))
    wrapped = cuda.as_cuda_array(x)
    del x
    assert len(manager.deallocations) == kept  # nothing was freed
    assert wrapped.copy_to_host().sum() == 1000
    free = manager.get_memory_info().free
    del wrapped
    assert manager.get_memory_info().free > free
    assert manager.get_memory_info().total == cuda.current_context().get_memory_info().total
    manager.deallocations.clear()
    assert len(manager.deallocations) == kept
