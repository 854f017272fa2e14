"""What the original API has on the host beside arrays: options it refuses, streams as numbers, facts of devices."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors, int32

pytestmark = pytest.mark.one_device


def _nothing(x):
    pass


@pytest.mark.parametrize("signature", ["int32(int32[:])", int32(int32[:])])
def test_kernels_return_nothing(signature):
    with pytest.raises(TypeError, match="must have void return type"):
        cuda.jit(signature)(_nothing)
    cuda.jit("none(int32[:])")(_nothing)


@pytest.mark.parametrize("option", ["argtypes", "restype", "bind"])
def test_deprecated_options(option):
    with pytest.raises(errors.SettingsError, match="Deprecated keyword argument"):
        cuda.jit(**{option: int32})


def test_streams_as_numbers(device):
    assert int(cuda.default_stream()) == 0
    stream = cuda.stream()
    other = cuda.external_stream(int(stream))
    x = cuda.to_device(np.arange(5), stream=other)
    other.synchronize()
    assert x.copy_to_host().tolist() == [0, 1, 2, 3, 4]


def test_the_stream_of_this_thread(device):
    context = cuda.current_context()
    assert context.get_per_thread_default_stream() is cuda.per_thread_default_stream()


def test_no_error_where_a_device_works(device):
    assert cuda.cuda_error() is None


def test_more_facts(device):
    current = cuda.get_current_device()
    assert current.compute_capability == (current.COMPUTE_CAPABILITY_MAJOR, current.COMPUTE_CAPABILITY_MINOR)
    assert current.L2_CACHE_SIZE >= 0
    assert (current.CAN_MAP_HOST_MEMORY, current.UNIFIED_ADDRESSING) == (1, 0)


def test_the_element_of_an_array_without_axes(device):
    x = cuda.to_device(np.array(4.0))
    assert x[()] == 4
    x[()] = 3
    assert x[...].copy_to_host() == 3


def test_views_whose_bytes_do_not_fit(device):
    with pytest.raises(ValueError, match="When changing to a larger dtype"):
        cuda.to_device(np.arange(3, dtype=np.int32)).view(np.int64)


def test_specialisations_tell_what_the_kernel_tells(device):
    @cuda.jit
    def kernel(x):
        tile = cuda.shared.array(16, np.float32)
        tile[cuda.threadIdx.x] = x[0]
        x[0] = tile[0]

    kernel[1, 1](np.zeros(1, np.float32))
    (found,) = kernel.overloads.values()
    (signature,) = kernel.signatures
    assert found.argument_types == signature
    for name in ("shared_mem_per_block", "local_mem_per_thread", "const_mem_size", "max_threads_per_block"):
        assert getattr(found, name) == getattr(kernel, f"get_{name}")(signature)
    assert found.regs_per_thread == kernel.get_regs_per_thread(signature)
    assert not hasattr(found, "no_such_figure")
