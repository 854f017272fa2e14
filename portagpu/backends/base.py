"""What a back end is: an object that lists devices, makes text of programs, and drives one kind of driver.

A `Backend` stands for an interface such as OpenCL, CUDA's driver or SYCL, or for an interpreter. It registers itself
(`portagpu.backends.registry`), and a device names its back end, so that nothing above knows which there are.
`Backend.open` gives a `Driver`: one device with a native context, which has memory, in-order queues, events, programs.

Handles that a driver gives out (queues, events, memory, programs, kernels) are the interface's own objects, wherever
those have the few methods that the protocols here name: nothing is wrapped, so that a launch costs what its call costs.
Everything else about them is asked of the driver. A driver raises what its interface raises (`Backend.errors`), and
whoever calls makes an error of ours of it with `Backend.translated`, which asks whether the device still answers.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from portagpu.backends.diagnosis import DriverReport
from portagpu.backends.offline import Compiled, CompilerVersion, OfflineTarget
from portagpu.backends.source import KernelSource
from portagpu.device.capabilities import Capabilities
from portagpu.device.ideal_device import PORTABLE
from portagpu.device.rates import Rates
from portagpu.device.record import DeviceRecord
from portagpu.device.sources import DeviceSource
from portagpu.errors import ArgumentTypeError, DeviceSelectionError, MemoryNotSharedError, PortaGPUError
from portagpu.ir.operations import INSTRUCTIONS, OPERATIONS, not_rendered
from portagpu.ir.program import Program
from portagpu.ir.recursion import deeply_nested
from portagpu.ir.walk import named_nodes
from portagpu.passes.pipeline import PIPELINE, Pass
from portagpu.settings import Settings

HostBytes = np.ndarray[Any, Any]  # contiguous host memory: one axis, elements that Python's buffers can describe


# handles ------------------------------------------------------------------------------------------------------------


class Queue(Protocol):
    """A queue whose commands run one after the other."""

    def flush(self) -> None:
        """Have the driver start what it was given; may wait for nothing."""

    def finish(self) -> None:
        """Wait until everything so far is done."""


class Completion(Protocol):
    """A command of a queue that can be waited for: a driver's event."""

    def wait(self) -> Any:
        """Wait until the command is done."""


class Memory(Protocol):
    """Memory of a device."""

    @property
    def size(self) -> int:
        """Bytes."""

    def release(self) -> None:
        """Give the memory back now."""


class KernelObject(Protocol):
    """A kernel with the arguments that it has: memory, numbers, and what `Driver.local_memory` gives."""

    def set_args(self, *values: Any) -> None:
        """Set all arguments."""

    def set_arg(self, index: int, value: Any, /) -> None:
        """Set one argument."""


class Strided(Protocol):
    """Elements in memory; ``offset`` and ``strides`` are bytes."""

    @property
    def buffer(self) -> Any:
        """The memory."""

    @property
    def offset(self) -> int:
        """Where the first element is."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""

    @property
    def strides(self) -> tuple[int, ...]:
        """From one element to the next, for each axis."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""


class LaunchSizes:
    """Threads of a launch along one to three axes, and of a block: as tuples, and in memory as numbers of ``size_t``.

    Without a local size the driver chooses one.
    """

    __slots__ = ("_kept", "global_address", "global_size", "local_address", "local_size", "ndim")

    def __init__(self, global_size: tuple[int, ...], local_size: tuple[int, ...] | None) -> None:
        self.global_size, self.local_size = global_size, local_size
        self.ndim = len(global_size)
        array = ctypes.c_size_t * self.ndim
        threads, group = array(*global_size), None if local_size is None else array(*local_size)
        self._kept = threads, group
        self.global_address = ctypes.addressof(threads)
        self.local_address = None if group is None else ctypes.addressof(group)


Enqueue = Callable[[Any, Any, LaunchSizes], Any]
"""Enqueues a kernel object with the arguments that it has on a queue. What it returns is nothing to count on."""


# values -------------------------------------------------------------------------------------------------------------


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


class ForeignArray(NamedTuple):
    """Elements of another library's array, and the queue that its methods use, or None.

    ``alike``: where a back end has it, one object for all arrays of one shape, strides and dtype.
    """

    buffer: Any
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    queue: Any
    readonly: bool = False
    alike: object = None


