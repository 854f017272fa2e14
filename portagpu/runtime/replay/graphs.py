"""Graphs of launches: what a block of Python enqueues, recorded while it runs, and enqueued again as often as wanted.

On a back end that has graphs of its own (CUDA's), the whole is one call of the driver; elsewhere each kernel and copy
is enqueued again, without Python's work for its arguments. Kernels have the arguments of the recording: the same
arrays, whose memory the graph keeps, and the same numbers, as what is assigned to arrays.

CUDA C++ Programming Guide, "CUDA Graphs".
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NoReturn

from portagpu.errors import ClosedError, GraphError
from portagpu.notices import users_frame
from portagpu.runtime.execution.context import Context, current_context
from portagpu.runtime.execution.ordering import enqueuing
from portagpu.runtime.execution.recorder import Copy, Launch, Recorder, active
from portagpu.runtime.execution.stream import Stream, as_stream
from portagpu.runtime.replay.replay import Replay
from portagpu.source import Span, line_span

_INSTEAD = (
    "a graph has launches on device arrays, copies between them, and numbers and lists that are assigned to them;"
    " copies from and to arrays of the host, elements that Python reads, and launches with debug=True belong before or"
    " after it; what a library call makes at its first use is there after one call"
)
_DEPTHS = itertools.count(-(1 << 30), 1 << 10)  # of scratch memory: a graph's calls have their own


class _GraphRecorder(Recorder):
    """The recorder of a block of the user's: everything that its thread enqueues belongs to it."""

    __slots__ = ("_aside", "_host", "_marks", "external")

    def __init__(self) -> None:
        self.external: dict[Stream, None] = {}  # streams of other libraries that take part
        self._marks: list[tuple[int, tuple[str, int]]] = []
        self._host: tuple[str, int] | None = None
        self._aside = 0
        super().__init__(sys._getframe())

    def is_own(self) -> bool:
        """Always, but while something is set up beside the graph."""
        return not self._aside

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is enqueued meanwhile is done once, and not by the graph: its steps need no order between streams."""
        self._aside += 1
        try:
            yield
        finally:
            self._aside -= 1

    def meets(self, stream: Stream) -> None:
        """Note it: the graph's launches are in order with what the other library enqueues there."""
        self.external[stream] = None

    def uses_host(self) -> None:
        """The host's memory takes part, which nobody keeps, or which Python reads when the launch is done."""
        if self._host is None:
            self._host = _users_place()

    @property
    def commands(self) -> int:
        """How often anything was enqueued."""
        return len(self._marks)

    @commands.setter
    def commands(self, count: int) -> None:
        while len(self._marks) < count:
            self._marks.append((len(self.steps), _users_place()))

    def stranger(self) -> Span | None:
        """Where the first command was enqueued that is no step of a graph; None where there is none."""
        ends = [*(steps for steps, _ in self._marks[1:]), len(self.steps)]
        for (before, place), after in zip(self._marks, ends, strict=False):
            if before == after:
                return line_span(*place)
        return None if self._host is None else line_span(*self._host)


def _users_place() -> tuple[str, int]:
    """File and line of the innermost call that is the user's."""
    frame = users_frame(sys._getframe(2))
    return ("<unknown>", 1) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


class _Copies:
    """In place of a kernel, where a graph has copies alone."""

    def __init__(self, context: Context) -> None:
        self.context, self.enqueue = context, context.driver.enqueue

    def reference(self) -> _Copies:
        """Itself, as a weak reference to a kernel gives that."""
        return self


