"""Replay of recorded launches: kernel objects with their arguments set, enqueued again.

What a library call enqueues for the same arrays and numbers is the same each time. `recorded` runs such a call and
notes its kernels with their arguments; a `Replay` has kernel objects of its own with these arguments and enqueues them.
It keeps no memory alive but what the call used besides its operands, so it may be kept for later; who launches it
vouches that the operands are those of the recording, or gives buffers in their place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from portagpu.backends.base import KernelObject, Memory
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.recorder import Recorder, active
from portagpu.runtime.execution.stream import Stream, enqueuing
from portagpu.runtime.programs.launch import CompiledKernel, LaunchShape

_MOST = 16  # launches: of longer products, the share of Python is small


def recorded(call: Callable[[], None], operands: Iterable[DeviceNDArray], most: int = _MOST) -> Replay | None:
    """Make a call; what repeats it for these operands, or None where it did more than to launch ``most`` kernels."""
    before, active.recorder = active.recorder, Recorder(sys._getframe())
    try:
        call()
        found = active.recorder
    finally:
        active.recorder = before
    launches = found.launches
    if not launches or len(launches) != found.commands or len(launches) > most:
        return None
    handle = launches[0][0].context.driver.handle
    return Replay(launches, [handle(array.buffer) for array in operands])


def kept_by(replays: Iterable[Replay]) -> int:
    """Bytes of the memory that recordings keep together: each buffer counts once."""
    together: dict[int, int] = {}
    for replay in replays:
        together |= replay.kept
    return sum(together.values())


class Replay:
    """Kernels with their arguments, for the thread that made them: kernel objects belong to one thread."""

    __slots__ = (
        "__weakref__",
        "_compiled",
        "_enqueue_last",
        "_epoch",
        "_kept",
        "_kernels",
        "_places",
        "_set",
        "busy",
        "kept",
    )

    def __init__(self, launches: list[tuple[Any, Any, tuple[Any, ...]]], borrowed: Sequence[int]) -> None:
        self._kernels: list[tuple[KernelObject, LaunchShape]] = []
        self._kept: list[Any] = []
        self._places: list[tuple[KernelObject, int, int]] = []  # kernel, argument, operand that it is
        self._set: list[Memory | None] = []  # of each place, the buffer that `complete` set
        compiled: CompiledKernel
        driver = launches[0][0].context.driver
        for compiled, shape, values in launches:
            kernel = compiled.new_kernel()
            kernel.set_args(*values)
            self._kernels.append((kernel, shape))
            for place, value in enumerate(values):
                if not driver.is_memory(value):
                    continue
                number = driver.handle(value)
                if number in borrowed:
                    self._places.append((kernel, place, borrowed.index(number)))
                else:
                    self._kept.append(value)
        self._forget_set()
        self.busy = False  # whether buffers are being set: signal handlers and finalisers may come in between
        self.kept = {driver.handle(buffer): int(buffer.size) for buffer in self._kept}  # which others may keep, too
        self._enqueue_last = driver.enqueue_with_event
        self._compiled = launches[0][0].reference
        self._epoch = launches[0][0].context.epoch

    @property
    def kept_bytes(self) -> int:
        """Size of the memory that the recording keeps."""
        return sum(self.kept.values())

    def launch(self, stream: Stream | None, buffers: Sequence[Memory] | None = None) -> bool:
        """Enqueue on a stream of the recording's context, by default its default one; with buffers not while `busy`.

        ``buffers``: one in the place of each operand; those of the recording were different ones.
        False where memory was given back since, so that the call must be made anew.
        """
        compiled = self._compiled()
        if compiled is None or compiled.context.epoch is not self._epoch:
            return False
        if compiled.context.only_builds:
            return True
        if stream is None:
            stream = compiled.context.default_stream
        depth = active.depth
        with enqueuing(stream) as queue:
            self.busy = buffers is not None
            active.depth = depth + 1
            try:
                if buffers is not None:
                    self._forget_set()
                    for kernel, place, operand in self._places:
                        kernel.set_arg(place, buffers[operand])
                for kernel, shape in self._kernels:
                    compiled.enqueue(queue, kernel, shape.sizes)
            finally:
                active.depth = depth
                self.busy = False
        return True

    def complete(self, stream: Stream, buffers: Sequence[Memory]) -> bool:
        """Enqueue on a stream of the recording's context, and wait; False where `launch` says so. Not while `busy`.

        For buffers over host memory that the device uses in place. They are kept until the next launch, since those
        that the kernels still have are not given to them again.
        """
        compiled = self._compiled()
        if compiled is None or compiled.context.epoch is not self._epoch:
            return False
        if compiled.context.only_builds:
            return True
        done: Any = None
        try:
            depth = active.depth
            with enqueuing(stream) as queue:
                self.busy = True
                active.depth = depth + 1
                try:
                    known = self._set
                    for n, (kernel, place, operand) in enumerate(self._places):
                        buffer = buffers[operand]
                        if known[n] is not buffer:
                            known[n] = None
                            kernel.set_arg(place, buffer)
                            known[n] = buffer
                    for kernel, shape in self._kernels:
                        done = self._enqueue_last(queue, kernel, shape.sizes)
                finally:
                    active.depth = depth
                    self.busy = False
            if done is not None:
                done.wait()  # the queue is in order: the last one's end is that of all
        except compiled.context.backend.errors as error:
            raise compiled.context.translated(error) from error
        return True

    def _forget_set(self) -> None:
        self._set = [None] * len(self._places)
