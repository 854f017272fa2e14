"""Replay of recorded launches: kernel objects with their arguments set, enqueued again.

What a library call enqueues for the same arrays and numbers is the same each time. `recorded` runs such a call and
notes its kernels with their arguments; a `Replay` has kernel objects of its own with these arguments and enqueues them.
It keeps no memory alive but what the call used besides its operands, so it may be kept for later; who launches it
vouches that the operands are those of the recording, or gives buffers in their place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from portagpu.backends.driver import Driver
from portagpu.backends.handles import KernelObject, Memory
from portagpu.backends.launches import Enqueue
from portagpu.runtime.execution.context import current_context
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.ordering import enqueuing
from portagpu.runtime.execution.recorder import Copy, Launch, Recorder, active
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.programs.launch import CompiledKernel
from portagpu.runtime.programs.launch_shape import LaunchShape
from portagpu.runtime.replay.arguments import Arguments, Number

_MOST = 16  # launches: of longer products, the share of Python is small


class Operand(Protocol):
    """Memory that a call is made for: a device array's, or a range of the host's."""

    @property
    def buffer(self) -> Memory:
        """The driver's object."""


def recorded(
    call: Callable[[], None],
    operands: Iterable[Operand],
    most: int = _MOST,
    *,
    copies: bool = False,
    numbers: bool = False,
    host: Any = None,
) -> Replay | None:
    """Make a call; what repeats it for these operands, or None where it did more than to launch ``most`` kernels.

    With ``copies``, it may copy bytes on the device, too; the `Replay` is then one to `launch` with buffers. With
    ``numbers``, it has `Replay.arguments`. The operands are read after the call, which may add to them. ``host``: notes
    what the call does with host arrays, see `Recorder`.
    """
    contexts = [current_context(), *(getattr(array, "context", None) for array in tuple(operands))]
    for context in contexts:  # ranges of the host's memory have none
        if context is not None:
            # what was put off is no part of the call, and not to be made again
            context.unsettled.settle(stream=current_stream(context))
    before, active.recorder = active.recorder, Recorder(sys._getframe(), host)
    try:
        call()
        found = active.recorder
    finally:
        active.recorder = before
    steps = found.steps
    launches = [step for step in steps if isinstance(step, Launch)]
    has_others = len(steps) != found.commands or (len(steps) > len(launches) and not copies)
    if not launches or has_others or len(steps) > most:
        return None
    handle = launches[0].compiled.context.driver.handle
    replay = Replay(steps, launches[0].compiled, [handle(array.buffer) for array in operands])
    if numbers:
        replay.arguments = Arguments.of(steps)
    return replay


def kept_by(replays: Iterable[Replay]) -> int:
    """Bytes of the memory that recordings keep together: each buffer counts once."""
    together: dict[int, int] = {}
    for replay in replays:
        together |= replay.kept
    return sum(together.values())


def beyond(keeping: Mapping[Any, Replay], most: int) -> Iterator[tuple[Any, bool]]:
    """Keys of the first recordings, until those that remain keep at most so many bytes; and whether one keeps more all
    by itself, so that it should not be made again."""
    left = dict(keeping)
    while left and kept_by(left.values()) > most:
        key = next(iter(left))
        yield key, left.pop(key).kept_bytes > most