class Graph:
    """Launches and copies that are enqueued together: what the block of a ``with`` statement enqueues.

    ::

        with cuda.graph() as graph:
            step[blocks, threads](x, y)
            step[blocks, threads](y, x)
        for _ in range(1000):
            graph.launch()

    The block runs as it would without the graph. Streams and events in it do not matter: a graph's steps run one after
    the other. Of other libraries' arrays, a launch waits for their streams, and they wait for it.
    """

    def __init__(self) -> None:
        self._context: Context | None = None
        self._steps: list[Launch | Copy] = []
        self._replay: Replay | None = None
        self._whole: Callable[[Any], None] | None = None
        self._last: Stream | None = None  # where it was launched
        self._external: list[Stream] = []  # of other libraries, whose arrays it has
        self._recorder: _GraphRecorder | None = None
        self._depth = 0
        self._is_recorded = False
        self._launching = threading.RLock()  # kernels have one set of arguments, and the steps one memory

    def __len__(self) -> int:
        """Kernels and copies."""
        return len(self._steps)

    def __repr__(self) -> str:
        where = "" if self._context is None else f" on {self._context.device.name}"
        return f"<portagpu graph of {len(self)} steps{where}>"

    def __reduce__(self) -> NoReturn:
        raise GraphError(
            "graphs cannot be pickled, copied or sent to another process", hint="record one in the process that uses it"
        )

    def __enter__(self) -> Graph:
        """Begin to record what this thread enqueues. Raises `GraphError` inside another graph's block."""
        if active.recorder is not None:
            raise GraphError("a graph is being recorded already", hint="end the other one's block first")
        if self._context is not None:
            raise GraphError("the graph is recorded already", hint="make a new one: with cuda.graph() as graph")
        self._context = current_context()
        self._context.unsettled.settle()
        self._depth = active.depth
        active.recorder = self._recorder = _GraphRecorder()
        active.depth = next(_DEPTHS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the recording, and wait. Raises `GraphError` for what a graph cannot have."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            raise GraphError("the graph is not being recorded", hint="write its block: with cuda.graph() as graph")
        try:
            if error is None and self._context is not None:
                self._context.unsettled.settle()  # what was put off in the block is a part of the graph
        finally:
            active.recorder, active.depth = None, self._depth
        if error is None:
            self._finish(recorder)

    def _finish(self, recorder: _GraphRecorder) -> None:
        stranger = recorder.stranger()
        if stranger is not None:
            raise GraphError("this cannot be part of a graph", span=stranger, hint=_INSTEAD)
        launches = [step.compiled for step in recorder.steps if isinstance(step, Launch)]
        contexts = {step.compiled.context if isinstance(step, Launch) else step.context for step in recorder.steps}
        if len(contexts) > 1:
            names = ", ".join(sorted(context.device.name for context in contexts))
            raise GraphError(f"a graph is of one device; this one has steps on {names}", hint="make one for each")
        if contexts:
            (self._context,) = contexts
        assert self._context is not None
        self._steps, self._is_recorded = recorder.steps, True  # the steps keep the programs
        self._external = [stream for stream in recorder.external if stream.context is self._context]
        if not self._steps:
            return
        self._context.synchronize()
        first: Any = launches[0] if launches else _Copies(self._context)
        self._replay = Replay(self._steps, first, ())
        self._whole = self._context.driver.graph(self._replay.enqueue)

    def launch(self, stream: Any = 0) -> None:
        """Enqueue all steps on a stream of the graph's device, the default one if none is given.

        A launch on another stream than the last one's waits for that: the steps' memory is the same.
        Raises `GraphError` before the end of the recording, `ClosedError` where memory of the device was given back.
        """
        if not self._is_recorded:
            raise GraphError("the graph is not recorded", hint="launch it after the block of its `with` statement")
        if self._replay is None:
            return
        assert self._context is not None
        with self._launching:
            self._launch_on(as_stream(stream, self._context))

    def _launch_on(self, where: Stream) -> None:
        assert self._replay is not None
        if self._last is not None and self._last is not where:
            where.wait_stream(self._last)
        self._last = where
        others = [stream for stream in self._external if stream is not where and not stream.closed]
        for other in others:
            where.wait_stream(other)
        if self._whole is None:
            done = self._replay.launch(where)
        elif done := self._replay.is_valid:
            with enqueuing(where) as queue:
                self._whole(queue)
        for other in others:
            other.wait_stream(where)
        if not done:
            raise ClosedError(
                "memory of the graph's device was given back since it was recorded",
                hint="record it again; arrays of a graph must not be closed, nor its context",
            )


def graph() -> Graph:
    """A new `Graph`, whose launches are those of a ``with`` statement's block."""
    return Graph()