class CompilerOptions(Protocol):
    """What `cuda.jit` was asked for that a driver's compiler does; see `portagpu.dispatch.options.JitOptions`."""

    @property
    def fastmath(self) -> frozenset[str]:
        """What the compiler may take for granted, by LLVM's names; "fast": all."""

    @property
    def opt(self) -> bool:
        """Whether it optimises."""

    @property
    def max_registers(self) -> int | None:
        """Registers that a thread may have."""


class Allocator(Protocol):
    """A driver's memory for arrays: what arrays leave may serve the next ones."""

    @property
    def held_blocks(self) -> int:
        """Blocks that are kept for later arrays."""

    @property
    def used_bytes(self) -> int:
        """Bytes of what is in use."""

    def allocate(self, nbytes: int) -> Any:
        """Memory that goes back to the pool. Raises the driver's error."""

    def allocate_apart(self, nbytes: int) -> Any:
        """Memory that goes back to the driver, which waits for all queues before it serves others."""

    def stop_holding(self) -> None:
        """From now on what comes back to the pool goes to the driver."""

    def free_held(self) -> None:
        """Give what is kept to the driver."""


# what a back end implements -----------------------------------------------------------------------------------------


class Driver(ABC):
    """One device with a native context. Methods that take a queue enqueue, and wait for nothing unless they say so.

    Finalisers and signal handlers may call anything here in the middle of anything.
    """

    backend: Backend
    device: DeviceRecord
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


