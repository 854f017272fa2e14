"""Launches and copies with an event and without one: what OpenCL gets and says is the same."""

from __future__ import annotations

import ctypes
import dataclasses
import sys
from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest
from pyopencl import _cl

from portagpu import cuda
from portagpu.backends.launches import LaunchSizes
from portagpu.backends.opencl.enqueue import (
    _copy_without_event,
    _enqueue_without_event,
    copy_on,
    copy_with_event,
    enqueue_on,
    enqueue_with_event,
)
from portagpu.device.capabilities import DeviceType
from portagpu.runtime.programs.build import build
from portagpu.runtime.programs.launch import CompiledKernel

pytestmark = pytest.mark.opencl

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


@pytest.fixture(params=list(DeviceType))
def copy(request, device):
    return copy_on(dataclasses.replace(device.capabilities, device_type=request.param))


def test_bytes_arrive_where_they_should(device, copy):
    source, target = cuda.to_device(np.arange(64, dtype=np.uint8)), cuda.to_device(np.full(64, 200, np.uint8))
    copy(cuda.default_stream().queue, target.buffer, source.buffer, 17, 24, 5)
    want = np.full(64, 200, np.uint8)
    want[24:41] = np.arange(5, 22)
    np.testing.assert_array_equal(target.copy_to_host(), want)


def test_what_is_wrong_with_a_copy_is_said_as_by_pyopencl(device, copy):
    source, target = (cuda.to_device(np.zeros(64, np.uint8)).buffer for _ in range(2))
    arguments = (cuda.default_stream().queue, target, source, 2**30, 0, 0)
    with pytest.raises(cl.Error) as wanted:
        copy_with_event(*arguments)
    with pytest.raises(cl.Error) as caught:
        copy(*arguments)
    assert (caught.value.code, caught.value.routine) == (wanted.value.code, wanted.value.routine)


@pytest.fixture
def anew():
    """Libraries are searched again, then and afterwards."""
    cached = (_enqueue_without_event, _copy_without_event)
    for found in cached:
        found.cache_clear()
    yield
    for found in cached:
        found.cache_clear()


def of_kind(device, kind):
    return enqueue_on(dataclasses.replace(device.capabilities, device_type=kind))


def copy_of_kind(device, kind):
    return copy_on(dataclasses.replace(device.capabilities, device_type=kind))


@pytest.mark.skipif(sys.platform == "win32", reason="modules' dependencies are not searched for names")
def test_gpus_get_no_events(device, anew):
    assert of_kind(device, DeviceType.GPU) is not enqueue_with_event
    assert of_kind(device, DeviceType.CPU) is enqueue_with_event
    assert copy_of_kind(device, DeviceType.GPU) is not copy_with_event
    assert copy_of_kind(device, DeviceType.CPU) is copy_with_event


@pytest.mark.parametrize("error", [OSError, AttributeError, TypeError])
def test_events_where_the_function_is_not_found(device, anew, monkeypatch, error):
    def missing(library):
        raise error(library)

    monkeypatch.setattr(ctypes, "PyDLL", missing)
    assert of_kind(device, DeviceType.GPU) is enqueue_with_event
    assert copy_of_kind(device, DeviceType.GPU) is copy_with_event


def test_the_process_is_searched_before_the_linked_loader(device, anew, monkeypatch):
    """What is loaded beforehand, as tracers are, sees launches as it sees all that PyOpenCL calls."""
    asked = []

    def library(name):
        asked.append(name)
        if name is None:
            raise AttributeError(name)
        return SimpleNamespace(clEnqueueNDRangeKernel=lambda *args: 0)

    monkeypatch.setattr(ctypes, "PyDLL", library)
    of_kind(device, DeviceType.GPU)
    assert asked == [None, _cl.__file__]


def test_what_fails_without_an_event_is_tried_with_one(device, anew, kernel, monkeypatch):
    """PyOpenCL frees garbage before it tries: the launch is made then."""

    class Failing:
        def __call__(self, *args):
            return -4  # CL_MEM_OBJECT_ALLOCATION_FAILURE

    monkeypatch.setattr(ctypes, "PyDLL", lambda name: SimpleNamespace(clEnqueueNDRangeKernel=Failing()))
    array = cuda.to_device(np.full(12, -1, np.int32))
    kernel.set_args(array.buffer)
    of_kind(device, DeviceType.GPU)(cuda.default_stream().queue, kernel, LaunchSizes((12,), (3,)))
    np.testing.assert_array_equal(array.copy_to_host(), np.arange(12) // 3)


def test_a_launch_within_a_launch_has_arguments_of_its_own(device, monkeypatch):
    """As signal handlers and finalisers make them, between the arguments of one and its place in the queue."""

    @cuda.jit
    def one(x):
        x[0] = 1

    a, b, warm = (np.zeros(1, np.float32) for _ in range(3))
    one[1, 1](warm)
    real, inner = CompiledKernel.launch, []

    def launch(self, *arguments, **options):
        def enqueue(*what):
            if not inner:
                inner.append(True)
                one[1, 1](b)
            enqueued(*what)

        enqueued = self.enqueue
        monkeypatch.setattr(self, "enqueue", enqueue)
        try:
            real(self, *arguments, **options)
        finally:
            monkeypatch.setattr(self, "enqueue", enqueued)

    monkeypatch.setattr(CompiledKernel, "launch", launch)
    one[1, 1](a)
    assert inner and (a[0], b[0]) == (1, 1)
