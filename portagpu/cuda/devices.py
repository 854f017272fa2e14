"""Devices under CUDA-Python's names: `cuda.gpus`, `cuda.get_current_device`, `cuda.select_device`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from portagpu.device import DeviceRecord, find_device, working_devices
from portagpu.device.capabilities import Capabilities
from portagpu.device.registry import choose
from portagpu.errors import ArgumentTypeError, DeviceIndexError, unknown_attribute
from portagpu.runtime.execution import context as contexts
from portagpu.runtime.execution.context import Context

if TYPE_CHECKING:
    _Facts = DeviceRecord  # what `Device.__getattr__` hands on, which checkers would take for anything
else:
    _Facts = object


class Device(_Facts):
    """A device: its facts, and ``with device:`` to make it current in this thread.

    Facts have the names of `portagpu.device.DeviceRecord` and CUDA's: ``id``, ``name``, ``uuid``,
    ``compute_capability`` (None where there is none), ``WARP_SIZE``, ``MULTIPROCESSOR_COUNT``,
    ``MAX_THREADS_PER_BLOCK`` and others; docs/devices.md says what they mean on which device. ``Device(0)`` takes what
    `select_device` takes, and raises what it raises; the current device stays.
    """

    def __init__(self, selector: str | int | DeviceRecord | Device) -> None:
        self.record = _record(selector)
        self._entered: list[Context] = []

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *dir(self.record)})

    if TYPE_CHECKING:
        capabilities: Capabilities  # devices that do not work have none, and cannot be chosen
    else:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or name == "record":  # while it is being copied or unpickled
                raise AttributeError(name, name=name, obj=self)
            try:
                return getattr(self.record, name)
            except AttributeError:
                hint = "device.capabilities tells what OpenCL knows"
                raise unknown_attribute("a device", name, self, dir(self), hint=hint) from None

    @property
    def supports_float16(self) -> bool:
        """Whether kernels can use float16, native or rounded from float32."""
        caps = self.record.capabilities
        return caps is not None and (caps.fp16 or caps.fp16_storage)

    @property
    def supports_bfloat16(self) -> bool:
        """Whether kernels can use arrays of bfloat16: on every device that works."""
        return self.record.capabilities is not None

    @property
    def context(self) -> Context:
        """The device's context, made at first use."""
        return Context.for_device(self.record)

    @property
    def _device(self) -> Device:
        """Itself: programs ask ``cuda.gpus[i]._device.name``, since the original's list holds managers of devices."""
        return self

    def get_primary_context(self) -> Context:
        """The device's context, made at first use."""
        return self.context

    def reset(self) -> None:
        """Close the device's context: its arrays and streams cannot be used any more. Later use opens a new one."""
        current = contexts.current_context() is self.context
        self.context.close()
        if current:
            contexts.select_device(self.record)

    def __enter__(self) -> Context:
        self._entered.append(self.context)
        return self._entered[-1].__enter__()

    def __exit__(self, *exc: object) -> None:
        self._entered.pop().__exit__(*exc)

    def __eq__(self, other: object) -> bool:
        return self.record is (other.record if isinstance(other, Device) else other)

    def __hash__(self) -> int:
        return hash(self.record)

    def __repr__(self) -> str:
        return f"<portagpu device {self.record.label}: {self.record.name} ({self.record.platform})>"


class Devices:
    """The devices that work; ``with cuda.gpus[i]:`` makes one current in this thread."""

    @overload
    def __getitem__(self, index: int) -> Device: ...
    @overload
    def __getitem__(self, index: slice) -> list[Device]: ...
    def __getitem__(self, index: int | slice) -> Device | list[Device]:
        """A device, or a list of them. Raises `DeviceIndexError`, which is an IndexError, too."""
        found = self.lst
        if isinstance(index, slice):
            return found[index]
        if isinstance(index, bool) or not isinstance(index, int | np.integer):
            raise ArgumentTypeError(
                f"cuda.gpus is indexed by a number, not {type(index).__name__}",
                hint="cuda.select_device(...) chooses by name or type",
            )
        if not -len(found) <= index < len(found):
            raise DeviceIndexError(
                f"cuda.gpus[{index}]: this machine has {len(found)} working devices",
                hint="`portagpu devices` lists them; `portagpu doctor` explains what is missing",
            )
        return found[int(index)]

    def __len__(self) -> int:
        return len(working_devices())

    def __iter__(self) -> Iterator[Device]:
        return iter(self.lst)

    def __repr__(self) -> str:
        return f"<portagpu devices {self.lst}>"

    @property
    def lst(self) -> list[Device]:
        """The devices as a list."""
        return [Device(record) for record in working_devices()]

    @property
    def current(self) -> Device:
        """The current device."""
        return get_current_device()


gpus = Devices()


def list_devices() -> Devices:
    """Devices on which kernels run; `cuda.gpus`."""
    return gpus


def get_current_device() -> Device:
    """The current device. Raises `NoDeviceError` where none works."""
    return Device(contexts.current_context().device)


def select_device(selector: str | int | DeviceRecord | Device) -> Device:
    """Make a device current in this thread, and return it.

    ``selector`` is a number, "gpu" or "cpu", a part of its name, vendor or platform, or a device. Numbers are those of
    `portagpu devices`. Raises `DeviceSelectionError`, or `ArgumentTypeError` for a selector of another type.
    """
    return Device(_selected(selector).device)


def current_context(devnum: str | int | DeviceRecord | Device | None = None) -> Context:
    """This thread's context; with ``devnum`` that device is made current first, as by `select_device`.

    Raises `NoDeviceError` where no device works, `DeviceSelectionError` where ``devnum`` is none.
    """
    return contexts.current_context() if devnum is None else _selected(devnum)


def _selected(selector: Any) -> Context:
    record = _record(selector)
    if not record.works:
        choose((record,), record.index)  # raises, and says why it does not work
    return contexts.select_device(record)


def _record(selector: Any) -> DeviceRecord:
    """The device that a selector names."""
    record = selector.record if isinstance(selector, Device) else selector
    if isinstance(record, DeviceRecord):
        return record
    if isinstance(record, bool) or not isinstance(record, str | int | np.integer):
        raise ArgumentTypeError(
            f"a device is chosen by number or text, not {type(record).__name__}",
            hint='cuda.select_device(0), cuda.select_device("gpu"), or a device of cuda.gpus',
        )
    return find_device(record if isinstance(record, str) else int(record))
