"""Copies between pageable memory of the host and a device, piece by piece through page-locked memory, in threads.

A driver that moves only page-locked memory at the bus's rate copies pageable memory to such memory itself, in one
thread, which copies slower than the bus moves; new memory of the host, whose pages the system maps at the first touch,
is slower still. Here several threads copy, each with places of its own; a piece moves while the thread copies the next.
Figures: docs/benchmarks.md.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from portagpu.backends.handles import Completion, HostBytes
from portagpu.runtime.arrays.view import View
from portagpu.runtime.execution.context import Context

LEAST = 32 << 20
"""Bytes of copies that are staged: of less, starting threads takes as long as they save."""
_PIECE, _MOST_THREADS, _PLACES = 2 << 20, 4, 2
_LOAD = Path("/proc/loadavg")  # Linux's: "0.20 0.18 0.12 3/500 11206", of which 3 threads run


@dataclass(frozen=True, slots=True)
class Stage:
    """Page-locked ``places`` of a context, as many for each thread, which one copy has at a time, by its ``lock``."""

    places: tuple[tuple[HostBytes, ...], ...]
    lock: threading.Lock

    @classmethod
    def of(cls, context: Context, queue: Any, piece: int = _PIECE, threads: int = 0) -> Stage:
        """Places of so many bytes, for as many threads as there are cores, up to 4, by default.

        Raises as drivers do where memory cannot be locked.
        """
        count = threads or min(_MOST_THREADS, _cores())
        made = [[context.driver.page_locked(queue, piece) for _ in range(_PLACES)] for _ in range(count)]
        return cls(tuple(map(tuple, made)), threading.Lock())

    def upload(self, queue: Any, target: View, host: HostBytes) -> None:
        """Copy bytes to a contiguous array, and wait."""
        driver = target.context.driver

        def send(place: HostBytes, first: int, size: int) -> Completion:
            place[:size] = host[first : first + size]
            sent: Completion = driver.upload(
                queue, target.buffer, place[:size], offset=target.offset + first, blocking=False
            )
            queue.flush()
            return sent

        def work(places: tuple[HostBytes, ...], mine: list[tuple[int, int]]) -> None:
            under_way: list[Completion] = []
            try:
                for number, (first, size) in enumerate(mine):
                    if number >= len(places):
                        under_way.pop(0).wait()
                    under_way.append(send(places[number % len(places)], first, size))
            finally:
                _end(under_way)

        self._share(host.size, work)

    def download(self, queue: Any, host: HostBytes, source: View) -> None:
        """Copy bytes of a contiguous array to the host, and wait."""
        driver = source.context.driver

        def ask(place: HostBytes, first: int, size: int) -> Completion:
            asked: Completion = driver.download(
                queue, place[:size], source.buffer, offset=source.offset + first, blocking=False
            )
            queue.flush()
            return asked

        def work(places: tuple[HostBytes, ...], mine: list[tuple[int, int]]) -> None:
            under_way: list[Completion] = []
            try:
                under_way += [ask(place, *piece) for place, piece in zip(places, mine, strict=False)]
                for number, (first, size) in enumerate(mine):
                    under_way.pop(0).wait()
                    place = places[number % len(places)]
                    host[first : first + size] = place[:size]
                    if number + len(places) < len(mine):
                        under_way.append(ask(place, *mine[number + len(places)]))
            finally:
                _end(under_way)

        self._share(host.size, work)

    def _share(self, size: int, work: Callable[[tuple[HostBytes, ...], list[tuple[int, int]]], None]) -> None:
        """Deal pieces, (first, bytes), to threads, this one among them, and wait for all; raises the first error."""
        piece, count = self.places[0][0].size, len(self.places)
        pieces = [(first, min(piece, size - first)) for first in range(0, size, piece)]
        errors: list[BaseException] = []

        def run(number: int) -> None:
            try:
                work(self.places[number], pieces[number::count])
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=run, args=(number,), name="portagpu copy") for number in range(1, count)]
        own = [0]
        try:
            for number, thread in enumerate(threads, 1):
                try:
                    thread.start()
                except RuntimeError:  # the process has no more, or Python is about to end
                    own.append(number)
            for number in own:
                work(self.places[number], pieces[number::count])
        finally:
            _join(threads)
        if errors:
            raise errors[0]


def pays(context: Context, nbytes: int) -> bool:
    """Whether copies of so much pageable memory are to be staged."""
    return nbytes >= LEAST and context.capabilities.staged_copies


@contextmanager
def staging(context: Context, queue: Any) -> Iterator[Stage | None]:
    """Where a copy is staged; None while another one is, or other threads run on the cores.

    The first one locks memory; where there is none to lock, all copies are the driver's.
    """
    threads = _free_cores()
    if threads < 2:
        yield None
        return
    with _making:
        if context not in _stages:
            _stages[context] = _made(context, queue)
        stage = _stages[context]
    if stage is None or not stage.lock.acquire(blocking=False):
        yield None
        return
    try:
        yield replace(stage, places=stage.places[:threads])
    finally:
        stage.lock.release()


_stages: WeakKeyDictionary[Context, Stage | None] = WeakKeyDictionary()
_making = threading.RLock()


def _made(context: Context, queue: Any) -> Stage | None:
    try:
        return Stage.of(context, queue)
    except context.backend.errors:
        return None


def _end(under_way: list[Completion]) -> None:
    """Wait for what a thread has enqueued, so that its places are free."""
    for completion in under_way:
        completion.wait()


def _join(threads: list[threading.Thread]) -> None:
    """Wait for threads; an interruption meanwhile is raised when all are done, since they use the places."""
    interruption: BaseException | None = None
    for thread in threads:
        while thread.is_alive():
            try:
                thread.join()
            except BaseException as error:
                interruption = error
    if interruption is not None:
        raise interruption


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _free_cores() -> int:
    """Cores that no other thread runs on, as far as the system tells.

    Threads of a BLAS library wait actively for a while after a product: with them on all cores, four threads took twice
    the time of the driver's one.
    """
    try:
        running = int(_LOAD.read_text(encoding="ascii").split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        running = 1  # this one
    return _cores() - (running - 1)
