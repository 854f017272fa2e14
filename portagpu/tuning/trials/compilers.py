"""Child processes that compile candidates while another one measures.

What they compile goes to the caches on disk (ours and the driver's), where the measuring process finds it. They decide
nothing: where one dies, hangs or fails, the measuring process finds nothing in the caches, tries the candidate itself
and tells what comes of it.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from portagpu.device import DeviceRecord, DeviceType
from portagpu.device.families import trial_environment
from portagpu.settings import Settings
from portagpu.tuning.trials.temporary_folder import own_folder
from portagpu.tuning.trials.worker import Worker, WorkerDied
from portagpu.tuning.tunables.values import whole

START_LIMIT = 60.0  # seconds: a child starts and imports, the driver wakes up
_MOST = 8
_MEMORY = 512 << 20  # bytes of the device that a driver takes for each process, roughly
_MEMORY_SHARE = 4  # they take a quarter of it at most
_STARTS = 2  # that may fail in a row: then the device has no room for another process
_END_SECONDS = 15.0
_LOOK_SECONDS = 0.05
_log = logging.getLogger(__name__)


def count_for(device: DeviceRecord, wanted: int | None, settings: Settings) -> int:
    """How many processes compile ahead: those that are wanted, or as many as cores and memory are free for them.

    On a CPU, whose cores the kernels run on, there are none by default; and there are none where nothing is cached on
    disk, the only way from one process to another. Raises `TuningError` for what is no number of processes.
    """
    number = None if wanted is None else whole("compilers", wanted)
    if not settings.disk_cache:
        return 0
    if number is not None:
        return number
    caps = device.capabilities
    if device.device_type is DeviceType.CPU or caps is None:
        return 0
    return min(_MOST, max(0, _cores() - 1), caps.global_memory // (_MEMORY_SHARE * _MEMORY))


def _cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def environment_for(compilers: int) -> Iterator[dict[str, str]]:
    """The environment of a search's processes: compilers and what measures share a driver's cache of their own."""
    if not compilers:
        yield trial_environment()
        return
    with own_folder("portagpu-compiled-") as folder:
        yield trial_environment(folder)


@dataclass(order=True, slots=True)
class Compilation:
    """A request to the compilers; urgent ones first, then in the order of asking."""

    order: tuple[bool, int]
    request: dict[str, Any] = field(compare=False)
    is_done: bool = field(default=False, compare=False)  # well or not


class Compilers:
    """Child processes that answer requests one by one, each served by a thread; no more than requests."""

    def __init__(self, count: int, environment: dict[str, str], start: dict[str, Any], limit: float) -> None:
        """``start``: the request with which a new child gets ready; ``limit``: seconds of any other request, but for
        the making of a problem's arguments, which may take as long as a start."""
        self.count = count
        self._start, self._limit = start, limit
        self._workers = [Worker("portagpu.tuning.trials.compiling", "run", environment) for _ in range(count)]
        self._changed = threading.Condition()  # guards what follows
        self._threads: list[threading.Thread] = []
        self._waiting: list[Compilation] = []
        self._taken = 0
        self._numbers = itertools.count()
        self._serving = 0
        self._closing = False

    def ask(self, request: dict[str, Any], *, urgent: bool = False) -> Compilation:
        """Put a request behind those that wait; where no child can serve it, it is done at once."""
        with self._changed:
            made = Compilation((not urgent, next(self._numbers)), request)
            heapq.heappush(self._waiting, made)
            self._start_another()
            self._end_if_nobody_serves()
            self._changed.notify_all()
            return made

    def _start_another(self) -> None:
        """A child more, if requests wait that nobody is free for: each takes memory of the device."""
        started = len(self._threads)
        if started < min(self.count, len(self._waiting) + self._taken):
            self._threads.append(threading.Thread(target=self._serve, args=(self._workers[started],), daemon=True))
            self._threads[-1].start()
            self._serving += 1

    def wait(self, compilations: Iterable[Compilation], seconds: float) -> None:
        """Wait until one of them is done, at most so long."""
        watched = list(compilations)
        with self._changed:
            self._changed.wait_for(lambda: any(c.is_done for c in watched), max(0.0, seconds))

    def drop(self, compilations: Iterable[Compilation]) -> None:
        """Forget those that wait; what is under way goes on, of use to nobody but the caches."""
        orders = {c.order for c in compilations}
        with self._changed:
            self._waiting = [c for c in self._waiting if c.order not in orders]
            heapq.heapify(self._waiting)

    def close(self) -> None:
        """End the children, whatever they do."""
        with self._changed:
            self._closing = True
            self._waiting.clear()
            self._changed.notify_all()
        deadline = time.monotonic() + _END_SECONDS
        while any(t.is_alive() for t in self._threads) and time.monotonic() < deadline:
            for worker in self._workers:  # a thread may just have started a child
                worker.kill()
            for thread in self._threads:
                thread.join(_LOOK_SECONDS / max(1, self.count))

    def _serve(self, worker: Worker) -> None:
        longer = max(self._limit, START_LIMIT)
        try:
            failures, ready, prepared = 0, False, None
            while failures < _STARTS and not self._closing:
                if not ready:
                    ready = self._answers(worker, self._start, START_LIMIT)
                    failures, prepared = 0 if ready else failures + 1, None
                    continue
                taken = self._take()
                if taken is not None:
                    try:
                        if taken.request["action"] == "measure" and taken.request["problem"] != prepared:
                            prepared = taken.request["problem"]
                            ready = self._answers(worker, {**taken.request, "action": "prepare"}, longer)
                        ready = ready and self._answers(worker, taken.request, self._limit)
                    finally:
                        self._finish(taken)
        finally:
            worker.close()
            self._leave()

    def _answers(self, worker: Worker, request: dict[str, Any], limit: float) -> bool:
        """Whether the child lives on after a request."""
        try:
            worker.ask(request, limit)
        except (TimeoutError, WorkerDied, OSError) as error:
            if not self._closing:
                _log.info("a compiling process: %s", error)
            return False
        return True

    def _take(self) -> Compilation | None:
        """The next request; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            if self._closing:
                return None
            self._taken += 1
            return heapq.heappop(self._waiting)

    def _finish(self, taken: Compilation) -> None:
        with self._changed:
            self._taken -= 1
            taken.is_done = True
            self._changed.notify_all()

    def _leave(self) -> None:
        """The last one to go leaves nothing that somebody waits for."""
        with self._changed:
            self._serving -= 1
            self._end_if_nobody_serves()
            self._changed.notify_all()

    def _end_if_nobody_serves(self) -> None:
        if not self._serving:
            for left in self._waiting:
                left.is_done = True
            self._waiting.clear()
