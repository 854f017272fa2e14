"""Devices under CUDA-Python's names."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from portagpu import cuda, errors
from portagpu.device import working_devices

LIMITS = [
    "MAX_THREADS_PER_BLOCK",
    *(f"MAX_{what}_DIM_{axis}" for what in ("BLOCK", "GRID") for axis in "XYZ"),
    *("MAX_SHARED_MEMORY_PER_BLOCK", "WARP_SIZE", "MULTIPROCESSOR_COUNT", "TOTAL_MEMORY", "TOTAL_CONSTANT_MEMORY"),
]


def test_the_current_device(device):
    current = cuda.get_current_device()
    assert current == device == cuda.current_context().device
    assert current == cuda.gpus.current
    assert (current.id, current.name) == (device.index, device.name)
    assert current in list(cuda.gpus)
    assert {current: 1}[cuda.gpus.current] == 1
    assert str(device.index) in repr(current)


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_positive(device, name):
    limit = getattr(cuda.get_current_device(), name)
    assert isinstance(limit, int)
    assert limit > 0
    assert getattr(cuda.current_context().device, name) == limit


def test_facts(device):
    current = cuda.get_current_device()
    assert current.WARP_SIZE == 32
    assert current.CLOCK_RATE >= 0
    assert current.INTEGRATED in (0, 1)
    assert current.ECC_ENABLED in (0, 1)
    assert current.MAX_THREADS_PER_MULTI_PROCESSOR >= current.MAX_THREADS_PER_BLOCK
    assert current.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR >= current.MAX_SHARED_MEMORY_PER_BLOCK
    assert current.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN >= current.MAX_SHARED_MEMORY_PER_BLOCK
    assert (current.CONCURRENT_KERNELS, current.COOPERATIVE_LAUNCH, current.MANAGED_MEMORY) == (1, 1, 1)
    capability = current.compute_capability
    assert len(capability) == 2
    assert capability >= (5, 0)
    assert current.uuid == cuda.get_current_device().uuid
    assert len({d.uuid for d in cuda.gpus}) == len(cuda.gpus)
    assert not hasattr(current, "NO_SUCH_FACT")
    assert copy.copy(current) == current


def test_the_warp_of_kernels_is_the_devices(device):
    @cuda.jit
    def ask(x):
        x[0] = cuda.warpsize

    found = np.zeros(1, np.int32)
    ask[1, 1](found)
    assert found[0] == cuda.get_current_device().WARP_SIZE


def test_gpus_is_a_sequence(device):
    assert len(cuda.gpus) == len(cuda.gpus.lst) == len(working_devices())
    assert [d.id for d in cuda.gpus] == [d.index for d in working_devices()]
    assert cuda.gpus[-1] == cuda.gpus.lst[-1] == cuda.gpus[np.int64(len(cuda.gpus) - 1)]
    assert list(cuda.list_devices()) == cuda.gpus.lst
    for wrong in (len(cuda.gpus), 99, -99):
        with pytest.raises(IndexError) as caught:
            cuda.gpus[wrong]
        assert isinstance(caught.value, errors.DeviceSelectionError)


def test_with_makes_a_device_current(device):
    for other in cuda.gpus:
        with other as context:
            assert cuda.get_current_device() == other
            assert context is cuda.current_context() is other.context
            with cuda.gpus[0]:
                assert cuda.get_current_device() == cuda.gpus[0]
            assert cuda.get_current_device() == other
        assert cuda.get_current_device() == device


def test_select_device(device):
    for other in cuda.gpus:
        assert cuda.select_device(other) == cuda.select_device(other.id) == cuda.select_device(other.record) == other
        assert cuda.current_context().device is other.record
        assert cuda.current_context(other.id) is cuda.current_context()
    for wrong in (None, 0.5, [], True):
        for choice in (cuda.select_device, cuda.Device):
            with pytest.raises(errors.ArgumentTypeError):
                choice(wrong)


def test_a_device_by_its_number(device):
    for other in cuda.gpus:
        with cuda.Device(other.id):
            assert cuda.get_current_device() == other
        assert cuda.Device(other) == cuda.Device(np.int64(other.id)) == cuda.Device(other.record) == other
        assert cuda.get_current_device() == device
    with pytest.raises(errors.DeviceSelectionError):
        cuda.Device(99)


def test_a_context_reset_keeps_arrays(device):
    array = cuda.to_device(np.arange(4.0))
    cuda.current_context().reset()
    np.testing.assert_array_equal(array.copy_to_host(), np.arange(4.0))


def test_a_device_reset_ends_arrays(device):
    array = cuda.to_device(np.arange(4.0))
    cuda.get_current_device().reset()
    with pytest.raises(errors.ClosedError):
        array.copy_to_host()
    assert cuda.get_current_device() == device
    np.testing.assert_array_equal(cuda.to_device(np.arange(4.0)).copy_to_host(), np.arange(4.0))
