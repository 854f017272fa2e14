"""Memory of an OpenCL context: the pool for arrays, and buffers over memory of the host."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import warnings
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.tools

from portagpu.backends.driver import HostRange
from portagpu.backends.handles import HostBytes

_BYTE = np.dtype(np.uint8)
_ZERO = np.zeros(1, _BYTE)
_LEAST = 16  # bytes: drivers refuse buffers of none


class Apart:
    """Buffers that are no part of the pool: bytes of those in use, and those that nobody uses any more."""

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}
        self.freed: list[Allocation] = []
        self.keeps = False  # whether the driver gets buffers back later

    def release_freed(self) -> None:
        """Give the buffers that nobody uses to the driver."""
        while self.freed:
            with contextlib.suppress(IndexError):  # another thread was faster
                self.freed.pop().release()


class Allocation(cl.Buffer):
    """A buffer that counts as allocated until it is released."""

    def __init__(self, context: cl.Context, nbytes: int, apart: Apart) -> None:
        self._apart = apart  # first: __del__ runs even where the driver has no memory
        super().__init__(context, cl.mem_flags.READ_WRITE, nbytes)
        apart.sizes[id(self)] = nbytes

    def release(self) -> None:
        """Give the memory back."""
        self._apart.sizes.pop(id(self), None)
        super().release()

    def __del__(self) -> None:
        if self._apart.sizes.pop(id(self), None) is not None and self._apart.keeps:
            self._apart.freed.append(self)  # alive again, until it is released


class Pool:
    """PyOpenCL's pool of memory for arrays, and what was allocated beside it."""

    def __init__(self, context: cl.Context, queue: cl.CommandQueue, *, migrates: bool) -> None:
        """``migrates``: new blocks get memory at once by a migration, which PyOpenCL enqueues; else by a fill."""
        self._context = context
        self._apart = Apart()
        self._fills = None if migrates else queue
        tools = pyopencl.tools
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a buffer without a migration may have no memory
            self._pool: Any = tools.MemoryPool(
                tools.ImmediateAllocator(queue) if migrates else tools.DeferredAllocator(context)
            )
        self.stop_holding = self._pool.stop_holding

    def free_held(self) -> None:
        """Give the blocks that are kept to the driver."""
        self._pool.free_held()
        self._apart.release_freed()

    def keep_apart(self, on: bool) -> None:
        """Whether freed buffers beside the pool stay allocated: some drivers wait for queues to release one."""
        self._apart.keeps = on
        if not on:
            self._apart.release_freed()

    @property
    def held_blocks(self) -> int:
        """Blocks that are kept: for later arrays, or for a time at which the driver gets them."""
        return int(self._pool.held_blocks) + len(self._apart.freed)

    @property
    def used_bytes(self) -> int:
        """Bytes of what is in use."""
        return int(self._pool.active_bytes) + sum(list(self._apart.sizes.values()))

    def allocate(self, nbytes: int) -> Any:
        """A buffer that goes back to the pool."""
        size = max(nbytes, _LEAST)
        if self._fills is None:
            return self._pool.allocate(size)
        with contextlib.suppress(cl.Error):
            return self._filled(size, self._fills)
        self._pool.free_held()  # as PyOpenCL does where the migration fails
        gc.collect()
        return self._filled(size, self._fills)

    def _filled(self, size: int, queue: cl.CommandQueue) -> Any:
        known = self._pool.managed_bytes
        buffer = self._pool.allocate(size)
        if self._pool.managed_bytes != known:  # a new block
            try:
                cl.enqueue_fill_buffer(queue, buffer, _ZERO, 0, 1)
            except cl.Error:
                buffer.release()
                self._pool.free_held()  # nobody gets a block without memory later
                raise
        return buffer

    def allocate_apart(self, nbytes: int) -> Any:
        """A buffer that goes back to the driver."""
        size = max(nbytes, _LEAST)
        try:
            return Allocation(self._context, size, self._apart)
        except cl.MemoryError:
            if not self._apart.freed:
                raise
        self._apart.release_freed()
        return Allocation(self._context, size, self._apart)


def over_host(context: cl.Context, low: int, high: int, *, written: bool) -> cl.Buffer:
    """A buffer over addresses of the host."""
    # PyOpenCL asks for a writable flat buffer, whatever the array's layout; kernels respect ``readonly``
    memory: Any = (ctypes.c_ubyte * (high - low)).from_address(low)
    flags = cl.mem_flags.USE_HOST_PTR | (cl.mem_flags.READ_WRITE if written else cl.mem_flags.READ_ONLY)
    return cl.Buffer(context, flags, hostbuf=memory)


def host_range(buffer: Any) -> HostRange | None:
    """Where a buffer lies in the host's memory; None for the device's own."""
    held = getattr(buffer, "hostbuf", None)
    if isinstance(held, ctypes.Array):
        return HostRange(ctypes.addressof(held))
    if held is not None or buffer.get_info(cl.mem_info.FLAGS) & cl.mem_flags.USE_HOST_PTR:
        return HostRange(None)  # somebody's buffer over memory of the host, or a part of one
    return None


def whole_of(buffer: Any) -> Any:
    """The buffer that a sub-buffer is a part of."""
    try:
        return buffer.get_info(cl.mem_info.ASSOCIATED_MEMOBJECT) or buffer
    except cl.Error:
        return buffer


def mapped_for_host(queue: cl.CommandQueue, buffer: Any) -> tuple[HostBytes, int]:
    """A buffer's memory as bytes, and where the whole allocation begins."""
    access: Any = cl.map_flags.READ | cl.map_flags.WRITE
    mapped: Any
    mapped, _ = cl.enqueue_map_buffer(queue, buffer, access, 0, (buffer.size,), _BYTE, is_blocking=True)
    return mapped, mapped.__array_interface__["data"][0] - buffer.get_info(cl.mem_info.OFFSET)


def page_locked(context: cl.Context, queue: cl.CommandQueue, nbytes: int) -> HostBytes:
    """Bytes of the host in a buffer of the driver's, which is mapped as long as they live."""
    flags = cl.mem_flags.ALLOC_HOST_PTR | cl.mem_flags.READ_WRITE
    access: Any = cl.map_flags.READ | cl.map_flags.WRITE
    buffer = cl.Buffer(context, flags, max(nbytes, _LEAST))
    mapped: Any
    mapped, _ = cl.enqueue_map_buffer(queue, buffer, access, 0, (max(nbytes, 1),), _BYTE, is_blocking=True)
    found: HostBytes = mapped
    return found


def map_back(queue: cl.CommandQueue, buffer: Any, *, finish: bool) -> None:
    """Map a buffer over host memory, and release it; ``finish`` waits for the release."""
    mapped: Any
    mapped, _ = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 0, (buffer.size,), _BYTE, is_blocking=True)
    mapped.base.release(queue)
    if finish:
        queue.finish()
