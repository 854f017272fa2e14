"""What a driver is: one device with a native context, which has memory, in-order queues, events, programs.

A driver raises what its interface raises (`Driver.errors`), and whoever calls makes an error of ours of it with
`portagpu.backends.backend.Backend.translated`, which asks whether the device still answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from portagpu.backends.handles import Allocator, HostBytes, Strided
from portagpu.backends.launches import Enqueue
from portagpu.device.record import DeviceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A compiled program, and what the compiler said.

    ``said`` is None where the compiler was not asked, or may have said nothing because it had the program in a cache.
    """

    program: Any
    said: str | None


class HostRange(NamedTuple):
    """Where memory of a device lies in that of the host: ``begin`` is None where it does, and nobody can tell where."""

    begin: int | None


class Driver(ABC):
    """One device with a native context. Methods that take a queue enqueue, and wait for nothing unless they say so.

    Finalisers and signal handlers may call anything here in the middle of anything.
    """

    device: DeviceRecord
    errors: ClassVar[tuple[type[Exception], ...]] = ()
    """What it raises, besides errors of ours."""
    always_measures: ClassVar[bool] = False
    """Whether events of every queue know their times, so that queues are never replaced for that."""
    knows_addresses: ClassVar[bool] = False
    """Whether addresses of all memory are known (`host_range`), so that they tell what overlaps."""
    shares_addresses: ClassVar[bool] = False
    """Whether libraries of CUDA's use the memory by those addresses: `share` and `pointer`."""

    # the context ----------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def native(self) -> Any:
        """The native context; None after `close`."""

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """Equal for drivers of one device of one native context."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the native context. Events and queues may still be asked, and nothing be made."""

    @abstractmethod
    def allocator(self, queue: Any) -> Allocator:
        """The memory of a context whose default stream has this queue."""

    # queues and events ----------------------------------------------------------------------------------------------

    def default_queue(self) -> Any:
        """The queue of the context's default stream: a new one, unless the interface has a queue for that."""
        return self.queue()

    @abstractmethod
    def queue(self, *, profiling: bool = False) -> Any:
        """A new in-order queue; ``profiling``: its events know their times."""

    def finish_foreign(self, queue: Any) -> None:
        """Wait for a queue that another library made."""
        queue.finish()

    @abstractmethod
    def marker(self, queue: Any) -> Any:
        """An event at the queue's present end."""

    @abstractmethod
    def barrier(self, queue: Any, ends: Sequence[Any]) -> None:
        """What comes next on the queue waits for these events of any queue of the context."""

    @abstractmethod
    def is_done(self, event: Any) -> bool:
        """Whether a command is done, or has failed."""

    @abstractmethod
    def succeeded(self, event: Any) -> bool:
        """Whether a command is done and has not failed."""

    @abstractmethod
    def end_time(self, event: Any) -> float:
        """When a command was done, in nanoseconds of the device's clock.

        Raises `DriverError` for an event of a queue without profiling.
        """

    @abstractmethod
    def notify(self, event: Any, function: Callable[[int], None]) -> None:
        """Have a thread of the driver's call ``function(status)`` once a command is done; negative: it failed."""

    @abstractmethod
    def handle(self, native: Any) -> int:
        """The number that stands for a queue or memory: equal for equal objects, also with the driver's other users."""

    # memory ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def memory(self, nbytes: int) -> Any:
        """Memory that no pool keeps."""

    @abstractmethod
    def memory_of(self, host: HostBytes) -> Any:
        """Memory that no pool keeps, with a host array's contents; the array may change afterwards."""

    @abstractmethod
    def part(self, memory: Any, offset: int, nbytes: int) -> Any:
        """A part of memory as memory; ``offset`` is a multiple of `Capabilities.mem_base_alignment`."""

    @abstractmethod
    def copy(
        self, queue: Any, target: Any, source: Any, *, nbytes: int, target_offset: int = 0, source_offset: int = 0
    ) -> None:
        """Copy bytes between memories that do not overlap."""

    @property
    def copies_by_one_core(self) -> bool:
        """Whether `copy` leaves all cores of a CPU but one idle, so that `strided_copy` is faster for much memory."""
        return False

    @abstractmethod
    def upload(self, queue: Any, target: Any, host: HostBytes, *, offset: int = 0, blocking: bool) -> Any:
        """Copy host memory to the device, and give the event; the caller keeps the host memory until that is done."""

    @abstractmethod
    def download(self, queue: Any, host: HostBytes, source: Any, *, offset: int = 0, blocking: bool) -> Any:
        """Copy from the device to host memory, and give the event; see `upload`."""

    @abstractmethod
    def fill(self, queue: Any, target: Any, byte: int, *, offset: int, nbytes: int) -> None:
        """Set bytes of the memory."""

    @abstractmethod
    def strided_copy(
        self, source: Strided, target: Strided, build: Callable[[str], Any]
    ) -> Callable[[Any, Any, Any], None]:
        """What copies elements between two views of one shape and dtype, given a queue and both memories.

        The memories, the target's first, are those of the views or others, in which the elements lie in the same way.

        ``build`` compiles a program of the driver's, or finds it in the caches.
        """

    # memory of the host ---------------------------------------------------------------------------------------------

    @abstractmethod
    def wrap_host(self, low: int, high: int, *, written: bool) -> Any:
        """Memory of the device over addresses of the host, used in place or copied there and back by `map_back`.

        Only where `Capabilities.host_unified_memory`.
        """

    @abstractmethod
    def map_back(self, queue: Any, memory: Any) -> None:
        """Wait, and make the host see what kernels wrote to memory of `wrap_host`."""

    @abstractmethod
    def host_view(self, queue: Any, memory: Any) -> tuple[HostBytes, int]:
        """Wait; a device's memory, which is the host's, as bytes for as long as they are kept, and where the whole
        allocation begins. Only on CPUs."""

    @abstractmethod
    def page_locked(self, queue: Any, nbytes: int) -> HostBytes:
        """Host memory that copies need not wait for."""

    @abstractmethod
    def is_page_locked(self, owner: Any) -> bool:
        """Whether an object in an array's chain of bases owns memory of `page_locked`."""

    @abstractmethod
    def keep_with(self, memory: Any, owner: Any) -> None:
        """Keep an object as long as anybody uses the memory, other libraries too."""

    @abstractmethod
    def host_range(self, memory: Any) -> HostRange | None:
        """Where memory lies in the host's; None for memory of the device's own."""

    def may_overlap(self, places: Sequence[tuple[Any, int]]) -> bool:
        """Whether parts of memories, each from an offset on, may share bytes. Only where `knows_addresses`: memory then
        has an ``address``."""
        spans = sorted([(memory.address + offset, memory.address + memory.size) for memory, offset in places])
        return any(first[1] > second[0] for first, second in pairwise(spans))

    def alias(self, memory: Any) -> Any:
        """Memory in the same place that keeps nothing alive. Only where `knows_addresses`."""
        raise NotImplementedError

    def pointer(self, memory: Any) -> int | None:
        """The address that libraries of the same interface use the memory by; None where there are no addresses."""
        return None

    def share(self, queue: Any, consumer: int | None) -> tuple[int, int] | None:
        """DLPack's device of all memory, for a library that works on its stream ``consumer`` after the queue's present
        end (DLPack's numbers of streams); None where other libraries cannot use the memory."""
        return None

    @abstractmethod
    def is_memory(self, value: Any) -> bool:
        """Whether an argument of a kernel is memory, of whatever origin."""

    @abstractmethod
    def whole_of(self, memory: Any) -> Any:
        """The memory that memory is a part of; itself where it is none."""

    @abstractmethod
    def offset_of(self, memory: Any) -> int:
        """Where a part begins in the memory that it is a part of; 0 for what is none."""

    # programs -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def compile(self, source: str, options: tuple[str, ...], remarks: tuple[str, ...], *, apart: bool) -> Built:
        """Compile a program. ``remarks``: options that only make the compiler say more; ``apart``: a compiler that
        may end its process runs in another one.

        Raises `BuildError` with ``log`` and ``opencl_source`` where the compiler refuses the text or dies of it.
        """

    def wake_compiler(self) -> bool:
        """A program is coming: begin, in another thread, with what the compiler does once in a process.

        Whether it does so: nothing happens where that takes no time.
        """
        return False

    @abstractmethod
    def load(self, binary: bytes, options: tuple[str, ...]) -> Any:
        """The program of a binary. Raises anything for what is no binary for this device."""

    @abstractmethod
    def binary_of(self, program: Any) -> bytes | None:
        """What was compiled, for a cache; None where the driver does not tell."""

    def compile_stamp(self, source: str) -> tuple[str, ...]:
        """What a binary depends on beside device, driver, text and options."""
        return ()

    @abstractmethod
    def kernel(self, program: Any, name: str, types: Sequence[np.dtype[Any] | None]) -> Any:
        """A new kernel object; ``types``: a number's type for each argument, None for memory."""

    @abstractmethod
    def local_memory(self, nbytes: int) -> Any:
        """The argument that stands for so many bytes of dynamic shared memory."""

    @property
    @abstractmethod
    def enqueue(self) -> Enqueue:
        """The driver's call that enqueues a kernel: launches keep it and call it themselves."""

    @property
    @abstractmethod
    def enqueue_with_event(self) -> Enqueue:
        """As `enqueue`, and returns the event."""

    def graph(self, enqueue: Callable[[Any], None]) -> Callable[[Any], None] | None:
        """What enqueues at once, on the queue that it is given, all that ``enqueue`` enqueues on its queue; None where
        the interface has nothing of the kind."""
        return None

    # figures --------------------------------------------------------------------------------------------------------

    @abstractmethod
    def max_threads(self, kernel: Any) -> int:
        """Threads of the largest block that the kernel runs with."""

    @abstractmethod
    def private_bytes(self, kernel: Any) -> int:
        """Bytes of a thread's memory that are not registers."""

    def registers(self, source: str, name: str, options: tuple[str, ...]) -> int | None:
        """Registers of a thread, of 32 bits; None where the driver does not tell."""
        return None
