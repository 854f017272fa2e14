"""Runs small kernels on a device that is not known yet, without records and caches."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from portagpu.backends.base import LaunchSizes
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

    def run(self, name: str, trial: Trial, items: int, group: int, *values: Any, times: int = 1) -> float:
        """Run a kernel in place on arrays; the fewest seconds that it took. Raises `SyclError`."""
        library, buffers, given = self.library, [], []
        types: list[Any] = []
        for value in values:
            if isinstance(value, np.ndarray):
                address = library.made(
                    library.pg_allocate(self.context.address, self.device.address, value.nbytes, _ALIGNMENT, 0)
                )
                buffers.append((address, value))
                self.queue.copy(address, address_of(value), value.nbytes)
                given.append(Memory(address, value.nbytes))
            else:
                given.append(value)
            types.append(None if isinstance(value, np.ndarray | LocalMemory) else np.asarray(value).dtype)
        try:
            kernel = self.new_kernel(name, trial, types)
            kernel.set_args(*given)
            self.queue.finish()
            took = []
            for _ in range(times):
                start = time.perf_counter()
                self._enqueue(self.queue, kernel, LaunchSizes((items,), (group,)))
                self.queue.finish()
                took.append(time.perf_counter() - start)
            for address, value in buffers:
                self.queue.copy(address_of(value), address, value.nbytes)
            self.queue.finish()
        finally:
            for address, _ in buffers:
                library.pg_free(address, self.context.address)
        return min(took)

    def try_out(self, name: str, trial: Trial, items: int, group: int, *values: Any) -> bool:
        """Whether a program compiles and its kernel runs; arrays have what it wrote."""
        try:
            self.run(name, trial, items, group, *values)
        except SyclError:
            return False
        return True
