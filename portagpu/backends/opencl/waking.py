"""Compilers that are libraries of this process load their own library of functions before the first program.

That takes as long as a dozen kernels do, and needs no Python: it is done beside what finds types and makes text.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

import pyopencl as cl
from pyopencl import _cl

from portagpu.backends.opencl.declarations import NO_HEADER
from portagpu.device.record import DeviceRecord

_ENTRIES = 64  # of the driver's own cache, at most, whose programs wake nothing
_lock = threading.Lock()
_woken: set[str] = set()  # keys of devices


def wake(context: cl.Context, device: DeviceRecord) -> bool:
    """Compile an empty program in another thread, once for a device; nothing where its compiler is no such library.

    The process waits for the thread when it ends.
    """
    if device.capabilities is None or not device.capabilities.declares_all:
        return False
    with _lock:
        if device.key in _woken:
            return False
        _woken.add(device.key)
    threading.Thread(target=_compile_nothing, args=(context,), name="portagpu-compiler").start()
    return True


def _compile_nothing(context: cl.Context) -> None:
    text = f"__kernel void nothing_{os.getpid() % _ENTRIES}(void) {{}}"
    with suppress(cl.Error):  # the program that is coming tells
        _cl._Program(context, text)._build(options=NO_HEADER.encode(), devices=None)
