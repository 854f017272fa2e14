"""Gates: queues that stand still until a test lets them go on, so that order is tested without clocks."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pyopencl as cl
import sycl_gates

_SECONDS = 0.05


class Gate:
    """Holds what is enqueued after it."""

    def __init__(self, queue):
        self._timer = None
        self._is_open = False
        if not isinstance(queue, cl.CommandQueue):  # of a back end of the tests'
            self._release = queue.hold() if hasattr(queue, "hold") else sycl_gates.hold(queue)
            return
        event = cl.UserEvent(queue.context)
        self._release = lambda: event.set_status(cl.command_execution_status.COMPLETE)
        cl.enqueue_barrier(queue, wait_for=[event])

    def open(self):
        if not self._is_open:
            self._is_open = True
            self._release()

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
