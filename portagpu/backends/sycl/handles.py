"""Objects of the SYCL run time that Python keeps: each owns one of the library's.

They are given back when Python drops them, but not while the interpreter ends: what the library still uses then goes
with the process.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Sequence
from typing import Any

from portagpu.backends.sycl.library import Library

_is_finalizing = sys.is_finalizing


class Handle:
    """An object of the library's at an address."""

    __slots__ = ("__weakref__", "address", "library")
    drop = ""  # the function that gives it back

    def __init__(self, library: Library, address: int) -> None:
        self.library = library
        self.address = address

    def __del__(self, ending: Any = _is_finalizing) -> None:
        if not ending() and hasattr(self, "address"):  # else there is none: making it failed
            address, self.address = self.address, 0  # first: weak references still lead here while the library works
            getattr(self.library, self.drop)(address)


class Device(Handle):
    """A device."""

    __slots__ = ()
    drop = "pg_drop_device"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and hash(self) == hash(other)

    def __hash__(self) -> int:
        return int(self.library.pg_hash_device(self.address))


class SyclContext(Handle):
    """A context."""

    __slots__ = ()
    drop = "pg_drop_context"

    @property
    def key(self) -> int:
        """Equal for copies of one context, also with other users of the library."""
        return int(self.library.pg_hash_context(self.address))


class Event(Handle):
    """A command that can be waited for."""

    __slots__ = ("profiling",)
    drop = "pg_drop_event"

    def __init__(self, library: Library, address: int, *, profiling: bool = False) -> None:
        super().__init__(library, address)
        self.profiling = profiling

    def wait(self) -> None:
        """Wait until the command is done. Raises `SyclError` where it failed."""
        self.library.check(self.library.pg_wait(self.address))

    @property
    def is_done(self) -> bool:
        """Whether the command is done. Raises `SyclError` where it failed."""
        return bool(self.library.check(self.library.pg_is_done(self.address)))


class Queue(Handle):
    """An in-order queue."""

    __slots__ = ("context", "key", "profiling", "wrapped")
    drop = "pg_drop_queue"

    def __init__(self, library: Library, address: int, context: SyclContext) -> None:
        super().__init__(library, address)
        self.context = context
        self.key = int(library.pg_hash_queue(address))
        self.profiling = bool(library.pg_measures(address))
        self.wrapped: Any = None  # the stream around it, which whoever makes streams notes here
        number = id(self)
        _queues[number] = weakref.ref(self, lambda _: _queues.pop(number, None))

    def flush(self) -> None:
        """Nothing: the library hands commands to the driver at once."""

    def finish(self) -> None:
        """Wait for everything so far. Raises `SyclError` where a command failed."""
        library = self.library
        if library.pg_finish(self.address):
            raise library.failure()

    def barrier(self, ends: Sequence[Event]) -> Event:
        """Let what comes next wait for events; the event of that."""
        out = ctypes.c_void_p()
        self.library.check(self.library.pg_barrier(self.address, *addresses(ends), ctypes.byref(out)))
        return Event(self.library, out.value or 0, profiling=self.profiling)

    def launch(self, kernel: Any, sizes: Any) -> Event:
        """Enqueue a kernel object with the arguments that it has, and give the event."""
        out = ctypes.c_void_p()
        extents = sizes.ndim, sizes.global_address, sizes.local_address
        self.library.check(
            self.library.pg_launch_behind(self.address, kernel.address, *extents, None, 0, ctypes.byref(out))
        )
        return Event(self.library, out.value or 0, profiling=self.profiling)

    def copy(self, target: int, source: int, nbytes: int) -> Event:
        """Enqueue a copy of bytes between two addresses, and give the event."""
        out = ctypes.c_void_p()
        self.library.check(self.library.pg_copy(self.address, target, source, nbytes, None, 0, ctypes.byref(out)))
        return Event(self.library, out.value or 0, profiling=self.profiling)

    def fill(self, target: int, byte: int, nbytes: int) -> Event:
        """Enqueue setting bytes, and give the event."""
        out = ctypes.c_void_p()
        self.library.check(self.library.pg_fill(self.address, target, byte, nbytes, None, 0, ctypes.byref(out)))
        return Event(self.library, out.value or 0, profiling=self.profiling)


_queues: dict[int, weakref.ref[Queue]] = {}  # by the objects' ids: several may be of one queue


def known_queue(key: int) -> Queue | None:
    """A living queue of a number; None where there is none."""
    return next((queue for queue in _living() if queue.key == key), None)


def queues_of(context: int) -> list[Queue]:
    """The living queues of a context, by its key: ours and those of others that we have seen."""
    return [queue for queue in _living() if queue.context.key == context]


def _living() -> list[Queue]:
    queues = [reference() for reference in list(_queues.values())]
    return [queue for queue in queues if queue is not None and queue.address]  # not those that are being dropped


def addresses(ends: Sequence[Event]) -> tuple[Any, int]:
    """An array of the events' addresses, for C, and how many they are."""
    if not ends:
        return None, 0
    return (ctypes.c_void_p * len(ends))(*[end.address for end in ends]), len(ends)
