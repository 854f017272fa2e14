"""Gates: queues that stand still until a test lets them go on, so that order is tested without clocks."""

from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager

import numpy as np
import pyopencl as cl
import sycl_gates

from portagpu.backends.cuda import handles as cuda_handles
from portagpu.backends.cuda import library as cuda_library
from portagpu.backends.cuda.memory import PageLocked

_SECONDS = 0.05


def _held(queue):
    """Let a stream of CUDA's wait for a number in page-locked memory; gives what writes it."""
    word = PageLocked(queue.primary, 4).array().view(np.uint32)
    word[0] = 0
    wait = cuda_library._loaded().cuStreamWaitValue32_v2
    wait.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint)
    with queue.primary:
        assert wait(queue.handle, word.ctypes.data, 1, 1) == 0  # until it is 1

    def release():
        word[0] = 1

    return release


class Gate:
    """Holds what is enqueued after it."""

    def __init__(self, queue):
        self._timer = None
        self._is_open = False
        if isinstance(queue, cuda_handles.Queue):
            self._release = _held(queue)
            return
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
