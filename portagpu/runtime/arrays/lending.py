"""Memory of the host that a call lends to the launches in it, on devices whose memory is the host's.

An operator of another library gets arrays of that library's, and its function passes them on to kernels. What is known
of each, its address above all, is worked out once: the same memory comes again and again. Device arrays of it are kept
by how they lie; they keep no memory alive, and are only used while the call holds it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from portagpu.device.capabilities import Capabilities
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.dlpack import shares_with_host
from portagpu.runtime.arrays.host_memory import borrowed_memory
from portagpu.runtime.execution.context import Context, context_of
from portagpu.runtime.execution.recorder import active

_MOST = 512  # device arrays that a context keeps
_NONE: Mapping[int, DeviceNDArray] = MappingProxyType({})

Lie = tuple[int, tuple[int, ...], tuple[int, ...], np.dtype[Any]]
"""How an array lies: address, shape, strides in bytes, dtype."""


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.scope: Lending | None = None


_local = _OfThread()


def can_lend(caps: Capabilities) -> bool:
    """Whether a device takes lent memory."""
    return shares_with_host(caps)


def lent(context: Context, lie: Lie, *, readonly: bool = False) -> DeviceNDArray | None:
    """A device array of memory that lies like this, for a context that `can_lend`; None where elements do not start
    where their type wants them. All strides, at least one element.
    """
    if active.recorder is not None:
        active.recorder.uses_host()  # a graph would launch on memory that is gone
    known = context.lent
    key = (lie, readonly)
    found: DeviceNDArray | None = known.get(key)
    if found is None:
        found = borrowed_memory(context, *lie, readonly=readonly)
        if found is None:
            return None
        if len(known) >= _MOST:
            known.clear()
        known[key] = found
    return found


class Lending:
    """While it is entered, launches of this thread in a context take device arrays for others: by ``id`` of these."""

    __slots__ = ("_arrays", "_before", "_context")

    def __init__(self, context: Context, arrays: Mapping[int, DeviceNDArray]) -> None:
        self._context, self._arrays = context, arrays
        self._before: Lending | None = None

    def __enter__(self) -> None:
        self._before, _local.scope = _local.scope, self

    def __exit__(self, *error: object) -> None:
        _local.scope = self._before

    def arrays(self, stream: Any) -> Mapping[int, DeviceNDArray]:
        """The device arrays, for a launch on a stream."""
        return self._arrays if context_of(stream) is self._context else _NONE


def lent_now(stream: Any) -> Mapping[int, DeviceNDArray]:
    """What a launch of this thread, on a stream or without one, takes for other arrays."""
    scope = _local.scope
    return _NONE if scope is None else scope.arrays(stream)


__all__ = ["Lending", "Lie", "can_lend", "lent", "lent_now"]
