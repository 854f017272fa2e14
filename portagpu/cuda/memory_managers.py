"""Classes of CUDA-Python's memory plug-ins: programs derive from them and compare with them; none can be made."""

from __future__ import annotations

from typing import Any, NoReturn

from portagpu.errors import UnsupportedError
from portagpu.runtime.arrays.memory_pointer import MemoryPointer as MemoryPointer
from portagpu.runtime.execution.allocation_counts import MemoryInfo as MemoryInfo
from portagpu.runtime.execution.cuda_members import refuse_ipc

_MANAGERS = "memory managers allocate CUDA memory, which kernels cannot use"


class BaseCUDAMemoryManager:
    """May be derived from; made, it raises `UnsupportedError`: memory comes from the OpenCL driver."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise UnsupportedError(
            f"{type(self).__name__}: {_MANAGERS}", hint="leave it out: freed memory is kept for the next arrays"
        )


class HostOnlyCUDAMemoryManager(BaseCUDAMemoryManager):
    """May be derived from; made, it raises `UnsupportedError`: memory comes from the OpenCL driver."""


class NumbaCUDAMemoryManager(HostOnlyCUDAMemoryManager):
    """The manager that is always set, by CUDA-Python's name; made, it raises `UnsupportedError`."""


class GetIpcHandleMixin:
    """May be derived from; no array has a handle for other processes."""

    def get_ipc_handle(self, memory: Any) -> NoReturn:
        """Raise `MemoryNotSharedError`: processes do not share device memory."""
        refuse_ipc()


class IpcHandle:
    """Made, it raises `MemoryNotSharedError`: processes do not share device memory."""

    def __init__(self, *args: Any, **options: Any) -> None:
        refuse_ipc()


class MappedMemory(MemoryPointer):
    """Host memory that CUDA mapped: made, it raises `UnsupportedError`; see `cuda.mapped_array`."""


class PinnedMemory(MemoryPointer):
    """Host memory that CUDA pinned: made, it raises `UnsupportedError`; see `cuda.pinned_array`."""


class ManagedMemory(MemoryPointer):
    """Memory that CUDA moves: made, it raises `UnsupportedError`; see `cuda.managed_array`."""


def set_memory_manager(manager: Any) -> None:
    """Take the one ``manager`` that is always set, `NumbaCUDAMemoryManager`; `UnsupportedError` for others."""
    if manager is not NumbaCUDAMemoryManager:
        raise UnsupportedError(_MANAGERS, hint="leave the call out: freed memory is kept")


__all__ = [
    "BaseCUDAMemoryManager",
    "GetIpcHandleMixin",
    "HostOnlyCUDAMemoryManager",
    "IpcHandle",
    "ManagedMemory",
    "MappedMemory",
    "MemoryInfo",
    "MemoryPointer",
    "NumbaCUDAMemoryManager",
    "PinnedMemory",
    "set_memory_manager",
]
