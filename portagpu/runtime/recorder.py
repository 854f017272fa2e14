"""What the current thread notes while a library call is recorded (see `portagpu.runtime.recording`)."""

from __future__ import annotations

import threading
from typing import Any


class Recorder:
    """Kernels that were launched, with shapes and C arguments, and how often anything was enqueued."""

    __slots__ = ("commands", "launches")

    def __init__(self) -> None:
        self.launches: list[tuple[Any, Any, tuple[Any, ...]]] = []
        self.commands = 0


class _Active(threading.local):
    recorder: Recorder | None = None


active = _Active()
