"""A device that OpenCL drives, through PyOpenCL: its context, queues, events, memory and programs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl

from portagpu.backends.driver import Built, Driver, HostRange
from portagpu.backends.handles import Allocator, HostBytes, Strided
from portagpu.backends.launches import Enqueue
from portagpu.backends.opencl import memory, programs, waking
from portagpu.backends.opencl.copying import strided_copy
from portagpu.backends.opencl.enqueue import copy_on, enqueue_on, enqueue_with_event
from portagpu.backends.opencl.handles import key_of
from portagpu.device.capabilities import DeviceType
from portagpu.device.record import DeviceRecord
from portagpu.errors import DriverError

_NO_PROFILING = -7
_COMPLETE = int(cl.command_execution_status.COMPLETE)
_PROFILING: Mapping[bool, Any] = {False: 0, True: cl.command_queue_properties.PROFILING_ENABLE}


class OpenCLDriver(Driver):
    """See `portagpu.backends.driver.Driver`. Handles are PyOpenCL's objects."""

    errors: ClassVar[tuple[type[Exception], ...]] = (cl.Error,)

    def __init__(self, device: DeviceRecord, context: cl.Context) -> None:
        assert device.capabilities is not None
        self.device = device
        self._context: Any = context
        self._native_device: cl.Device = device.native
        self._key = key_of(context, device.native)
        self._is_cpu = device.capabilities.device_type is DeviceType.CPU
        self._enqueue = enqueue_on(device.capabilities)
        self._copy = copy_on(device.capabilities)

    @property
    def native(self) -> Any:
        """PyOpenCL's context."""
        return self._context

    @property
    def key(self) -> Hashable:
        """The addresses of context and device."""
        return self._key

    def close(self) -> None:
        """Let go of the context."""
        self._context = None

    def allocator(self, queue: Any) -> Allocator:
        """PyOpenCL's pool."""
        assert self.device.capabilities is not None
        return memory.Pool(self._context, queue, migrates=self.device.capabilities.copies_lists)

    # queues and events ----------------------------------------------------------------------------------------------

    def queue(self, *, profiling: bool = False) -> Any:
        """A command queue."""
        return cl.CommandQueue(self._context, self._native_device, properties=_PROFILING[profiling])

    def marker(self, queue: Any) -> Any:
        """A marker."""
        return cl.enqueue_marker(queue)

    def barrier(self, queue: Any, ends: Sequence[Any]) -> None:
        """A barrier that waits for events."""
        cl.enqueue_barrier(queue, wait_for=list(ends))

    def is_done(self, event: Any) -> bool:
        """Whether a command is done, or has failed."""
        return int(event.command_execution_status) <= _COMPLETE

    def succeeded(self, event: Any) -> bool:
        """Whether a command is done and has not failed."""
        return int(event.command_execution_status) == _COMPLETE

    def end_time(self, event: Any) -> float:
        """Nanoseconds."""
        try:
            return float(event.profile.end)
        except cl.Error as error:
            if getattr(error, "code", None) != _NO_PROFILING:
                raise
            raise DriverError(
                "an event was recorded on a queue that does not measure time",
                hint="make events with timing=True, and a queue of your own with "
                "properties=pyopencl.command_queue_properties.PROFILING_ENABLE",
            ) from error

    def notify(self, event: Any, function: Callable[[int], None]) -> None:
        """A callback of the event."""
        event.set_callback(cl.command_execution_status.COMPLETE, function)

    def handle(self, native: Any) -> int:
        """The address of OpenCL's object."""
        return int(native.int_ptr)

    # memory ---------------------------------------------------------------------------------------------------------

    def memory(self, nbytes: int) -> Any:
        """A buffer."""
        return cl.Buffer(self._context, cl.mem_flags.READ_WRITE, nbytes)

    def memory_of(self, host: HostBytes) -> Any:
        """A buffer with a copy of host memory."""
        return cl.Buffer(self._context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=host)

    def part(self, memory: Any, offset: int, nbytes: int) -> Any:
        """A sub-buffer."""
        return memory.get_sub_region(offset, nbytes)

    def copy(
        self, queue: Any, target: Any, source: Any, *, nbytes: int, target_offset: int = 0, source_offset: int = 0
    ) -> None:
        """Copy bytes between buffers."""
        self._copy(queue, target, source, nbytes, target_offset, source_offset)

    @property
    def copies_by_one_core(self) -> bool:
        """On CPUs."""
        return self._is_cpu

    def upload(self, queue: Any, target: Any, host: HostBytes, *, offset: int = 0, blocking: bool) -> Any:
        """Write a buffer."""
        return cl.enqueue_copy(queue, target, host, dst_offset=offset, is_blocking=blocking)

    def download(self, queue: Any, host: HostBytes, source: Any, *, offset: int = 0, blocking: bool) -> Any:
        """Read a buffer."""
        return cl.enqueue_copy(queue, host, source, src_offset=offset, is_blocking=blocking)

    def fill(self, queue: Any, target: Any, byte: int, *, offset: int, nbytes: int) -> None:
        """Fill a buffer."""
        cl.enqueue_fill_buffer(queue, target, np.uint8(byte), offset, nbytes)

    def strided_copy(
        self, source: Strided, target: Strided, build: Callable[[str], Any]
    ) -> Callable[[Any, Any, Any], None]:
        """By a kernel."""
        return strided_copy(source, target, build, self)

    # memory of the host ---------------------------------------------------------------------------------------------

    def wrap_host(self, low: int, high: int, *, written: bool) -> Any:
        """A buffer over host memory, which drivers use in place where it is aligned."""
        return memory.over_host(self._context, low, high, written=written)

    def map_back(self, queue: Any, memory_: Any) -> None:
        """By mapping the buffer. A CPU has no other memory to write back to."""
        memory.map_back(queue, memory_, finish=not self._is_cpu)

    def host_view(self, queue: Any, memory_: Any) -> tuple[HostBytes, int]:
        """By mapping the buffer."""
        return memory.mapped_for_host(queue, memory_)

    def page_locked(self, queue: Any, nbytes: int) -> HostBytes:
        """In a mapped buffer of the driver's."""
        return memory.page_locked(self._context, queue, nbytes)

    def is_page_locked(self, owner: Any) -> bool:
        """Whether it is a mapped buffer."""
        return isinstance(owner, cl.MemoryMap)

    def keep_with(self, memory_: Any, owner: Any) -> None:
        """As an attribute of the buffer, which PyOpenCL's arrays keep."""
        memory_.owner = owner

    def host_range(self, memory_: Any) -> HostRange | None:
        """Where a buffer lies in the host's memory."""
        return memory.host_range(memory_)

    def is_memory(self, value: Any) -> bool:
        """Whether a value is a buffer: the pool's are no `pyopencl.MemoryObject`."""
        return isinstance(value, cl.MemoryObjectHolder)

    def whole_of(self, memory_: Any) -> Any:
        """The buffer of a sub-buffer."""
        return memory.whole_of(memory_)

    def offset_of(self, memory_: Any) -> int:
        """Where a sub-buffer begins."""
        return int(memory_.get_info(cl.mem_info.OFFSET))

    # programs -------------------------------------------------------------------------------------------------------

    def compile(self, source: str, options: tuple[str, ...], remarks: tuple[str, ...], *, apart: bool) -> Built:
        """By the driver's compiler."""
        return programs.compiled(self._context, self.device, source, options, remarks, apart=apart)

    def wake_compiler(self) -> bool:
        """By an empty program, where the compiler is a library of this process (see `waking`)."""
        return waking.wake(self._context, self.device)

    def load(self, binary: bytes, options: tuple[str, ...]) -> Any:
        """The program of a binary."""
        return programs.loaded(self._context, self.device, binary, options)

    def binary_of(self, program: Any) -> bytes | None:
        """What the driver compiled."""
        return programs.binary_of(program)

    def compile_stamp(self, source: str) -> tuple[str, ...]:
        """The package's state, for programs whose binary it changes."""
        return programs.stamp(self.device, source)

    def kernel(self, program: Any, name: str, types: Sequence[np.dtype[Any] | None]) -> Any:
        """A kernel object."""
        made = cl.Kernel(program, name)
        if types:
            made.set_scalar_arg_dtypes(list(types))
        return made

    def local_memory(self, nbytes: int) -> Any:
        """An argument of local memory: drivers refuse too small ones."""
        return cl.LocalMemory(nbytes)

    @property
    def enqueue(self) -> Enqueue:
        """As `portagpu.backends.opencl.enqueue` has found best."""
        return self._enqueue

    @property
    def enqueue_with_event(self) -> Enqueue:
        """PyOpenCL's call."""
        return enqueue_with_event

    # figures --------------------------------------------------------------------------------------------------------

    def max_threads(self, kernel: Any) -> int:
        """CL_KERNEL_WORK_GROUP_SIZE."""
        return int(kernel.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, self._native_device))

    def private_bytes(self, kernel: Any) -> int:
        """CL_KERNEL_PRIVATE_MEM_SIZE."""
        return int(kernel.get_work_group_info(cl.kernel_work_group_info.PRIVATE_MEM_SIZE, self._native_device))

    def registers(self, source: str, name: str, options: tuple[str, ...]) -> int | None:
        """From the compiler's log."""
        return programs.registers(self._context, self.device, source, name, options)
