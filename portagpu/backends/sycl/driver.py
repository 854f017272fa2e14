"""A device that the SYCL run time drives: its context, queues, events, memory and programs."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from portagpu.backends.driver import Built, Driver, HostRange
from portagpu.backends.handles import Allocator, HostBytes, Strided
from portagpu.backends.launches import Enqueue
from portagpu.backends.sycl import programs
from portagpu.backends.sycl.copying import strided_copy
from portagpu.backends.sycl.handles import Device, Event, Queue, SyclContext, queues_of
from portagpu.backends.sycl.kernels import Kernel, enqueue_on
from portagpu.backends.sycl.library import Library, SyclError
from portagpu.backends.sycl.memory import LocalMemory, Memory, PageLocked, address_of
from portagpu.backends.sycl.pool import Aside, Pool
from portagpu.device.capabilities import DeviceType
from portagpu.device.record import DeviceRecord
from portagpu.errors import DriverError

_FAILED = -1


class SyclDriver(Driver):
    """See `portagpu.backends.driver.Driver`. Handles are those of `portagpu.backends.sycl.handles`."""

    errors: ClassVar[tuple[type[Exception], ...]] = (SyclError,)
    knows_addresses = True

    def __init__(self, record: DeviceRecord, library: Library, context: SyclContext, device: Device) -> None:
        assert record.capabilities is not None
        self.device = record
        self._library = library
        self._context: SyclContext | None = context
        self._native_device = device
        self._key = context.key, record.native
        self._is_cpu = record.capabilities.device_type is DeviceType.CPU
        self._alignment = record.capabilities.mem_base_alignment
        self._aside = Aside(self._free_now(context), partial(queues_of, context.key))
        self._enqueue = enqueue_on(library)

    def _free_now(self, context: SyclContext) -> Callable[[int], None]:
        """What gives memory back, without keeping the driver."""
        free = self._library.pg_free
        return lambda address: free(address, context.address)

    @property
    def native(self) -> Any:
        """The context."""
        return self._context

    @property
    def key(self) -> Hashable:
        """Numbers of context and device."""
        return self._key

    def close(self) -> None:
        """Let go of the context."""
        self._aside.drain()
        self._context = None

    def allocator(self, queue: Any) -> Allocator:
        """A pool of device memory."""
        return Pool(lambda size: self._allocate(size), self._aside)

    @property
    def _open_context(self) -> SyclContext:
        if self._context is None:
            raise SyclError("the context is closed")
        return self._context

    # queues and events ----------------------------------------------------------------------------------------------

    def queue(self, *, profiling: bool = False) -> Any:
        """An in-order queue."""
        library, context = self._library, self._open_context
        made = library.made(library.pg_queue(context.address, self._native_device.address, profiling))
        return Queue(library, made, context)

    def marker(self, queue: Any) -> Any:
        """A barrier's event."""
        return queue.barrier(())

    def barrier(self, queue: Any, ends: Sequence[Any]) -> None:
        """A barrier that waits for events."""
        if ends:
            queue.barrier(ends)

    def is_done(self, event: Any) -> bool:
        """Whether a command is done, or has failed."""
        try:
            return bool(event.is_done)
        except SyclError:
            return True

    def succeeded(self, event: Any) -> bool:
        """Whether a command is done and has not failed."""
        try:
            return bool(event.is_done)
        except SyclError:
            return False

    def end_time(self, event: Any) -> float:
        """Nanoseconds."""
        if not event.profiling:
            raise DriverError(
                "an event was recorded on a queue that does not measure time",
                hint="make events with timing=True, and a queue of your own with the property enable_profiling",
            )
        found = ctypes.c_ulong()
        self._library.check(self._library.pg_end_time(event.address, ctypes.byref(found)))
        return float(found.value)

    def notify(self, event: Any, function: Callable[[int], None]) -> None:
        """A thread of ours waits: the library calls nobody."""

        def wait() -> None:
            try:
                event.wait()
            except SyclError:
                function(_FAILED)
            else:
                function(0)

        threading.Thread(target=wait, name="portagpu-notify", daemon=True).start()

    def handle(self, native: Any) -> int:
        """The library's number of a queue, the address of memory."""
        return int(native.key if isinstance(native, Queue) else native.address)

    # memory ---------------------------------------------------------------------------------------------------------

    def _allocate(self, nbytes: int, *, of_host: bool = False) -> int:
        library, context, device = self._library, self._open_context, self._native_device
        found = library.pg_allocate(context.address, device.address, nbytes, self._alignment, of_host)
        if not found:
            error = library.failure()
            raise error if library.pg_error_code() else SyclError(f"no {nbytes} bytes are left", SyclError.MEMORY)
        return int(found)

    def memory(self, nbytes: int) -> Any:
        """Device memory."""
        size = max(1, nbytes)
        return Memory(self._allocate(size), size, give_back=self._aside.put)

    def memory_of(self, host: HostBytes) -> Any:
        """Device memory with a copy of host memory."""
        made = self.memory(host.nbytes)
        if self._is_cpu:
            ctypes.memmove(made.address, address_of(host), host.nbytes)
        else:
            self.queue().copy(made.address, address_of(host), host.nbytes).wait()
        return made

    def alias(self, memory: Any) -> Any:
        """An address alone."""
        return Memory(memory.address, memory.size)

    def part(self, memory: Any, offset: int, nbytes: int) -> Any:
        """An address in the memory."""
        return memory.part(offset, nbytes)

    def copy(
        self, queue: Any, target: Any, source: Any, *, nbytes: int, target_offset: int = 0, source_offset: int = 0
    ) -> None:
        """Copy bytes between addresses."""
        queue.copy(target.address + target_offset, source.address + source_offset, nbytes)

    def upload(self, queue: Any, target: Any, host: HostBytes, *, offset: int = 0, blocking: bool) -> Any:
        """Copy to the device."""
        return self._copied(queue, target.address + offset, address_of(host), host.nbytes, blocking)

    def download(self, queue: Any, host: HostBytes, source: Any, *, offset: int = 0, blocking: bool) -> Any:
        """Copy to the host."""
        return self._copied(queue, address_of(host), source.address + offset, host.nbytes, blocking)

    def _copied(self, queue: Queue, target: int, source: int, nbytes: int, blocking: bool) -> Event:
        event = queue.copy(target, source, nbytes)
        if blocking:
            event.wait()
        return event

    def fill(self, queue: Any, target: Any, byte: int, *, offset: int, nbytes: int) -> None:
        """Set bytes."""
        queue.fill(target.address + offset, byte, nbytes)

    def strided_copy(
        self, source: Strided, target: Strided, build: Callable[[str], Any]
    ) -> Callable[[Any, Any, Any], None]:
        """By a kernel."""
        return strided_copy(source, target, build, self.kernel, self._enqueue)

    # memory of the host ---------------------------------------------------------------------------------------------

    def wrap_host(self, low: int, high: int, *, written: bool) -> Any:
        """The host's memory itself, where kernels take its addresses."""
        return Memory(low, high - low)

    def map_back(self, queue: Any, memory: Any) -> None:
        """Wait: kernels wrote to the host's memory itself."""
        queue.finish()

    def host_view(self, queue: Any, memory: Any) -> tuple[HostBytes, int]:
        """The memory itself."""
        queue.finish()
        whole = memory.whole or memory
        return memory.bytes(), whole.address

    def page_locked(self, queue: Any, nbytes: int) -> HostBytes:
        """The library's memory of the host."""
        size = max(1, nbytes)
        made = Memory(self._allocate(size, of_host=True), size, give_back=self._aside.put)
        return np.asarray(PageLocked(made))[:nbytes]

    def is_page_locked(self, owner: Any) -> bool:
        """Whether it is an array of `page_locked`."""
        return isinstance(owner, PageLocked)

    def keep_with(self, memory: Any, owner: Any) -> None:
        """As an attribute of the memory, which its parts keep."""
        memory.owner = owner

    def host_range(self, memory: Any) -> HostRange | None:
        """The memory's address: host and devices have one space of addresses."""
        return HostRange(memory.address)

    def is_memory(self, value: Any) -> bool:
        """Whether a value is memory."""
        return isinstance(value, Memory)

    def whole_of(self, memory: Any) -> Any:
        """The memory that a part belongs to."""
        return memory.whole or memory

    def offset_of(self, memory: Any) -> int:
        """Where a part begins."""
        return 0 if memory.whole is None else int(memory.address - memory.whole.address)

    # programs -------------------------------------------------------------------------------------------------------

    def compile(self, source: str, options: tuple[str, ...], remarks: tuple[str, ...], *, apart: bool) -> Built:
        """By SYCL's compiler, then the driver's."""
        place = self._open_context, self._native_device
        return programs.compiled(place, self.device, source, (*options, *remarks), apart=apart)

    def load(self, binary: bytes, options: tuple[str, ...]) -> Any:
        """The program of a binary."""
        return programs.loaded(self._library, (self._open_context, self._native_device), binary, options)

    def binary_of(self, program: Any) -> bytes | None:
        """What the driver compiled."""
        found: bytes | None = program.binary()
        return found

    def kernel(self, program: Any, name: str, types: Sequence[np.dtype[Any] | None]) -> Any:
        """A kernel object."""
        return Kernel(self._library, program, name, types)

    def local_memory(self, nbytes: int) -> Any:
        """A size of local memory."""
        return LocalMemory(nbytes)

    @property
    def enqueue(self) -> Enqueue:
        """One call of the library's, which makes no event."""
        return self._enqueue

    @property
    def enqueue_with_event(self) -> Enqueue:
        """The queue's own launch."""
        return lambda queue, kernel, sizes: queue.launch(kernel, sizes)

    # figures --------------------------------------------------------------------------------------------------------

    def max_threads(self, kernel: Any) -> int:
        """The kernel's work-group size."""
        return self._library.check(self._library.pg_max_threads(kernel.address, self._native_device.address))

    def private_bytes(self, kernel: Any) -> int:
        """The kernel's private memory."""
        return self._library.check(self._library.pg_private_bytes(kernel.address, self._native_device.address))
