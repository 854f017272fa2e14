"""Contexts, streams, events and errors of the driver, under CUDA-Python's module name."""

from __future__ import annotations

from portagpu.cuda.devices import Device
from portagpu.cuda.memory_managers import (
    BaseCUDAMemoryManager,
    GetIpcHandleMixin,
    HostOnlyCUDAMemoryManager,
    IpcHandle,
    ManagedMemory,
    MappedMemory,
    MemoryInfo,
    MemoryPointer,
    NumbaCUDAMemoryManager,
    PinnedMemory,
    set_memory_manager,
)
from portagpu.errors import CudaAPIError, CudaDriverError
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.event import Event
from portagpu.runtime.execution.stream import Stream

__all__ = [
    "BaseCUDAMemoryManager",
    "Context",
    "CudaAPIError",
    "CudaDriverError",
    "Device",
    "Event",
    "GetIpcHandleMixin",
    "HostOnlyCUDAMemoryManager",
    "IpcHandle",
    "ManagedMemory",
    "MappedMemory",
    "MemoryInfo",
    "MemoryPointer",
    "NumbaCUDAMemoryManager",
    "PinnedMemory",
    "Stream",
    "set_memory_manager",
]
