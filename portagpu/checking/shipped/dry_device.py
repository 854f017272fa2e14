"""A device that has a target's capabilities and runs nothing: what is launched on it is noted.

Memory has a size and no contents, and what comes back from it is zero. So a routine makes the choices that it would
make on such hardware, and launches what it would launch, as far as nothing depends on results.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from portagpu.backends.backend import Backend
from portagpu.backends.driver import Built, Driver, HostRange
from portagpu.backends.handles import HostBytes, Strided
from portagpu.backends.languages import KernelLanguage
from portagpu.backends.launches import Enqueue
from portagpu.backends.offline import OfflineTarget
from portagpu.backends.registry import named, register
from portagpu.device.record import DeviceRecord
from portagpu.device.sources import Discovery, UnusedDriver
from portagpu.errors import DriverError, PortaGPUError
from portagpu.settings import Settings


class _Memory:
    """So many bytes, of which there is none."""

    def __init__(self, size: int, whole: _Memory | None = None, offset: int = 0) -> None:
        self.size, self.whole, self.offset = max(size, 1), whole, offset

    def release(self) -> None:
        """Nothing is kept."""


class _Event:
    """A command, which is done."""

    def wait(self) -> None:
        """It is done."""


class _Queue:
    """A queue in which nothing waits."""

    def flush(self) -> None:
        """Nothing waits."""

    def finish(self) -> None:
        """Nothing waits."""


class _Pool:
    """Memory of any size."""

    held_blocks = used_bytes = 0

    def allocate(self, nbytes: int) -> _Memory:
        """Memory, however much."""
        return _Memory(nbytes)

    allocate_apart = allocate

    def stop_holding(self) -> None:
        """Nothing is held."""

    free_held = stop_holding

    def keep_apart(self, on: bool) -> None:
        """Nothing is held."""


class _Kernel:
    """A kernel of a program, whose arguments nobody reads."""

    def __init__(self, source: str) -> None:
        self.source = source

    def set_args(self, *values: Any) -> None:
        """They are not read."""

    def set_arg(self, index: int, value: Any, /) -> None:
        """It is not read."""


class _Program:
    """A program that is not compiled."""

    def __init__(self, source: str) -> None:
        self.source = source


class DryDriver(Driver):
    """See the module. ``blocks``: those that each program was launched with, by its text, in order."""

    def __init__(self, device: DeviceRecord) -> None:
        self.device = device
        self.blocks: dict[str, dict[tuple[int, ...], None]] = defaultdict(dict)
        self._native: object | None = object()
        self._key = id(self._native)

    @property
    def native(self) -> Any:
        """Nothing but itself."""
        return self._native

    @property
    def key(self) -> Hashable:
        """A number of its own."""
        return self._key

    def close(self) -> None:
        """Nothing is open."""
        self._native = None

    def allocator(self, queue: Any) -> Any:
        """Memory of any size."""
        return _Pool()

    def queue(self, *, profiling: bool = False) -> Any:
        """A queue."""
        return _Queue()

    def marker(self, queue: Any) -> Any:
        """A command that is done."""
        return _Event()

    def barrier(self, queue: Any, ends: Sequence[Any]) -> None:
        """Nothing is waited for."""

    def is_done(self, event: Any) -> bool:
        """It is."""
        return True

    def succeeded(self, event: Any) -> bool:
        """It did."""
        return True

    def end_time(self, event: Any) -> float:
        """Always the same."""
        return 0.0

    def notify(self, event: Any, function: Callable[[int], None]) -> None:
        """It is done already."""
        function(0)

    def handle(self, native: Any) -> int:
        """Its address in Python."""
        return id(native)

    def memory(self, nbytes: int) -> Any:
        """Memory without contents."""
        return _Memory(nbytes)

    def memory_of(self, host: HostBytes) -> Any:
        """Memory without contents."""
        return _Memory(host.nbytes)

    def part(self, memory: Any, offset: int, nbytes: int) -> Any:
        """A part."""
        return _Memory(nbytes, memory, offset)

    def copy(
        self, queue: Any, target: Any, source: Any, *, nbytes: int, target_offset: int = 0, source_offset: int = 0
    ) -> None:
        """There is nothing to copy."""

    def upload(self, queue: Any, target: Any, host: HostBytes, *, offset: int = 0, blocking: bool) -> Any:
        """There is nowhere to put it."""
        return _Event()

    def download(self, queue: Any, host: HostBytes, source: Any, *, offset: int = 0, blocking: bool) -> Any:
        """Zeros."""
        host.view(np.uint8)[...] = 0
        return _Event()

    def fill(self, queue: Any, target: Any, byte: int, *, offset: int, nbytes: int) -> None:
        """There is nothing to fill."""

    def strided_copy(
        self, source: Strided, target: Strided, build: Callable[[str], Any]
    ) -> Callable[[Any, Any, Any], None]:
        """There is nothing to copy."""
        return lambda queue, to, from_: None

    def wrap_host(self, low: int, high: int, *, written: bool) -> Any:
        """Memory that is not the host's."""
        return _Memory(high - low)

    def map_back(self, queue: Any, memory: Any) -> None:
        """There is nothing to bring back."""

    def host_view(self, queue: Any, memory: Any) -> tuple[HostBytes, int]:
        """Zeros."""
        data = np.zeros(memory.size, np.uint8)
        return data, data.__array_interface__["data"][0]

    def page_locked(self, queue: Any, nbytes: int) -> HostBytes:
        """Memory of the host."""
        return np.zeros(max(nbytes, 1), np.uint8)

    def is_page_locked(self, owner: Any) -> bool:
        """Copies wait for nothing anyway."""
        return False

    def keep_with(self, memory: Any, owner: Any) -> None:
        """Nobody else uses the memory."""

    def host_range(self, memory: Any) -> HostRange | None:
        """It lies nowhere."""
        return None

    def is_memory(self, value: Any) -> bool:
        """Whether it is of this device."""
        return isinstance(value, _Memory)

    def whole_of(self, memory: Any) -> Any:
        """What it is a part of."""
        return memory if memory.whole is None else memory.whole

    def offset_of(self, memory: Any) -> int:
        """Where the part begins."""
        return int(memory.offset)

    def compile(self, source: str, options: tuple[str, ...], remarks: tuple[str, ...], *, apart: bool) -> Built:
        """Nothing is compiled yet."""
        return Built(program=_Program(source), said=None)

    def load(self, binary: bytes, options: tuple[str, ...]) -> Any:
        """There are no binaries."""
        raise DriverError("a dry run has no binaries")

    def binary_of(self, program: Any) -> bytes | None:
        """There is none."""
        return None

    def kernel(self, program: Any, name: str, types: Sequence[np.dtype[Any] | None]) -> Any:
        """A kernel object."""
        return _Kernel(program.source)

    def local_memory(self, nbytes: int) -> Any:
        """An argument that nobody reads."""
        return nbytes

    def _note(self, queue: Any, kernel: Any, sizes: Any) -> Any:
        if sizes.local_size is not None:
            self.blocks[kernel.source][tuple(sizes.local_size)] = None
        return _Event()

    @property
    def enqueue(self) -> Enqueue:
        """Note the block."""
        return self._note

    @property
    def enqueue_with_event(self) -> Enqueue:
        """Note the block."""
        return self._note

    def max_threads(self, kernel: Any) -> int:
        """What the device allows."""
        assert self.device.capabilities is not None
        return self.device.capabilities.max_work_group_size

    def private_bytes(self, kernel: Any) -> int:
        """Not known before it is compiled."""
        return 0


