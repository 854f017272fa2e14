"""Contexts: a device with its memory, default stream and programs; one is current in each thread.

There is one lock, for contexts, the order of streams and memory, which is not held while waiting for a device's work.
It may be taken twice: a collection inside, or a signal handler, may run code that uses a device, and with a lock for
each context such code could take two of them in another order than another thread. It finds the queues in order: what
says that one has waited for another is set after the wait is in the queue.
A driver's threads do not survive a fork: `abandon_all` makes the contexts of a child process unusable.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from portagpu.backends.driver import Driver
from portagpu.backends.registry import backend_of, foreign, owner_of
from portagpu.device import DeviceRecord, DeviceType, default_device, drivers_are_loaded, find_device, record_for
from portagpu.device.capabilities import Capabilities
from portagpu.errors import ArgumentTypeError, ClosedError, DeviceLostError, OutOfMemoryError, PortaGPUError
from portagpu.runtime.execution.allocation_counts import Deallocations, MemoryInfo, MemoryManager
from portagpu.runtime.execution.crash_hint import show_hint_on_crash
from portagpu.runtime.execution.cuda_members import ContextNames
from portagpu.runtime.execution.deferred import Unsettled
from portagpu.runtime.execution.errors import translate_errors
from portagpu.runtime.execution.event import Event
from portagpu.runtime.execution.kernel_cache import KernelCache
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.execution.timeline import RetainedMemory, Timeline, drop
from portagpu.runtime.execution.weak_registry import WeakRegistry
from portagpu.settings import Settings

if TYPE_CHECKING:
    from portagpu.backends.backend import Backend

_lock = threading.RLock()  # for contexts, the order of streams and memory: see above
_by_device: dict[tuple[str, int], Context] = {}  # by key and number: two cards may be alike
_by_native: dict[tuple[str, Hashable], Context] = {}  # by back end, native context and device
_default: Context | None = None
_local = threading.local()
_keys = itertools.count()
_forked = False  # whether the parent process loaded drivers before it forked
_MAX_WRAPPED = 16  # users' queues that a context remembers


class Holder(Protocol):
    """What keeps objects of contexts, and forgets them when one is closed or reset."""

    def forget(self, context: Context) -> None:
        """Drop everything that belongs to ``context``."""


class Context(ContextNames):
    """A device in use. `Context.for_device` gives the one of a device; `Context.wrap` one around a user's own."""

    order_lock: ClassVar = _lock

    def __init__(self, device: DeviceRecord, native: Any, settings: Settings) -> None:
        """``native``: a context of the driver's, such as PyOpenCL's; None for a new one."""
        assert device.capabilities is not None
        self.device = device
        self.backend: Backend = backend_of(device)
        self._driver: Driver = self.backend.open(device, native)
        self._closed = False
        self.capabilities: Capabilities = device.capabilities
        self.settings = settings
        self.key = next(_keys)
        self.programs: dict[str, Any] = {}
        self.specialisations = KernelCache(settings.specialisations)
        self.element_reads = 0  # elements that the host has read alone
        self.remarks: tuple[str, ...] = ()  # options that change only what the compiler says in its log
        self.only_builds = False  # whether launches build their kernels, but enqueue nothing
        self.lost = False
        self.prints = False  # a kernel that prints was launched
        self.unsettled = Unsettled()
        self.shown: dict[int, Any] = {}  # allocation keys of memory that other libraries know, while arrays have it
        self.host_shares: set[object] = set()  # one for each memory that the host shares; see `share_with_host`
        self.index_faults: Any = None  # the array that kernels set for subscripts out of bounds
        self.lent: dict[Any, Any] = {}  # device arrays of memory that others lend, by how it lies
        self.expression_launches: dict[Any, Any] = {}  # that are ready, by what leads to them
        self.applied: dict[Any, Any] = {}  # functions of elements by what they were applied to
        self.array_facts: dict[Any, Any] = {}  # of new arrays, by shape and dtype
        self.facts_tokens: dict[Any, object] = {}  # one for all arrays that are alike, by their facts
        self.view_facts: dict[Any, Any] = {}  # of views, by the array's facts and what was asked for
        self.strided_copies: dict[Any, Any] = {}  # what copies between views, by how these lie
        self.foreign_facts: dict[Any, Any] = {}  # of views of other libraries' arrays, by how these lie
        self.layout_tokens: dict[Any, Any] = {}  # what launches must know of an array: one object for all arrays alike
        self.epoch = object()  # another one from when memory was given back: kernels may not use what they remember
        self._abandoned = self._several_streams = False
        self._buried: list[Any] = []  # in a forked child
        self.ordered = False  # whether the default stream must look after other streams
        self.streams: WeakRegistry[Stream] = WeakRegistry()
        self.timelines: list[Timeline] = []  # of all streams but the default one, also of those that are gone
        self.kept = RetainedMemory(self._driver)
        self.holders: WeakRegistry[Holder] = WeakRegistry()
        self.default_stream = Stream(self, default=True)
        self._pool = self._driver.allocator(self.default_stream.ready())
        self._deallocations = Deallocations(self._pool, self.order_lock)
        self._most_bytes = self.capabilities.max_allocation
        self._wrapped: OrderedDict[int, Stream] = OrderedDict()
        if device.device_type is DeviceType.CPU and settings.warnings:
            show_hint_on_crash()
        if not os.access(settings.cache_dir / "code", os.F_OK):  # the first program of all
            self._driver.wake_compiler()

    @classmethod
    def for_device(cls, device: DeviceRecord, settings: Settings | None = None) -> Context:
        """The context of a working device, made at first use."""
        _refuse_after_fork()
        with _lock:
            found = _by_device.get((device.key, device.index))
            if found is None or found.closed:
                shared = backend_of(device).shared_key(device)
                found = None if shared is None else _by_native.get((device.backend, shared))
            if found is None or found.closed:
                found = cls(device, None, settings or Settings.from_environment())
                _by_native[found._address()] = found
            _by_device[device.key, device.index] = found
            return found

    @classmethod
    def wrap(cls, other: Any) -> Context:
        """A context around a user's context, queue or array of an interface's library, which are shared."""
        _refuse_after_fork()
        backend = owner_of(other)
        native, device = backend.natives(other)
        address = backend.name, backend.key_of(native, device)
        with _lock:
            found = _by_native.get(address)
            if found is None or found.closed:
                found = cls(record_for(device, source=backend), native, Settings.from_environment())
                _by_native[address] = found
        return found

    def _address(self) -> tuple[str, Hashable]:
        return self.backend.name, self._driver.key

    @property
    def closed(self) -> bool:
        """Whether the context can no longer be used."""
        return self._closed

    @property
    def cl_context(self) -> Any:
        """The driver's context, PyOpenCL's where OpenCL is the back end. Raises `ClosedError` after `close`."""
        return self.driver.native

    @property
    def driver(self) -> Driver:
        """The device, with its native context. Raises `ClosedError` after `close`."""
        if self._closed:
            raise self.unusable() or AssertionError
        return self._driver

    def create_event(self, timing: bool = True) -> Event:
        """A new event; see `cuda.event`."""
        return Event(timing, context_of)

    def translated(self, error: Exception) -> PortaGPUError:
        """The typed error for one of the driver's; the context is lost where that is why."""
        name, memory = self.device.name, self.capabilities.global_memory
        result = self.backend.translated(error, name=name, memory=memory, is_alive=self.is_alive)
        self.lost = self.lost or isinstance(result, DeviceLostError)
        return result

    def unusable(self) -> PortaGPUError | None:
        """The error for a use of this context, where it cannot be used any more."""
        if self._abandoned:
            return _fork_error()
        if self._closed:
            return ClosedError("the context is closed", hint="cuda.select_device(...) opens a new one")
        return None

    def release(self, buffer: Any) -> None:
        """Give a buffer back."""
        if self._abandoned:
            self._buried.append(buffer)  # a driver would take the memory from the parent process
        else:
            buffer.release()

    # streams --------------------------------------------------------------------------------------------------------

    def stream(self) -> Stream:
        """A new stream.

        From now on freed memory goes back to the driver instead of the pool: the driver keeps it until every queue
        is done with it, which the pool cannot know.
        """
        return self._register(Stream(self))

    def wrap_queue(self, queue: Any) -> Stream:
        """A stream around a user's in-order queue of this context. Raises `ArgumentTypeError` for other queues."""
        queue = self.backend.own_queue(queue)
        found = self._wrapped.get(self._driver.handle(queue))
        if found is None or found.closed:
            found = self._own_stream(queue) or self._wrap(queue)
        return found

    def _own_stream(self, queue: Any) -> Stream | None:
        return next((s for s in self._all_streams() if not s.closed and s.owns(queue)), None)

    def _all_streams(self) -> list[Stream]:
        return [self.default_stream, *self.streams]

    def _wrap(self, queue: Any) -> Stream:
        if self.closed or self.backend.key_of(*self.backend.natives(queue)) != self._driver.key:
            raise ArgumentTypeError(
                f"the queue is of another context or device than {self.device.name}'s array or launch",
                hint="use a queue of the array's context",
            )
        self.backend.check_queue(queue)
        found = self._register(Stream(self, queue))
        found.label = "External CUDA stream"
        with self.order_lock:
            self._wrapped[self._driver.handle(queue)] = found
            while len(self._wrapped) > _MAX_WRAPPED:
                self._wrapped.popitem(last=False)
        return found

    def _register(self, stream: Stream) -> Stream:
        self.stop_pooling()
        with self.order_lock, translate_errors(self):
            drop(self.timelines, [timeline for timeline in list(self.timelines) if timeline.has_run()])
            self.streams.add(stream)
            self.timelines.append(stream._timeline)
            self.ordered = True
        return stream

    def stop_pooling(self) -> None:
        """From now on freed memory goes back to the driver: another queue than the default stream's may use it."""
        with self.order_lock:
            if not self._several_streams:
                self._several_streams = True
                self._pool.stop_holding()

    def _all_timelines(self) -> list[Timeline]:
        return [self.default_stream._timeline, *self.timelines]

    # memory ---------------------------------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> Any:
        """A buffer of at least ``nbytes``. Raises `OutOfMemoryError`."""
        limit = self._most_bytes
        if nbytes > limit:
            raise OutOfMemoryError(
                f"{nbytes} bytes in one array exceed what {self.device.name} allocates at once ({limit})",
                hint="split the array",
            )
        if self._closed:
            raise self.unusable() or AssertionError
        try:
            with _lock:
                if self._several_streams or self.only_builds:  # what is never used takes no memory then
                    return self._pool.allocate_apart(nbytes)
                return self._pool.allocate(nbytes)
        except self.backend.errors as error:
            raise self.translated(error) from error

    def share_with_host(self, memory: Any) -> None:
        """Note that arrays of the host share memory, as long as ``memory`` lives, an object of Python's.

        Nobody tells when these are used: what is enqueued in the default stream is done when the call returns.
        """
        share = object()
        self.host_shares.add(share)
        weakref.finalize(memory, self.host_shares.discard, share).atexit = False

    @property
    def deallocations(self) -> Deallocations:
        """Freed memory that is kept for the next arrays."""
        return self._deallocations

    @property
    def memory_manager(self) -> MemoryManager:
        """What CUDA-Python names so: ``memory_manager.deallocations.clear()`` gives freed memory back to the driver."""
        return MemoryManager(self)

    def get_memory_info(self) -> MemoryInfo:
        """(free, total) bytes of device memory; free is what no live array of this process takes."""
        total = self.capabilities.global_memory
        return MemoryInfo(max(0, total - self._pool.used_bytes), total)

    # life -----------------------------------------------------------------------------------------------------------

    def synchronize(self) -> None:
        """Wait for all streams."""
        self.default_stream.synchronize()

    def is_alive(self) -> bool:
        """Whether the device still answers."""
        return not self.lost and not self.closed and self.default_stream.answers()

    def close(self) -> None:
        """Give everything back; arrays and streams of this context cannot be used any more."""
        if self._closed:
            return
        address = self._address()
        self.epoch = object()
        try:
            for stream in self._all_streams()[::-1]:  # the default stream last
                stream.close()
        finally:
            with _lock:
                if _by_native.get(address) is self:  # another may share the driver's context
                    del _by_native[address]
                self._closed = True
                self._driver.close()
            self._wrapped.clear()
            for timeline in self._all_timelines():  # also those of streams that only a cycle holds
                timeline.finish()
            self.timelines.clear()
            self.kept.trim()
            self.reset()

    def finish_copies(self) -> None:
        """Wait for what uses host memory, in all streams."""
        for timeline in self._all_timelines():
            timeline.finish_copies()
        self.kept.finish()

    def keep(self, memory: Any) -> None:
        """Keep host memory until all that streams have been given so far is done. For finalisers: hardly waits."""
        if not (self.closed or self.lost):
            self.kept.keep(self._all_timelines(), memory)

    def abandon(self) -> list[Any]:
        """Make the context unusable without a word to the driver; returns what must never be freed."""
        self._abandoned = True
        self.epoch = object()
        kept = [
            self._driver,
            self._driver.native,
            self._pool,
            dict(self.programs),
            dict(self._wrapped),
            self.kept.abandon(),
        ]
        self._closed = True
        return (
            kept
            + [stream.abandon() for stream in self._all_streams()]
            + [timeline.abandon() for timeline in self.timelines]
        )

    def reset(self) -> None:
        """Give back memory that is kept for reuse, and built programs. Arrays and streams stay usable."""
        for holder in self.holders:
            holder.forget(self)
        with self.order_lock:
            self._pool.free_held()
        self.programs.clear()
        self.lent.clear()
        self.strided_copies.clear()
        self.index_faults = None
        self.specialisations.clear()

    def __repr__(self) -> str:
        return f"<portagpu context of {self.device.name}>"

    def push(self) -> None:
        """Make the context current in this thread until `pop`."""
        stack = _local.__dict__.setdefault("stack", [])
        stack.append(getattr(_local, "context", None))
        _local.context = self

    def pop(self) -> None:
        """Make the context before `push` current. Raises `ArgumentTypeError` unless this one was pushed last."""
        if not getattr(_local, "stack", None) or getattr(_local, "context", None) is not self:
            raise ArgumentTypeError("the context was not the last to be pushed in this thread")
        _local.context = _local.stack.pop()

    def __enter__(self) -> Context:
        self.push()
        return self

    def __exit__(self, *exc: object) -> None:
        _local.context = _local.stack.pop()  # another may have been selected meanwhile


