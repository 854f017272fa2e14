"""SYCL as a back end; see `portagpu.backends.backend`.

The run time is loaded when the first of its devices is opened.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np

from portagpu.backends.backend import Backend
from portagpu.backends.diagnosis import DriverReport
from portagpu.backends.driver import Driver
from portagpu.backends.foreign import ForeignArray
from portagpu.backends.handles import Strided
from portagpu.backends.languages import KernelLanguage
from portagpu.backends.sycl import announcement, discovery, dpctl_objects, driver_errors
from portagpu.backends.sycl.driver import SyclDriver
from portagpu.backends.sycl.handles import Device, Handle, Queue, SyclContext, known_queue
from portagpu.backends.sycl.identity import DeviceName, listed
from portagpu.backends.sycl.library import Library, SyclError, library
from portagpu.backends.sycl.memory import Memory
from portagpu.backends.sycl.options import options_for
from portagpu.device.rates import Rates
from portagpu.device.record import DeviceRecord
from portagpu.device.sources import Discovery, UnusedDriver
from portagpu.errors import ArgumentTypeError, DeviceSelectionError
from portagpu.settings import Settings


class Sycl(Backend):
    """Devices of the SYCL run time, through a small C++ library."""

    name = announcement.NAME
    title = announcement.TITLE
    to_install = announcement.TO_INSTALL
    errors: ClassVar[tuple[type[Exception], ...]] = SyclDriver.errors
    translated = staticmethod(driver_errors.translated)
    build_options = staticmethod(options_for)
    queue_types: ClassVar[tuple[type, ...]] = (Queue, dpctl_objects.DpctlQueue)
    array_types: ClassVar[tuple[type, ...]] = (dpctl_objects.UsmArray,)
    context_types: ClassVar[tuple[type, ...]] = (SyclContext, dpctl_objects.DpctlContext)
    interfaces: ClassVar[frozenset[str]] = frozenset({announcement.INTERFACE})
    dlpack_kind: ClassVar[int | None] = announcement.DLPACK_KIND
    memory_types: ClassVar[tuple[type, ...]] = (Memory,)
    leaked_types: ClassVar[tuple[type, ...]] = (Handle, Memory)

    def discover(self, settings: Settings, *, fresh: bool, renumber: bool) -> Discovery:
        """List every device now."""
        return discovery.discover(settings, fresh=fresh)

    def describe(self, native: Any, settings: Settings) -> DeviceRecord:
        """The record of a device by its name. Raises `DeviceSelectionError` for one that no longer is listed."""
        for record in discovery.discover(settings, fresh=False).records:
            if record.native == native:
                return record
        raise DeviceSelectionError(f"the SYCL run time lists no device {native}", hint="`portagpu devices --fresh`")

    def unused_drivers(self, settings: Settings) -> Sequence[UnusedDriver]:
        """The run time, where it lists no device."""
        return discovery.unused_drivers(settings)

    def open(self, device: DeviceRecord, native: Any = None) -> Driver:
        """A device with its platform's default context, which other libraries use, too, or with a user's."""
        loaded = library()
        try:
            own = _find(loaded, device.native)
            if native is None:
                native = SyclContext(loaded, loaded.made(loaded.pg_default_context(own.address)))
            elif not isinstance(native, SyclContext):
                native, _ = dpctl_objects.context_of(loaded, native)
        except SyclError as error:
            raise self.translated(error, name="the device", memory=None, is_alive=lambda: True) from error
        return SyclDriver(device, loaded, native, own)

    @property
    def language(self) -> KernelLanguage:
        """SYCL C++; its code generator is loaded for code that is not kept."""
        from portagpu.backends.sycl.kernel_language import SYCL_CPP

        return SYCL_CPP

    def examine(self, settings: Settings, records: Sequence[DeviceRecord], *, fresh: bool) -> DriverReport:
        """The run time, its adapters and what compiled the library for it."""
        from portagpu.backends.sycl import doctor

        return doctor.examine(settings, records, fresh=fresh)

    def measure(self, device: DeviceRecord) -> Rates | None:
        """Measure with small kernels on a queue of its own; None where the driver fails."""
        from portagpu.backends.sycl import rates

        assert device.capabilities is not None
        loaded = library()
        return rates.measure(loaded, _find(loaded, device.native), device.capabilities)

    def natives(self, value: Any) -> tuple[Any, Any]:
        """The context and the name of the device of a context, queue or array."""
        loaded = library()
        if isinstance(value, Queue):
            context, made = value.context, loaded.made(loaded.pg_device_of(value.address))
            return context, _name(loaded, Device(loaded, made))
        if isinstance(value, SyclContext):
            return value, _name(loaded, Device(loaded, loaded.made(loaded.pg_device_of_context(value.address))))
        context, device = dpctl_objects.context_of(loaded, value)
        return context, _name(loaded, device)

    def key_of(self, native: Any, device: Any) -> Hashable:
        """The context's number, and the device's name."""
        return native.key, device

    def check_queue(self, queue: Any) -> None:
        """Queues of dpctl's that are out of order are used in the order that dpctl keeps."""

    def own_queue(self, queue: Any) -> Any:
        """A queue around dpctl's."""
        return queue if isinstance(queue, Queue) else dpctl_objects.queue_of(library(), queue)

    def queue_at(self, address: Any) -> Any:
        """A queue of this process by its number, `Queue.key`."""
        found = known_queue(address) if type(address) is int else None
        if found is None:
            raise ArgumentTypeError(
                f"{address!r} is the number of no SYCL queue that this process has shown",
                hint="pass a dpctl.SyclQueue, or int() of a stream that still exists",
            )
        return found

    def parts(self, array: Any) -> ForeignArray:
        """What an array with a USM array interface consists of."""
        try:
            return dpctl_objects.parts(library(), array)
        except SyclError as error:
            what = f"the queue of {type(array).__name__}"
            raise self.translated(error, name=what, memory=None, is_alive=lambda: True) from error

    def library_array(self, queue: Any, view: Strided) -> Any:
        """A `dpnp.ndarray` of the same memory."""
        return dpctl_objects.library_array(queue, view)

    def identity(self, value: Any) -> Hashable | None:
        """Address, layout and queue."""
        return dpctl_objects.identity(value)

    def empty_like(self, array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """An array of the same library, on the same queue."""
        return dpctl_objects.empty_like(array, shape, dtype)

    def interface(self, name: str, queue: Any, view: Strided) -> Any:
        """The USM array interface."""
        return dpctl_objects.shown(queue, view)

    def from_dlpack(self, exporter: Any) -> Any:
        """By dpnp, which knows memory of SYCL's by DLPack."""
        return dpctl_objects.from_dlpack(exporter)


def _find(loaded: Library, name: DeviceName) -> Device:
    """A device of this process by its name."""
    for one in listed(loaded):
        if one.name == name:
            return one.device
    raise DeviceSelectionError(
        f"{name.name} ({name.platform}) is not there any more",
        hint="`portagpu devices --fresh` looks for devices anew; what a process loads first may hide others from it",
    )


_names: dict[int, DeviceName] = {}  # by hash: the library's devices are the same ones as long as the process lives


def _name(loaded: Library, device: Device) -> DeviceName:
    found = _names.get(hash(device))
    if found is not None:
        return found
    for one in listed(loaded):
        if one.device == device:
            return _names.setdefault(hash(device), one.name)
    raise DeviceSelectionError(
        "the queue is of a device that the SYCL run time does not list, perhaps of a part of one",
        hint="make the queue on a whole device, as dpctl.get_devices() lists them",
    )


BACKEND = Sycl()