def _translated(error: Any, *, name: str, memory: int | None, is_alive: Callable[[], bool]) -> PortaGPUError:
    """There are no errors of a driver."""
    return DriverError(f"{name}: {error}")


class DryRuns(Backend):
    """A device that runs nothing and gets the code that a target's own back end would generate."""

    name, title = "dry run", "dry runs"
    translated = staticmethod(_translated)

    def __init__(self, target: OfflineTarget) -> None:
        real = named(target.backend)
        self.build_options, self.passes = real.build_options, real.passes  # type: ignore[misc]  # of the class, in others
        self._language = real.language
        self._record = DeviceRecord(
            index=-1,
            name=target.title,
            vendor="",
            platform=target.platform,
            driver_version=target.name,
            device_type=target.capabilities.device_type,
            native=target.name,
            capabilities=target.capabilities,
            problem=None,
            remedy=None,
            backend=self.name,
        )

    @property
    def language(self) -> KernelLanguage:
        """That of the target's own back end."""
        return self._language

    def discover(self, settings: Settings, *, fresh: bool, renumber: bool) -> Discovery:
        """None that programs would see."""
        return Discovery(records=())

    def describe(self, native: Any, settings: Settings) -> DeviceRecord:
        """The device."""
        return self._record

    def unused_drivers(self, settings: Settings) -> Sequence[UnusedDriver]:
        """None."""
        return ()

    def open(self, device: DeviceRecord, native: Any = None) -> Driver:
        """A device that runs nothing."""
        return DryDriver(device)


def dry_device(target: OfflineTarget) -> DeviceRecord:
    """A device with a target's capabilities that runs nothing."""
    backend = DryRuns(target)
    register(backend)
    return backend.describe(None, Settings.from_environment())
