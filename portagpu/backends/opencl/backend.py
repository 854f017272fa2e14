"""OpenCL as a back end; see `portagpu.backends.base`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar

import pyopencl as cl
import pyopencl.array

from portagpu.backends.base import Backend, CompilerOptions, Driver, ForeignArray, Strided
from portagpu.backends.diagnosis import DriverReport
from portagpu.backends.offline import Compiled, CompilerVersion, OfflineTarget
from portagpu.backends.opencl import discovery, driver_errors, rates
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.backends.opencl.codegen.lowerings import RENDERED
from portagpu.backends.opencl.driver import OpenCLDriver
from portagpu.backends.opencl.handles import queue_at
from portagpu.backends.opencl.options import SPILL_REMARKS, options_for
from portagpu.backends.source import KernelSource
from portagpu.device.capabilities import Capabilities
from portagpu.device.rates import Rates
from portagpu.device.record import DeviceRecord
from portagpu.device.sources import Discovery, UnusedDriver
from portagpu.errors import ArgumentTypeError, PortaGPUError
from portagpu.ir.program import Program
from portagpu.settings import Settings


class OpenCL(Backend):
    """Devices of all OpenCL drivers, through PyOpenCL."""

    name = discovery.NAME
    title = "OpenCL"
    to_install = "pip install 'portagpu[cpu]' brings a CPU driver"
    operations: ClassVar[frozenset[str]] = RENDERED
    errors: ClassVar[tuple[type[Exception], ...]] = (cl.Error,)
    queue_types: ClassVar[tuple[type, ...]] = (cl.CommandQueue,)
    array_types: ClassVar[tuple[type, ...]] = (pyopencl.array.Array,)
    memory_types: ClassVar[tuple[type, ...]] = (cl.MemoryObject,)
    leaked_types: ClassVar[tuple[type, ...]] = (pyopencl.array.Array,)

    def discover(self, settings: Settings, *, fresh: bool, renumber: bool) -> Discovery:
        """List every device now."""
        return discovery.discover(settings, fresh=fresh, renumber=renumber)

    def describe(self, native: Any, settings: Settings) -> DeviceRecord:
        """The record of PyOpenCL's device."""
        return discovery.describe(native, settings)

    def unused_drivers(self, settings: Settings) -> Sequence[UnusedDriver]:
        """Drivers that are installed and not in use."""
        return discovery.unused_drivers(settings)

    def open(self, device: DeviceRecord, native: Any = None) -> Driver:
        """A device with a new context, or with a user's `pyopencl.Context`."""
        if native is None:
            try:
                native = cl.Context([device.native])
            except cl.Error as error:
                raise self.translated(error, name="the device", memory=None, is_alive=lambda: True) from error
        return OpenCLDriver(self, device, native)

    def translated(
        self, error: Exception, *, name: str, memory: int | None, is_alive: Callable[[], bool]
    ) -> PortaGPUError:
        """The typed error for one of PyOpenCL."""
        return driver_errors.translated(error, name=name, memory=memory, is_alive=is_alive)

    def render(
        self,
        program: Program,
        capabilities: Capabilities,
        *,
        static_dynamic_shared: int = 0,
        subgroup_size: int | None = None,
    ) -> KernelSource:
        """OpenCL C of a program."""
        return generate(program, capabilities, static_dynamic_shared=static_dynamic_shared, subgroup_size=subgroup_size)

    def build_options(self, asked: CompilerOptions, capabilities: Capabilities, source: str) -> tuple[str, ...]:
        """Options of OpenCL's compilers."""
        return options_for(asked, capabilities, source)

    def spill_remarks(self, capabilities: Capabilities) -> tuple[str, ...]:
        """An option of one vendor's compiler."""
        return SPILL_REMARKS if capabilities.max_registers_option else ()

    def targets(self) -> tuple[OfflineTarget, ...]:
        """The architectures of `offline.targets`."""
        from portagpu.backends.opencl.offline.targets import TARGETS  # here and below: programs that launch need none

        return tuple(TARGETS.values())

    def missing_packages(self, target: OfflineTarget) -> tuple[str, ...]:
        """Packages of Debian and Ubuntu."""
        from portagpu.backends.opencl.offline.compilers import missing_for
        from portagpu.backends.opencl.offline.target import Target

        assert isinstance(target, Target)
        return missing_for(target)

    def compiler_version(self, target: OfflineTarget) -> CompilerVersion | None:
        """The maker's, or LLVM's."""
        from portagpu.backends.opencl.offline.compilers import compiler_of
        from portagpu.backends.opencl.offline.target import Target

        assert isinstance(target, Target)
        return None if self.missing_packages(target) else compiler_of(target)

    def compile_offline(self, target: OfflineTarget, source: str, options: tuple[str, ...]) -> Compiled:
        """By the maker's compiler."""
        from portagpu.backends.opencl.offline.compilers import compile_offline
        from portagpu.backends.opencl.offline.target import Target

        assert isinstance(target, Target)
        return compile_offline(target, source, options)

    def examine(self, settings: Settings, records: Sequence[DeviceRecord], *, fresh: bool) -> DriverReport:
        """The libraries of OpenCL drivers, and hardware that none of them serves."""
        from portagpu.backends.opencl import doctor

        return doctor.examine(settings, records, fresh=fresh)

    def measure(self, device: DeviceRecord) -> Rates | None:
        """Measure a device by kernels."""
        return rates.measure(device)

    def natives(self, value: Any) -> tuple[Any, Any]:
        """PyOpenCL's context and device of a context, queue, buffer or array."""
        if isinstance(value, pyopencl.array.Array):
            value = value.queue if value.queue is not None else value.context
        if isinstance(value, cl.CommandQueue):
            return value.context, value.device
        context = value.context if isinstance(value, cl.MemoryObject) else value
        return context, context.devices[0]

    def key_of(self, native: Any, device: Any) -> Hashable:
        """The addresses of context and device."""
        return native.int_ptr, device.int_ptr

    def check_queue(self, queue: Any) -> None:
        """Raise `ArgumentTypeError` for an out-of-order queue."""
        if queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE:
            raise ArgumentTypeError(
                "the queue is out of order; streams run their work in order",
                hint="make it without OUT_OF_ORDER_EXEC_MODE_ENABLE",
            )

    def queue_at(self, address: Any) -> Any:
        """The queue at the address of a ``cl_command_queue``. Raises `ArgumentTypeError`."""
        return queue_at(address)

    def parts(self, array: Any) -> ForeignArray:
        """What a `pyopencl.array.Array` consists of."""
        return ForeignArray(array.base_data, array.offset, array.shape, array.strides, array.dtype, array.queue)

    def library_array(self, queue: Any, view: Strided) -> Any:
        """A `pyopencl.array.Array` of the same memory."""
        return pyopencl.array.Array(
            queue, view.shape, view.dtype, data=view.buffer, offset=view.offset, strides=view.strides
        )