class Backend(DeviceSource, ABC):
    """A kind of driver: OpenCL, CUDA, SYCL, an interpreter; see the module."""

    name: str
    title: str
    to_install: str
    errors: ClassVar[tuple[type[Exception], ...]] = ()
    """What its drivers raise, besides errors of ours."""
    passes: ClassVar[tuple[Pass, ...]] = PIPELINE
    """What programs go through before `render`; an interpreter may ask for fewer passes, or none."""
    language: ClassVar[str] = "OpenCL C"
    """What `render` writes in."""
    inspection: ClassVar[str] = "inspect_opencl"
    """The method of kernels that shows it."""
    ideal: ClassVar[Capabilities] = PORTABLE
    """A device that can do all that the language says: text for it is shown where there is no device."""
    operations: ClassVar[frozenset[str]] = frozenset({*OPERATIONS, *INSTRUCTIONS})
    """The operations and instructions of `portagpu.ir.operations` that `render` knows."""

    @abstractmethod
    def open(self, device: DeviceRecord, native: Any = None) -> Driver:
        """A device with a new native context, or with a user's. Raises `PortaGPUError`."""

    @abstractmethod
    def translated(
        self, error: Exception, *, name: str, memory: int | None, is_alive: Callable[[], bool]
    ) -> PortaGPUError:
        """The typed error for one of `errors`: `OutOfMemoryError`, `DeviceLostError` or `DriverError`.

        ``name`` and ``memory`` (bytes) of the device are for the text; ``is_alive`` tells, at some cost, whether the
        device still answers.
        """

    @deeply_nested
    def check(self, program: Program) -> None:
        """Raise `LoweringError` for an operation or instruction that `render` does not know."""
        for function in (*program.functions, program.kernel):
            for node in named_nodes(function.body):
                if node.name not in self.operations:
                    raise not_rendered(node, self.name)

    @abstractmethod
    def render(
        self,
        program: Program,
        capabilities: Capabilities,
        *,
        static_dynamic_shared: int = 0,
        subgroup_size: int | None = None,
    ) -> KernelSource:
        """The text of a typed program for its compiler.

        ``static_dynamic_shared``: bytes of dynamic shared memory that become a static array.
        """

    @abstractmethod
    def build_options(self, asked: CompilerOptions, capabilities: Capabilities, source: str) -> tuple[str, ...]:
        """Options of the compiler for a text of `render`."""

    def spill_remarks(self, capabilities: Capabilities) -> tuple[str, ...]:
        """Options that make the compiler say what it keeps in memory for want of registers; none where it cannot."""
        return ()

    def targets(self) -> tuple[OfflineTarget, ...]:
        """Hardware that `compile_offline` compiles for; it need not be present."""
        return ()

    def missing_packages(self, target: OfflineTarget) -> tuple[str, ...]:
        """What to install before `compile_offline` compiles for a target; nothing where all is there."""
        return ()

    def compiler_version(self, target: OfflineTarget) -> CompilerVersion | None:
        """Which compiler `compile_offline` runs for a target; None where it cannot be told."""
        return None

    def compile_offline(self, target: OfflineTarget, source: str, options: tuple[str, ...]) -> Compiled:
        """Compile a text of `render` for a target. Raises `MissingCompilerError`, `BuildError`."""
        raise DeviceSelectionError(f"{self.name} compiles for no hardware that is not present")

    def examine(self, settings: Settings, records: Sequence[DeviceRecord], *, fresh: bool) -> DriverReport:
        """What is installed of its drivers, and what is wrong with them; ``records`` are the devices that were found.

        ``fresh`` looks at each again instead of trusting the cache.
        """
        return DriverReport()

    def measure(self, device: DeviceRecord) -> Rates | None:
        """Measure what a device reaches; None where it cannot be measured."""
        return None

    # objects of users' other libraries ------------------------------------------------------------------------------

    queue_types: ClassVar[tuple[type, ...]] = ()
    """Native queues, which streams are made around."""
    array_types: ClassVar[tuple[type, ...]] = ()
    """Arrays of a library that uses this interface, which kernels take without copies."""
    memory_types: ClassVar[tuple[type, ...]] = ()
    """Native memory, which device arrays are made around."""
    context_types: ClassVar[tuple[type, ...]] = ()
    """Native contexts, which contexts are made around; a context of none of these is the chosen back end's."""
    interfaces: ClassVar[frozenset[str]] = frozenset()
    """Attributes by which its device arrays show their memory to other libraries; see `interface`."""
    dlpack_kind: ClassVar[int | None] = None
    """DLPack's code of its devices' memory."""
    leaked_types: ClassVar[tuple[type, ...]] = ()
    """Whose objects must not be freed in a forked child."""

    def natives(self, value: Any) -> tuple[Any, Any]:
        """The native context and device of a native context, or of an object of the types above."""
        raise ArgumentTypeError(f"{type(value).__name__} is no object of {self.name}")

    def shared_key(self, device: DeviceRecord) -> Hashable | None:
        """`Driver.key` of the native context that all of a process share; None where each opening makes a new one."""
        return None

    def key_of(self, native: Any, device: Any) -> Hashable:
        """`Driver.key` of a native context and device."""
        raise ArgumentTypeError(f"{self.name} takes no contexts of other libraries")

    def check_queue(self, queue: Any) -> None:
        """Raise `ArgumentTypeError` for a user's queue that does not run its commands in order."""

    def own_queue(self, queue: Any) -> Any:
        """What drivers take for a user's queue: itself, unless its library is another one than the back end's."""
        return queue

    def queue_at(self, address: Any) -> Any:
        """A user's queue from its number. Raises `ArgumentTypeError`."""
        raise ArgumentTypeError(f"{self.name} has no queues of other libraries")

    def parts(self, array: Any) -> ForeignArray:
        """What an array of `array_types` consists of."""
        raise ArgumentTypeError(f"{type(array).__name__} is no array of {self.name}")

    def library_array(self, queue: Any, view: Strided) -> Any:
        """An array of the library's on the same memory, whose methods use a queue."""
        raise ArgumentTypeError(f"no library has arrays on {self.name}")

    def parts_of(self, value: Any) -> ForeignArray | None:
        """As `parts`, for any value: None for what is no array of the back end's."""
        return self.parts(value) if isinstance(value, self.array_types) else None

    def identity(self, value: Any) -> Hashable | None:
        """What tells memory, queue and layout of an array of `array_types` from those of others, where that is known
        sooner than `parts`; None for other values, and for arrays that `parts` has to look at."""
        return None

    def described(self, desc: Any) -> ForeignArray | None:
        """What a CUDA Array Interface describes; None where its memory is none that the back end can use."""
        return None

    def room_at(self, address: int) -> int | None:
        """Bytes from an address that `described` takes to the end of its memory; None for other addresses."""
        return None

    def empty_like(self, array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """A new array of the library of an array of `array_types`, in the same place; None where there are none."""
        return None

    def interface(self, name: str, queue: Any, view: Strided) -> Any:
        """The value of one of `interfaces` for a device array; ``queue`` is its stream's."""
        raise AttributeError(name)

    def from_dlpack(self, exporter: Any) -> Any:
        """An array of `array_types` on memory of `dlpack_kind` that another library's array shows."""
        raise MemoryNotSharedError(f"{self.name} takes no memory of other libraries by DLPack")
