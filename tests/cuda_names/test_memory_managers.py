"""Classes of memory plug-ins: programs derive from them and may name the usual one; none can be made."""

from __future__ import annotations

import pytest

from portagpu import cuda, errors
from portagpu.cuda.cudadrv import driver


def test_managers_can_be_derived_from_and_not_made(device):
    class Pool(cuda.GetIpcHandleMixin, cuda.HostOnlyCUDAMemoryManager):
        def __init__(self, context):
            super().__init__(context=context)

    with pytest.raises(errors.UnsupportedError, match="Pool"):
        Pool(cuda.current_context())
    with pytest.raises(errors.UnsupportedError, match="allocate"):
        cuda.set_memory_manager(Pool)
    assert isinstance(cuda.device_array(3).gpu_data, cuda.MemoryPointer)


def test_the_usual_manager_is_always_set(device):
    assert driver.NumbaCUDAMemoryManager is cuda.NumbaCUDAMemoryManager
    cuda.set_memory_manager(driver.NumbaCUDAMemoryManager)
    assert isinstance(cuda.current_context().get_memory_info(), cuda.MemoryInfo)


def test_pointers_and_handles_cannot_be_made(device):
    for kind in (cuda.MemoryPointer, cuda.MappedMemory, cuda.PinnedMemory, cuda.ManagedMemory):
        with pytest.raises(errors.UnsupportedError, match=kind.__name__):
            kind(cuda.current_context(), 0, 8)
    for made in (lambda: cuda.IpcHandle(None, None, 8), lambda: cuda.GetIpcHandleMixin().get_ipc_handle(None)):
        with pytest.raises(errors.MemoryNotSharedError):
            made()


def test_options_of_a_function(device):
    @cuda.jit(device=True)
    def twice(x):
        return 2 * x

    @cuda.jit(fastmath=True, opt=False)
    def kernel(x):
        x[0] = twice(x[0])

    assert twice.targetoptions["device"] is True
    options = kernel.targetoptions
    assert (options["device"], options["fastmath"], options["opt"], options["debug"]) == (False, True, False, False)
