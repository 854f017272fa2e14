"""Launches with an event and without one: what OpenCL gets and says is the same."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyopencl as cl
import pytest

from portagpu import cuda
from portagpu.device.capabilities import DeviceType
from portagpu.runtime.enqueue import LaunchSizes, enqueue_on, enqueue_with_event
from portagpu.runtime.program import build

SOURCE = """
__kernel void places(__global int* x) {
    size_t at = get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2));
    x[at] = (int)(get_group_id(0) + 100 * get_group_id(1) + 10000 * get_group_id(2));
}
"""


@pytest.fixture(params=list(DeviceType))
def enqueue(request, device):
    return enqueue_on(dataclasses.replace(device.capabilities, device_type=request.param))


@pytest.fixture
def kernel(device):
    return cl.Kernel(build(cuda.current_context(), SOURCE, ()), "places")


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_sizes_arrive(device, enqueue, kernel, axes):
    groups, local = (3, 2, 4)[:axes], (2, 1, 3)[:axes]
    extents = tuple(g * n for g, n in zip(groups, local, strict=True))
    array = cuda.to_device(np.full(extents[::-1], -1, np.int32))
    kernel.set_args(array.buffer)
    enqueue(cuda.default_stream().queue, kernel, LaunchSizes(extents, local))
    places = np.indices(extents[::-1])[::-1]
    want = sum(place // n * 100**axis for axis, (place, n) in enumerate(zip(places, local, strict=True)))
    np.testing.assert_array_equal(array.copy_to_host(), want)


def test_the_driver_may_choose_groups(device, enqueue, kernel):
    array = cuda.to_device(np.full(12, -1, np.int32))
    kernel.set_args(array.buffer)
    enqueue(cuda.default_stream().queue, kernel, LaunchSizes((12,), None))
    assert (array.copy_to_host() >= 0).all()


def test_what_is_wrong_is_said_as_by_pyopencl(device, enqueue, kernel):
    kernel.set_args(cuda.to_device(np.zeros(64, np.int32)).buffer)
    sizes, queue = LaunchSizes((64,), (2**20,)), cuda.default_stream().queue
    with pytest.raises(cl.Error) as wanted:
        enqueue_with_event(queue, kernel, sizes)
    with pytest.raises(cl.Error) as caught:
        enqueue(queue, kernel, sizes)
    assert (caught.value.code, caught.value.routine) == (wanted.value.code, wanted.value.routine)


def test_gpus_get_no_events(device):
    kinds = {kind: dataclasses.replace(device.capabilities, device_type=kind) for kind in DeviceType}
    assert enqueue_on(kinds[DeviceType.GPU]) is not enqueue_with_event
    assert enqueue_on(kinds[DeviceType.CPU]) is enqueue_with_event
