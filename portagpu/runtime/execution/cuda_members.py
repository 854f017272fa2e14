"""Members of contexts and arrays under CUDA-Python's names, and refusals of what OpenCL has not."""

from __future__ import annotations

import threading
from typing import Any, NoReturn

import numpy as np

from portagpu import types
from portagpu.errors import MemoryNotSharedError, UnsupportedError
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.execution.weak_registry import of_threads

_of_this_thread = threading.local()


class ContextNames:
    """The part of a context that has CUDA-Python's names."""

    default_stream: Stream
    key: int

    def stream(self) -> Stream:
        """A new stream."""
        raise NotImplementedError

    def create_stream(self) -> Stream:
        """A new stream; `stream`."""
        return self.stream()

    def get_default_stream(self) -> Stream:
        """The default stream."""
        return self.default_stream

    def get_current_stream(self) -> Stream:
        """The stream that ``with stream:`` made current in this thread; else the default stream."""
        found: Stream = current_stream(self)
        return found

    def get_legacy_default_stream(self) -> Stream:
        """The default stream."""
        return self.default_stream

    def get_per_thread_default_stream(self) -> Stream:
        """This thread's own stream, made at first use."""
        streams: dict[int, Stream] = _of_this_thread.__dict__.setdefault("streams", {})
        found = streams.get(self.key)
        if found is None or found.closed:
            found = streams[self.key] = self.stream()
            found.label = "Per-thread default CUDA stream"
            of_threads.add(found)
        return found

    def can_access_peer(self, peer_context: object) -> bool:
        """False: devices do not read each other's memory. `copy_to_device` copies between them."""
        return False

    def enable_peer_access(self, peer_context: object, flags: int = 0) -> NoReturn:
        """Raise `MemoryNotSharedError`: devices do not read each other's memory."""
        raise MemoryNotSharedError(
            "devices do not read each other's memory", hint="copy: x.copy_to_device(y) goes through the host"
        )

    def memalloc(self, bytesize: int) -> NoReturn:
        """Raise `UnsupportedError`: memory without a type has no pointer here that programs could compute with."""
        refuse_raw("memalloc", "cuda.device_array(shape, dtype)")

    def memallocmanaged(self, bytesize: int, attach_global: bool = True) -> NoReturn:
        """Raise `UnsupportedError`; as `memalloc`."""
        refuse_raw("memallocmanaged", "cuda.managed_array(shape, dtype)")

    def memhostalloc(self, bytesize: int, mapped: bool = False, portable: bool = False, wc: bool = False) -> NoReturn:
        """Raise `UnsupportedError`; as `memalloc`."""
        refuse_raw("memhostalloc", "cuda.pinned_array(shape, dtype) or cuda.mapped_array(shape, dtype)")

    def mempin(self, owner: object, pointer: int, size: int, mapped: bool = False) -> NoReturn:
        """Raise `UnsupportedError`: OpenCL cannot pin memory that exists."""
        refuse_raw("mempin", "cuda.pinned_array(shape, dtype)")

    def get_ipc_handle(self, memory: object) -> NoReturn:
        """Raise `MemoryNotSharedError`: processes do not share device memory."""
        refuse_ipc()


class ArrayNames:
    """The part of a device array that has CUDA-Python's names."""

    __slots__ = ()

    @property
    def buffer(self) -> Any:
        """PyOpenCL's buffer."""
        raise NotImplementedError

    ndim: int
    layout: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        raise NotImplementedError

    @property
    def _numba_type_(self) -> types.Type:
        """The type under which signatures name the array; of a record, the record's."""
        element = types.from_dtype(self.dtype)
        if isinstance(element, types.Record) and not self.ndim:
            return element
        return types.Array(element, self.ndim, self.layout)

    def get_ipc_handle(self) -> NoReturn:
        """Raise `MemoryNotSharedError`: processes do not share device memory."""
        refuse_ipc()


def refuse_ipc() -> NoReturn:
    """Raise `MemoryNotSharedError`: processes do not share device memory."""
    raise MemoryNotSharedError(
        "there are no handles of device memory for other processes",
        hint="share host memory: multiprocessing.shared_memory",
    )


def refuse_raw(name: str, instead: str) -> NoReturn:
    """Raise `UnsupportedError`: memory is arrays."""
    raise UnsupportedError(f"{name} gives raw memory of CUDA's, and memory here is arrays", hint=f"use {instead}")
