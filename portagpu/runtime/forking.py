"""What happens to devices in a forked child: nothing works there, and nothing hangs.

Drivers keep threads and locks that do not survive a fork. The child's objects are never freed: their destructors would
call the driver, and some would wait for it for ever. (A driver's own handlers at a process's end are out of reach: some
wait for work that was running at the fork. `os._exit`, with which children of multiprocessing end, skips them.)
"""

from __future__ import annotations

import ctypes
import gc
import os
from typing import Any

import pyopencl.array

from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.context import abandon_all
from portagpu.runtime.event import Event
from portagpu.runtime.hostcalls import HostBuffers, HostCall
from portagpu.runtime.launch import CompiledKernel
from portagpu.runtime.recording import Replay

_OWNERS = frozenset({DeviceNDArray, Event, CompiledKernel, Replay, HostBuffers, HostCall, pyopencl.array.Array})


def _leak(value: Any) -> None:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def _in_child() -> None:
    kept = abandon_all()
    if not kept:
        return
    _leak(kept)
    for value in gc.get_objects():
        if type(value) in _OWNERS:
            _leak(value)
        if type(value) is CompiledKernel:
            _leak(value.kernels_of_this_thread)


def install() -> None:
    """From now on forked children refuse the contexts of their parent with a typed error."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_in_child)