def current_context() -> Context:
    """This thread's context: what `select_device` chose, else the process's default device."""
    global _default
    found: Context | None = getattr(_local, "context", None) or _default
    if found is not None and not found._closed:
        return found  # which no parent process made: a fork leaves such contexts unusable
    _refuse_after_fork()
    with _lock:
        if _default is None or _default.closed:
            settings = Settings.from_environment()
            _default = Context.for_device(default_device(settings), settings)
        return _default


def chosen_device() -> DeviceRecord | None:
    """The device that is current in this thread because the program chose it; None where the default one will be."""
    found: Context | None = getattr(_local, "context", None)
    return None if found is None or found.closed else found.device


def context_of(stream: Any) -> Context:
    """The context that a stream or PyOpenCL's queue belongs to; the current one for 0 and None."""
    if isinstance(stream, Stream):
        return cast(Context, stream.context)
    return Context.wrap(stream) if isinstance(stream, foreign.queues) else current_context()


def select_device(selector: str | int | DeviceRecord) -> Context:
    """Make a device current in this thread: by index, "gpu"/"cpu", or part of its name or vendor.

    Raises `DeviceSelectionError`.
    """
    context = Context.for_device(selector if isinstance(selector, DeviceRecord) else find_device(selector))
    _local.context = context
    return context


def close() -> None:
    """Close this thread's current context."""
    current_context().close()
    _local.context = None


def _fork_error() -> DeviceLostError:
    return DeviceLostError(
        "the parent process used devices before it forked; drivers do not work in the child",
        hint='start processes with multiprocessing.get_context("spawn"), or use devices first in the child',
        notes=("in numba-cuda: CUDA initialized before forking",),
    )


def _refuse_after_fork() -> None:
    if _forked:
        raise _fork_error()


def abandon_all() -> list[Any]:
    """Make every context unusable in a forked child; returns what must never be freed there."""
    global _forked, _lock
    _lock = Context.order_lock = threading.RLock()  # another thread of the parent may have held it
    contexts = [*_by_native.values()]
    # some drivers start their threads when devices are listed, before any context
    _forked = _forked or bool(contexts) or drivers_are_loaded()
    return [(context, context.abandon()) for context in contexts]


@atexit.register
def _finish_copies() -> None:
    """Copies still write into host memory, which the interpreter frees at its end."""
    for context in list(_by_native.values()):
        if not context.closed:
            with contextlib.suppress(*context.backend.errors):
                context.finish_copies()
