"""Runs small kernels on a device that is not known yet, without records and caches."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from portagpu.backends.launches import LaunchSizes
from portagpu.backends.sycl.handles import Device, Queue, SyclContext
from portagpu.backends.sycl.kernels import Kernel, Program, enqueue_on
from portagpu.backends.sycl.library import Library, SyclError
from portagpu.backends.sycl.memory import LocalMemory, Memory, address_of
from portagpu.backends.sycl.probing.kernels import Trial, program

_ALIGNMENT = 128


class Workbench:
    """A device with a queue."""

    def __init__(self, library: Library, device: Device) -> None:
        self.library, self.device = library, device
        self.context = SyclContext(library, library.made(library.pg_default_context(device.address)))
        made = library.made(library.pg_queue(self.context.address, device.address, 0))
        self.queue = Queue(library, made, self.context)
        self._enqueue = enqueue_on(library)
        self._together: Program | None = None
        self._known: dict[str, Trial] = {}

    def build_together(self, trials: Mapping[str, Trial]) -> None:
        """Compile kernels together. Raises `SyclError`."""
        self._together = self._build(program(trials.items()))
        self._known = dict(trials)

    def _build(self, source: str) -> Program:
        said = ctypes.c_void_p()
        made = self.library.pg_compile(
            self.context.address, self.device.address, source.encode(), b"", b"", ctypes.byref(said)
        )
        self.library.pg_drop_text(said)
        return Program(self.library, self.library.made(made))

    def new_kernel(self, name: str, trial: Trial, types: Sequence[Any]) -> Kernel:
        """A kernel object of a trial. Raises `SyclError`."""
        built = self._together if self._known.get(name) == trial else None
        return Kernel(self.library, built or self._build(program([(name, trial)])), f"trial_{name}", types)

    @contextmanager
    def scratch(self, nbytes: int) -> Iterator[Memory]:
        """Memory of the device, zeros at first. Raises `SyclError`."""
        library, native = self.library, (self.context.address, self.device.address)
        address = library.made(library.pg_allocate(*native, nbytes, _ALIGNMENT, 0))
        try:
            self.queue.fill(address, 0, nbytes)
            yield Memory(address, nbytes)
            self.queue.finish()
        finally:
            library.pg_free(address, self.context.address)

    def times(self, name: str, trial: Trial, items: int, group: int, *values: Any, times: int = 1) -> list[float]:
        """Run a kernel on memory of the device; the seconds of each launch. Raises `SyclError`."""
        types = [None if isinstance(value, Memory | LocalMemory) else np.asarray(value).dtype for value in values]
        kernel = self.new_kernel(name, trial, types)
        kernel.set_args(*values)
        self.queue.finish()
        took = []
        for _ in range(times):
            start = time.perf_counter()
            self._enqueue(self.queue, kernel, LaunchSizes((items,), (group,)))
            self.queue.finish()
            took.append(time.perf_counter() - start)
        return took

    def run(self, name: str, trial: Trial, items: int, group: int, *values: Any, times: int = 1) -> float:
        """Run a kernel in place on arrays; the fewest seconds that it took. Raises `SyclError`."""
        with ExitStack() as kept:
            given, copies = [], []
            for value in values:
                if isinstance(value, np.ndarray):
                    memory = kept.enter_context(self.scratch(value.nbytes))
                    self.queue.copy(memory.address, address_of(value), value.nbytes)
                    copies.append((value, memory))
                given.append(memory if isinstance(value, np.ndarray) else value)
            took = self.times(name, trial, items, group, *given, times=times)
            for value, memory in copies:
                self.queue.copy(address_of(value), memory.address, value.nbytes)
        return min(took)

    def try_out(self, name: str, trial: Trial, items: int, group: int, *values: Any) -> bool:
        """Whether a program compiles and its kernel runs; arrays have what it wrote."""
        try:
            self.run(name, trial, items, group, *values)
        except SyclError:
            return False
        return True
