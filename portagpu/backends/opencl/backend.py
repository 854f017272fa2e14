"""OpenCL as a back end; see `portagpu.backends.backend`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import pyopencl as cl
import pyopencl.array

from portagpu.backends.backend import Backend
from portagpu.backends.diagnosis import DriverReport
from portagpu.backends.driver import Driver
from portagpu.backends.foreign import ForeignArray
from portagpu.backends.handles import Strided
from portagpu.backends.languages import KernelLanguage
from portagpu.backends.offline import Compiled, CompilerVersion, OfflineTarget
from portagpu.backends.opencl import announcement, discovery, driver_errors, rates
from portagpu.backends.opencl.driver import OpenCLDriver
from portagpu.backends.opencl.handles import key_of, queue_at
from portagpu.backends.opencl.options import SPILL_REMARKS, options_for
from portagpu.device.capabilities import Capabilities
from portagpu.device.rates import Rates
from portagpu.device.record import DeviceRecord
from portagpu.device.sources import Discovery, UnusedDriver
from portagpu.errors import ArgumentTypeError
from portagpu.settings import Settings


class OpenCL(Backend):
    """Devices of all OpenCL drivers, through PyOpenCL."""

    name = announcement.NAME
    title = announcement.TITLE
    to_install = announcement.TO_INSTALL
    errors: ClassVar[tuple[type[Exception], ...]] = OpenCLDriver.errors
    translated = staticmethod(driver_errors.translated)
    build_options = staticmethod(options_for)
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
        return OpenCLDriver(device, native)

    @property
    def language(self) -> KernelLanguage:
        """OpenCL C; its code generator is loaded for code that is not kept."""
        from portagpu.backends.opencl.kernel_language import OPENCL_C

        return OPENCL_C

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
        return key_of(native, device)

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


BACKEND = OpenCL()
