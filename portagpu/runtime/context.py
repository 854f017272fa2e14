"""Contexts: a device with its memory, default stream and programs; one is current in each thread.

Locks are taken in the order: module lock, then a context's ``build_lock``; no lock is held while waiting for a device.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pyopencl as cl
import pyopencl.tools

from portagpu.device import DeviceRecord, default_device, find_device, record_for
from portagpu.device.capabilities import Capabilities
from portagpu.errors import ClosedError, OutOfMemoryError
from portagpu.runtime.stream import Stream
from portagpu.runtime.translate import translate_cl_errors, translated
from portagpu.settings import Settings

_lock = threading.RLock()
_by_device: dict[str, Context] = {}
_by_cl_context: dict[int, Context] = {}
_default: Context | None = None
_local = threading.local()
_keys = itertools.count()


class Context:
    """A device in use. `Context.for_device` gives the one of a device; `Context.wrap` one around a user's own."""

    def __init__(self, device: DeviceRecord, cl_context: cl.Context, settings: Settings) -> None:
        assert device.capabilities is not None
        self.device = device
        self.capabilities: Capabilities = device.capabilities
        self.settings = settings
        self.key = next(_keys)
        self.build_lock = threading.Lock()
        self.programs: dict[str, cl.Program] = {}
        self.lost = False
        self.prints = False  # a kernel that prints was launched
        self._cl_context: cl.Context | None = cl_context
        self.default_stream = Stream(self)
        self._pool: Any = pyopencl.tools.MemoryPool(pyopencl.tools.ImmediateAllocator(self.default_stream.queue))
        self._pool_lock = threading.Lock()
        self._queues: dict[int, Stream] = {}
        self._several_streams = False

    @classmethod
    def for_device(cls, device: DeviceRecord, settings: Settings | None = None) -> Context:
        """The context of a working device, made at first use."""
        with _lock:
            found = _by_device.get(device.key)
            if found is None or found.closed:
                with translate_cl_errors(None):
                    cl_context = cl.Context([device.cl_device])
                found = cls(device, cl_context, settings or Settings.from_environment())
                _by_device[device.key] = found
                _by_cl_context[cl_context.int_ptr] = found
            return found

    @classmethod
    def wrap(cls, other: cl.Context | cl.CommandQueue) -> Context:
        """A context around a user's PyOpenCL context or queue; arrays are shared without copies."""
        cl_context = other.context if isinstance(other, cl.CommandQueue) else other
        device = other.device if isinstance(other, cl.CommandQueue) else cl_context.devices[0]
        with _lock:
            found = _by_cl_context.get(cl_context.int_ptr)
            if found is None or found.closed:
                found = cls(record_for(device), cl_context, Settings.from_environment())
                _by_cl_context[cl_context.int_ptr] = found
        return found

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._cl_context is None

    @property
    def cl_context(self) -> cl.Context:
        """PyOpenCL's context. Raises `ClosedError` after `close`."""
        if self._cl_context is None:
            raise ClosedError("the context is closed", hint="cuda.select_device(...) opens a new one")
        return self._cl_context

    def stream(self) -> Stream:
        """A new stream.

        From now on freed memory goes back to the driver instead of the pool: the driver keeps it until every queue
        is done with it, which the pool cannot know.
        """
        with self._pool_lock:
            if not self._several_streams:
                self._several_streams = True
                self._pool.stop_holding()
        return Stream(self)

    def wrap_queue(self, queue: cl.CommandQueue) -> Stream:
        """A stream around a user's in-order queue of this context."""
        found = self._queues.get(queue.int_ptr)
        if found is None:
            with self._pool_lock:
                if not self._several_streams:
                    self._several_streams = True
                    self._pool.stop_holding()
                found = self._queues[queue.int_ptr] = Stream(self, queue)
        return found

    def allocate(self, nbytes: int) -> Any:
        """A buffer of at least ``nbytes``. Raises `OutOfMemoryError`."""
        limit = self.capabilities.max_allocation
        if nbytes > limit:
            raise OutOfMemoryError(
                f"{nbytes} bytes in one array exceed what {self.device.name} allocates at once ({limit})",
                hint="split the array",
            )
        cl_context = self.cl_context
        try:
            with self._pool_lock:
                if self._several_streams:
                    return cl.Buffer(cl_context, cl.mem_flags.READ_WRITE, max(nbytes, 16))
                return self._pool.allocate(max(nbytes, 16))
        except cl.Error as error:
            raise translated(error, self) from error

    def get_memory_info(self) -> tuple[int, int]:
        """(free, total) bytes of device memory; free is what this process has not allocated."""
        total = self.capabilities.global_memory
        return max(0, total - int(self._pool.managed_bytes)), total

    def synchronize(self) -> None:
        """Wait for the default stream."""
        self.default_stream.synchronize()

    def is_alive(self) -> bool:
        """Whether the device still answers."""
        if self.lost or self._cl_context is None:
            return False
        try:
            cl.enqueue_marker(self.default_stream.queue)
            self.default_stream.queue.finish()
        except (cl.Error, ClosedError):
            return False
        return True

    def close(self) -> None:
        """Give everything back; arrays and streams of this context cannot be used any more."""
        with _lock:
            if self._cl_context is None:
                return
            try:
                self.default_stream.close()
            finally:
                _by_cl_context.pop(self._cl_context.int_ptr, None)
                self.programs.clear()
                self._pool.free_held()
                self._cl_context = None

    def reset(self) -> None:
        """Give back memory that is kept for reuse, and built programs. Arrays and streams stay usable."""
        with self._pool_lock:
            self._pool.free_held()
        self.programs.clear()

    def __repr__(self) -> str:
        return f"<portagpu context of {self.device.name}>"

    def __enter__(self) -> Context:
        stack = getattr(_local, "stack", None)
        if stack is None:
            stack = _local.stack = []
        stack.append(getattr(_local, "context", None))
        _local.context = self
        return self

    def __exit__(self, *exc: object) -> None:
        _local.context = _local.stack.pop()


def current_context() -> Context:
    """This thread's context: what `select_device` chose, else the process's default device."""
    found: Context | None = getattr(_local, "context", None)
    if found is not None and not found.closed:
        return found
    global _default
    with _lock:
        if _default is None or _default.closed:
            settings = Settings.from_environment()
            _default = Context.for_device(default_device(settings), settings)
        return _default


def select_device(selector: str | int | DeviceRecord) -> Context:
    """Make a device current in this thread: by index, "gpu"/"cpu", or part of its name or vendor.

    Raises `DeviceSelectionError`.
    """
    record = selector if isinstance(selector, DeviceRecord) else find_device(selector)
    context = Context.for_device(record)
    _local.context = context
    return context


def close() -> None:
    """Close this thread's current context."""
    current_context().close()
    _local.context = None
