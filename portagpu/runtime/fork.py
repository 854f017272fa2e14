"""Forked children: devices do not work there, and nothing hangs.

Drivers keep threads and locks that do not survive a fork. The child's objects are never freed: their destructors would
call the driver, and some would wait for it for ever. (A driver's own handlers at a process's end are out of reach: some
wait for work that was running at the fork. `os._exit`, with which children of multiprocessing end, skips them.)

What other threads keep for themselves would end before a child's handlers run: it is kept from before the fork.
"""

from __future__ import annotations

import ctypes
import gc
import os
from typing import Any

from portagpu.backends.registry import loaded
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import abandon_all
from portagpu.runtime.execution.event import Event
from portagpu.runtime.execution.weak_registry import of_threads
from portagpu.runtime.programs.launch import CompiledKernel
from portagpu.runtime.replay.host_calls import HostBuffers, HostCall
from portagpu.runtime.replay.replay import Replay

_OWNERS = (DeviceNDArray, Event, CompiledKernel, Replay, HostBuffers, HostCall)
_kept: list[list[Any]] = []  # during forks: several threads may be at one, and the first list has the oldest


def _leak(value: Any) -> None:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def _before() -> None:
    _kept.append(list(of_threads))


def _in_child() -> None:
    contexts = abandon_all()
    _leak([*contexts, *_kept])
    _kept.clear()
    if not contexts:
        return
    owners = (*_OWNERS, *(kind for backend in loaded() for kind in backend.leaked_types))
    frozen = gc.get_freeze_count() > 0
    gc.unfreeze()  # what a parent froze before it forked, as Python's manual advises, is not listed
    for value in gc.get_objects():
        if issubclass(type(value), owners):  # not isinstance: some objects run code to tell their class
            _leak(value)
    if frozen:
        gc.freeze()


def install() -> None:
    """From now on forked children refuse the contexts of their parent with a typed error."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before, after_in_parent=lambda: _kept.pop(0), after_in_child=_in_child)
