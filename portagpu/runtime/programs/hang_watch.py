"""A warning of kernels that seem to hang: their threads wait in a loop for others.

A thread of ours looks at the latest of such launches after a while. Queues are in order, so a launch that never ends
keeps all later ones waiting, and the latest is as good as the one that hangs. Launches of other kernels know nothing
of this.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from dataclasses import dataclass
from typing import Any

from portagpu.backends.driver import Driver
from portagpu.errors import PortaGPUCorrectnessWarning
from portagpu.source import Span

PAGE = "docs/lockstep.md#threads-that-wait-for-a-later-thread"


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch that may never end: its event, the kernel, the loop in which threads wait."""

    driver: Driver
    event: Any
    kernel: str
    loop: Span
    seconds: float
    started: float

    @property
    def has_ended(self) -> bool:
        """Whether the device is done with it, or nobody can tell any more."""
        try:
            return self.driver.is_done(self.event)
        except self.driver.errors:
            return True

    def warn(self) -> None:
        """Say so on standard error: the thread that launched it waits and cannot be told."""
        text = (
            f"the kernel `{self.kernel}` has not ended after {self.seconds:g} s, and its threads wait for each other"
            f" in this loop: on a CPU a thread may run only when earlier ones of its block have ended or reached a"
            f" barrier, so that a wait for a later thread never ends"
            f" ({PAGE}; PORTAGPU_HANG_SECONDS=0 turns this warning off)"
        )
        shown = warnings.formatwarning(text, PortaGPUCorrectnessWarning, self.loop.filename, self.loop.line)
        if sys.stderr is not None:
            sys.stderr.write(shown)
            sys.stderr.flush()


class Watch:
    """Looks after launches, at most one at a time."""

    def __init__(self) -> None:
        self._latest: Launch | None = None
        self._thread: threading.Thread | None = None
        self._process = os.getpid()
        self._reported: set[tuple[str, Span]] = set()

    def add(self, driver: Driver, event: Any, kernel: str, loop: Span, seconds: float) -> None:
        """Warn if the launch has not ended after so many seconds."""
        self._latest = Launch(driver, event, kernel, loop, seconds, time.monotonic())
        if self._thread is None or self._process != os.getpid():
            self._process = os.getpid()
            self._thread = threading.Thread(target=self._run, name="portagpu-watch", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            launch, self._latest = self._latest, None
            if launch is not None:
                self._follow(launch)
                continue
            self._thread = None
            if self._is_idle():
                return
            self._thread = threading.current_thread()  # a launch came between, which found a thread

    def _is_idle(self) -> bool:
        return self._latest is None

    def _follow(self, launch: Launch) -> None:
        wait = 0.01  # short launches are dropped soon, with the memory that their events keep
        while not launch.has_ended:
            if time.monotonic() - launch.started >= launch.seconds:
                if (launch.kernel, launch.loop) not in self._reported:
                    self._reported.add((launch.kernel, launch.loop))
                    launch.warn()
                return
            time.sleep(wait)
            wait = min(2 * wait, 0.5)


_watch = Watch()


def watch(driver: Driver, event: Any, kernel: str, loop: Span, seconds: float) -> None:
    """Warn on standard error if a launch has not ended after so many seconds; 0 for never."""
    if seconds > 0 and event is not None:
        _watch.add(driver, event, kernel, loop, seconds)
