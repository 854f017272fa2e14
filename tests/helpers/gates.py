"""Gates: queues that stand still until a test lets them go on, so that order is tested without clocks."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pyopencl as cl

_SECONDS = 0.05


class Gate:
    """Holds what is enqueued after it."""

    def __init__(self, queue):
        self._event = cl.UserEvent(queue.context)
        self._timer = None
        self._is_open = False
        cl.enqueue_barrier(queue, wait_for=[self._event])

    def open(self):
        if not self._is_open:
            self._is_open = True
            self._event.set_status(cl.command_execution_status.COMPLETE)

    def open_soon(self):
        """Open while this thread waits in what it calls next."""
        self._timer = threading.Timer(_SECONDS, self.open)
        self._timer.start()

    def join(self):
        if self._timer is not None:
            self._timer.join()
        self.open()


@contextmanager
def closed_gate(queue):
    """A gate at a queue's end, open at last whatever happens: destructors wait for queues."""
    gate = Gate(queue)
    try:
        yield gate
    finally:
        gate.join()