class Replay:
    """Kernels with their arguments, for the thread that made them: kernel objects belong to one thread."""

    __slots__ = (
        "__weakref__",
        "_compiled",
        "_copies",
        "_enqueue_last",
        "_epoch",
        "_kept",
        "_kernels",
        "_places",
        "_set",
        "arguments",
        "busy",
        "kept",
    )

    def __init__(self, steps: Sequence[Launch | Copy], first: CompiledKernel, borrowed: Sequence[int]) -> None:
        """first: a kernel of those that are launched; borrowed: handles of the operands' memory."""
        self._kernels: list[tuple[KernelObject, LaunchShape]] = []
        self._copies: list[tuple[int, _CopyAgain]] = []  # with the number of kernels before them
        self._kept: list[Any] = []
        self._places: list[tuple[KernelObject, int, int]] = []  # kernel, argument, operand that it is
        self._set: list[Memory | None] = []  # of each place, the buffer that `complete` set
        driver = first.context.driver
        numbers = {handle: n for n, handle in reversed(list(enumerate(borrowed)))}
        for step in steps:
            if isinstance(step, Copy):
                again = _CopyAgain(driver, step, numbers)
                self._copies.append((len(self._kernels), again))
                self._kept += again.kept
                continue
            kernel = step.compiled.new_kernel()
            kernel.set_args(*step.values)
            self._kernels.append((kernel, step.shape))
            for place, value in enumerate(step.values):
                if not driver.is_memory(value):
                    continue
                operand = numbers.get(driver.handle(value))
                if operand is not None:
                    self._places.append((kernel, place, operand))
                else:
                    self._kept.append(value)
        self._forget_set()
        self.arguments = Arguments()
        self.busy = False  # whether buffers are being set: signal handlers and finalisers may come in between
        self.kept = {driver.handle(buffer): int(buffer.size) for buffer in self._kept}  # which others may keep, too
        self._enqueue_last = driver.enqueue_with_event
        self._compiled = first.reference
        self._epoch = first.context.epoch

    @property
    def copies(self) -> bool:
        """Whether it copies, too, so that `launch` needs buffers."""
        return bool(self._copies)

    @property
    def kept_bytes(self) -> int:
        """Size of the memory that the recording keeps."""
        return sum(self.kept.values())

    def launch(
        self, stream: Stream | None, buffers: Sequence[Memory] | None = None, numbers: Iterable[Number] = ()
    ) -> bool:
        """Enqueue on a stream of the recording's context, by default its current one; with buffers not while `busy`.

        ``buffers``: one in the place of each operand; those of the recording were different ones. ``numbers``: in the
        place of the kernels' own; those of earlier launches stay.
        False where memory was given back since, so that the call must be made anew.
        """
        compiled = self._compiled()
        if compiled is None or compiled.context.epoch is not self._epoch:
            return False
        if compiled.context.only_builds:
            return True
        if stream is None:
            stream = current_stream(compiled.context)
        depth = active.depth
        with enqueuing(stream) as queue:
            self.busy = buffers is not None
            active.depth = depth + 1
            try:
                if buffers is not None:
                    self._forget_set()
                    for kernel, place, operand in self._places:
                        kernel.set_arg(place, buffers[operand])
                for launch, argument, value in numbers:
                    self._kernels[launch][0].set_arg(argument, value)
                self._enqueue_all(compiled.enqueue, queue, buffers or ())
            finally:
                active.depth = depth
                self.busy = False
        return True

    @property
    def is_valid(self) -> bool:
        """Whether no memory was given back since."""
        compiled = self._compiled()
        return compiled is not None and compiled.context.epoch is self._epoch

    def enqueue(self, queue: Any) -> None:
        """Enqueue on a driver's queue, whatever it is: perhaps one that only notes what it is given."""
        compiled = self._compiled()
        assert compiled is not None
        self._enqueue_all(compiled.enqueue, queue, ())

    def _enqueue_all(self, enqueue: Enqueue, queue: Any, buffers: Sequence[Memory]) -> None:
        done = 0
        for before, copy in self._copies:
            for kernel, shape in self._kernels[done:before]:
                enqueue(queue, kernel, shape.sizes)
            copy.enqueue(queue, buffers)
            done = before
        for kernel, shape in self._kernels[done:] if done else self._kernels:
            enqueue(queue, kernel, shape.sizes)

    def complete(self, stream: Stream, buffers: Sequence[Memory], numbers: Iterable[Number] = ()) -> bool:
        """Enqueue on a stream of the recording's context, and wait; otherwise as `launch`. Not while `busy`.

        For buffers over host memory that the device uses in place. They are kept until the next launch, since those
        that the kernels still have are not given to them again.
        """
        compiled = self._compiled()
        if compiled is None or compiled.context.epoch is not self._epoch:
            return False
        if compiled.context.only_builds:
            return True
        if self._copies:
            launched = self.launch(stream, buffers, numbers)
            stream.synchronize()
            return launched
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
                    for launch, argument, value in numbers:
                        self._kernels[launch][0].set_arg(argument, value)
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


class _CopyAgain:
    """A copy between memories that may be operands'; those it does not keep alive."""

    __slots__ = ("_enqueue", "_places", "kept")

    def __init__(self, driver: Driver, copy: Copy, operands: Mapping[int, int]) -> None:
        """operands: numbers of the operands, by the handles of their memory."""
        self._enqueue = copy.enqueue
        # of the target and the source, an operand's number, or memory
        self._places = [operands.get(driver.handle(memory), memory) for memory in (copy.target, copy.source)]
        self.kept = [place for place in self._places if not isinstance(place, int)]

    def enqueue(self, queue: Any, buffers: Sequence[Memory]) -> None:
        """Copy; buffers: of the operands."""
        self._enqueue(queue, *(buffers[place] if isinstance(place, int) else place for place in self._places))
