"""A card that CUDA's driver drives: its primary context, streams, events, memory and programs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from portagpu.backends.cuda import dlpack
from portagpu.backends.cuda import library as cu
from portagpu.backends.cuda.compiling import compiled
from portagpu.backends.cuda.graphs import Graph
from portagpu.backends.cuda.handles import REACHED, Event, Queue, Reached, stream_at
from portagpu.backends.cuda.kernels import Kernel, LocalMemory, Program, enqueue_on
from portagpu.backends.cuda.library import CudaError
from portagpu.backends.cuda.memory import Block, Heap, Memory, PageLocked, Part, address_of
from portagpu.backends.cuda.primary import Primary
from portagpu.backends.driver import Built, Driver, HostRange
from portagpu.backends.handles import Allocator, HostBytes, Strided
from portagpu.backends.launches import Enqueue
from portagpu.backends.opencl.copying import strided_copy
from portagpu.device.record import DeviceRecord
from portagpu.errors import MemoryNotSharedError
from portagpu.package_stamp import package_stamp

_NO_ORDER = -1  # a consumer's stream, in DLPack, that waits for nothing


class CudaDriver(Driver):
    """See `portagpu.backends.driver.Driver`. Queues are streams, memory is addresses that CUDA's libraries share."""

    errors: ClassVar[tuple[type[Exception], ...]] = (CudaError,)
    always_measures = True
    knows_addresses = shares_addresses = True

    def __init__(self, device: DeviceRecord, primary: Primary) -> None:
        assert device.capabilities is not None
        self.device = device
        self._ordinal: int = device.native
        self._primary: Primary = primary
        self._native: Primary | None = primary
        self._library = primary.library
        self._heap = Heap(primary, device.capabilities.global_memory)
        self._enqueue = enqueue_on(primary)

    @property
    def native(self) -> Any:
        """The primary context."""
        return self._native

    @property
    def key(self) -> Hashable:
        """CUDA's number of the card: it has one primary context."""
        return self._ordinal

    def close(self) -> None:
        """Let go of the context, which stays for other libraries."""
        self._native = None

    def allocator(self, queue: Any) -> Allocator:
        """The heap of this driver."""
        return self._heap

    # queues and events ----------------------------------------------------------------------------------------------

    def default_queue(self) -> Any:
        """CUDA's default stream, which other libraries use, too, unless they are told otherwise."""
        return stream_at(self._primary, cu.LEGACY_STREAM)

    def queue(self, *, profiling: bool = False) -> Any:
        """A new stream. The events of all streams know their times."""
        return Queue(self._primary)

    def finish_foreign(self, queue: Any) -> None:
        """Synchronise the context: the driver reads the memory of a stream, which its maker may have ended."""
        with self._primary, self._primary.relaxed:
            self._library.CtxSynchronize()

    def marker(self, queue: Any) -> Any:
        """An event."""
        return Event(queue)

    def barrier(self, queue: Any, ends: Sequence[Any]) -> None:
        """Have the stream wait for events. What is in a graph of another library's waits for nothing outside it, nor
        does anything wait for it: whoever runs the graph does."""
        if queue.is_captured:
            return
        with self._primary:
            for end in ends:
                if end.is_captured:
                    continue
                self._library.StreamWaitEvent(queue.handle, end.handle, 0)

    def is_done(self, event: Any) -> bool:
        """Whether a command is done, or has failed."""
        return bool(event.code() != cu.NOT_READY)

    def succeeded(self, event: Any) -> bool:
        """Whether a command is done and has not failed."""
        return bool(event.code() == cu.SUCCESS)

    def end_time(self, event: Any) -> float:
        """Nanoseconds of the card's clock."""
        with self._primary:
            return float(event.clock.time_of(event.handle))

    def notify(self, event: Any, function: Callable[[int], None]) -> None:
        """By a thread that waits."""
        event.queue.call_after(event, function)

    def handle(self, native: Any) -> int:
        """The stream's handle, or the memory's address."""
        return int(native.handle if isinstance(native, Queue) else native.address)

    # memory ---------------------------------------------------------------------------------------------------------

    def memory(self, nbytes: int) -> Any:
        """A block of the heap."""
        return self._heap.allocate(nbytes)

    def memory_of(self, host: HostBytes) -> Any:
        """A block with a host array's contents."""
        made = self._heap.allocate(host.nbytes)
        with self._primary:
            self._library.MemcpyHtoDAsync_v2(made.address, address_of(host), host.nbytes, cu.LEGACY_STREAM)
            self._library.StreamSynchronize(cu.LEGACY_STREAM)
        return made

    def part(self, memory: Any, offset: int, nbytes: int) -> Any:
        """A part."""
        return Part(memory, offset, nbytes)

    def copy(
        self, queue: Any, target: Any, source: Any, *, nbytes: int, target_offset: int = 0, source_offset: int = 0
    ) -> None:
        """Copy bytes on the card."""
        with self._primary:
            self._library.MemcpyDtoDAsync_v2(
                target.address + target_offset, source.address + source_offset, nbytes, queue.handle
            )

    def upload(self, queue: Any, target: Any, host: HostBytes, *, offset: int = 0, blocking: bool) -> Any:
        """Copy to the card."""
        with self._primary:
            self._library.MemcpyHtoDAsync_v2(target.address + offset, address_of(host), host.nbytes, queue.handle)
        return self._copied(queue, blocking)

    def download(self, queue: Any, host: HostBytes, source: Any, *, offset: int = 0, blocking: bool) -> Any:
        """Copy to the host."""
        with self._primary:
            self._library.MemcpyDtoHAsync_v2(address_of(host), source.address + offset, host.nbytes, queue.handle)
        return self._copied(queue, blocking)

    def _copied(self, queue: Queue, blocking: bool) -> Event | Reached:
        if blocking and (queue.is_own or queue.handle == cu.LEGACY_STREAM):  # which nobody captures
            with self._primary, self._primary.relaxed:
                self._library.StreamSynchronize(queue.handle)  # sooner than an event, whose waiter sleeps
            return REACHED
        event = Event(queue)
        if blocking:
            event.wait()
        return event

    def fill(self, queue: Any, target: Any, byte: int, *, offset: int, nbytes: int) -> None:
        """Set bytes."""
        with self._primary:
            self._library.MemsetD8Async(target.address + offset, byte, nbytes, queue.handle)

    def strided_copy(
        self, source: Strided, target: Strided, build: Callable[[str], Any]
    ) -> Callable[[Any, Any, Any], None]:
        """By a kernel, the same as OpenCL's."""
        return strided_copy(source, target, build, self)

    # memory of the host ---------------------------------------------------------------------------------------------

    def wrap_host(self, low: int, high: int, *, written: bool) -> Any:
        """Raise `MemoryNotSharedError`: cards have memory of their own."""
        self._refuse_host()

    def map_back(self, queue: Any, memory: Any) -> None:
        """Raise `MemoryNotSharedError`."""
        self._refuse_host()

    def host_view(self, queue: Any, memory: Any) -> tuple[HostBytes, int]:
        """Raise `MemoryNotSharedError`."""
        self._refuse_host()

    def _refuse_host(self) -> NoReturn:
        raise MemoryNotSharedError(
            f"{self.device.name} does not use the host's memory in place", hint="copy: cuda.to_device(x)"
        )

    def page_locked(self, queue: Any, nbytes: int) -> HostBytes:
        """Host memory of CUDA's."""
        return PageLocked(self._primary, nbytes).array()

    def is_page_locked(self, owner: Any) -> bool:
        """Whether it is memory of `page_locked`."""
        return isinstance(owner, PageLocked)

    def keep_with(self, memory: Any, owner: Any) -> None:
        """As an attribute of the memory."""
        memory.owner = owner

    def host_range(self, memory: Any) -> HostRange | None:
        """The memory's address: host and cards have one space of addresses."""
        return HostRange(memory.address)

    def alias(self, memory: Any) -> Any:
        """An address alone."""
        return Memory(memory.address, memory.size)

    def pointer(self, memory: Any) -> int | None:
        """The memory's address. From now on others may use it in streams that nobody here knows."""
        whole = memory.whole
        if isinstance(whole, Block):
            whole.exported = True
        return int(memory.address)

    def share(self, queue: Any, consumer: int | None) -> tuple[int, int]:
        """DLPack's device; what a library enqueues on its stream from now on comes after the queue's work."""
        other = consumer or cu.LEGACY_STREAM
        if other not in (_NO_ORDER, queue.handle):
            end = self.marker(queue)
            with self._primary:  # no queue is made of a stream that may soon be gone
                self._library.StreamWaitEvent(other, end.handle, 0)
        return dlpack.CARD, self._ordinal

    def is_memory(self, value: Any) -> bool:
        """Whether a value is memory of a card."""
        return isinstance(value, Memory)

    def whole_of(self, memory: Any) -> Any:
        """The memory of a part."""
        return memory.whole

    def offset_of(self, memory: Any) -> int:
        """Where a part begins."""
        return int(memory.address - memory.whole.address)

    # programs -------------------------------------------------------------------------------------------------------

    def compile(self, source: str, options: tuple[str, ...], remarks: tuple[str, ...], *, apart: bool) -> Built:
        """By the OpenCL driver's compiler, then CUDA's."""
        return compiled(self._primary, self._ordinal, source, options, remarks)

    def load(self, binary: bytes, options: tuple[str, ...]) -> Any:
        """The program of a text of `binary_of`."""
        return Program(self._primary, binary.decode("latin1"), options)

    def binary_of(self, program: Any) -> bytes | None:
        """The program's PTX: CUDA's driver has a cache of what it makes of it."""
        return bytes(program.text.encode("latin1"))

    def compile_stamp(self, source: str) -> tuple[str, ...]:
        """The package's state, since it changes the compiler's text."""
        return (package_stamp() or "",)

    def kernel(self, program: Any, name: str, types: Sequence[np.dtype[Any] | None]) -> Any:
        """A kernel object."""
        return Kernel(program, name, types)

    def local_memory(self, nbytes: int) -> Any:
        """What a kernel object takes for dynamic shared memory."""
        return LocalMemory(nbytes)

    @property
    def enqueue(self) -> Enqueue:
        """One call of the driver's."""
        return self._enqueue

    @property
    def enqueue_with_event(self) -> Enqueue:
        """As `enqueue`, and an event behind it."""
        return self._enqueue_with_event

    def _enqueue_with_event(self, queue: Any, kernel: Any, sizes: Any) -> Event:
        self._enqueue(queue, kernel, sizes)
        return Event(queue)

    def graph(self, enqueue: Callable[[Any], None]) -> Callable[[Any], None] | None:
        """A graph of CUDA's."""
        return Graph(self._primary, enqueue)

    # figures --------------------------------------------------------------------------------------------------------

    def max_threads(self, kernel: Any) -> int:
        """As CUDA counts registers."""
        return int(kernel.max_threads)

    def private_bytes(self, kernel: Any) -> int:
        """Bytes of local memory."""
        return int(kernel.local_bytes)

    def registers(self, source: str, name: str, options: tuple[str, ...]) -> int | None:
        """Registers of a thread."""
        program = compiled(self._primary, self._ordinal, source, options, ()).program
        return Kernel(program, name, ()).registers
