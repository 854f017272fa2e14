"""Memory of NumPy results, used again for later ones.

The system clears and maps new memory page by page, at the first touch; for a product of 512 x 512 that takes as long as
half the product. So results get memory that earlier ones, which nobody refers to any more, have left.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from portagpu.errors import OutOfMemoryError

Array = np.ndarray[Any, Any]

_SMALLEST = 2**16  # bytes: the C library keeps smaller ones itself
_KEPT_BYTES = 2**27  # at most, of memory that is not in use
_ALIGNMENT = 128  # bytes, what `portagpu.runtime.hostmem` rounds to


class HostPool:
    """Memory for NumPy arrays: what an array leaves behind serves the next one of as many bytes.

    No lock: arrays die at any time, in any thread, also while another one is made. Each step is atomic by itself, and
    what a race may lose is memory that could have been used again.
    """

    def __init__(self, kept_bytes: int = _KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._free: OrderedDict[int, deque[_Room]] = OrderedDict()  # by size, the one that was used last at the end
        self._at_most = 0  # bytes that are kept, about: threads may lose each other's additions

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An uninitialised array in C order, whose memory comes back when nobody refers to it any more.

        Raises `OutOfMemoryError` where the host has not so much memory.
        """
        nbytes = dtype.itemsize
        for extent in shape:
            nbytes *= extent
        if nbytes < _SMALLEST or nbytes > self._kept_bytes or dtype.kind not in "fciu":
            with _out_of_memory(shape, dtype, nbytes):
                return np.empty(shape, dtype)
        return self.placed(shape, dtype, nbytes)[0]

    def placed(self, shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int) -> tuple[Array, int]:
        """`empty` for at least one number, even if it is small, and where the array begins.

        That is at a multiple of 128 bytes, and up to the next multiple after its end nobody else has memory. Raises
        `OutOfMemoryError`.
        """
        free = self._free.get(nbytes)
        try:
            room = None if free is None else free.pop()
        except IndexError:
            room = None
        if room is None:
            with _out_of_memory(shape, dtype, nbytes):
                room = _Room(nbytes)
        return np.asarray(_Block(self, room, shape, dtype)), room.first

    @property
    def held_bytes(self) -> int:
        """Bytes that are kept for arrays to come."""
        # the sizes first, which makes no objects in between: the garbage collector may call `give_back` at any time
        return sum(nbytes * len(self._free.get(nbytes, ())) for nbytes in list(self._free))

    def clear(self) -> None:
        """Give back what no array uses."""
        self._free.clear()

    def give_back(self, room: _Room, new: Callable[[], deque[_Room]] = deque) -> None:
        """Keep memory of an array that died; of what is too much, that of sizes that were used the longest ago goes.

        ``new``: the names of this module are gone when the interpreter's end takes the last arrays.
        """
        nbytes = room.nbytes
        free = self._free.get(nbytes)
        if free is None:
            free = self._free.setdefault(nbytes, new())
        free.append(room)
        try:
            self._free.move_to_end(nbytes)
            self._at_most += nbytes
            if self._at_most > self._kept_bytes:  # else it cannot be too much, whatever was taken since
                self._shrink()
        except (KeyError, IndexError, StopIteration, RuntimeError):  # others took or cleared it meanwhile
            pass

    def _shrink(self) -> None:
        while (held := self.held_bytes) > self._kept_bytes:
            size = next(iter(self._free))
            if self._free[size]:
                self._free[size].popleft()
            if not self._free[size]:  # perhaps since arrays of this size are in use
                del self._free[size]
        self._at_most = held


@contextmanager
def _out_of_memory(shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int) -> Iterator[None]:
    try:
        yield
    except (MemoryError, ValueError) as error:  # the latter for what no address space holds
        raise OutOfMemoryError(
            f"the host has no memory for a result of shape {shape}, {dtype}: {nbytes} bytes",
            hint="free arrays, multiply some rows at a time, or give out= an array of yours",
        ) from error


class _Room:
    """Memory for arrays of a size; ``first`` is where they begin."""

    __slots__ = ("first", "memory", "nbytes")

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.memory = np.empty(nbytes + 2 * _ALIGNMENT, np.uint8)  # one before the array, one after it
        self.first = -(-int(self.memory.__array_interface__["data"][0]) // _ALIGNMENT) * _ALIGNMENT


class _Block:
    """What owns an array's memory, as `numpy.asarray` sees it."""

    __slots__ = ("__array_interface__", "_pool", "_room")

    def __init__(self, pool: HostPool, room: _Room, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._pool, self._room = pool, room
        self.__array_interface__ = {"data": (room.first, False), "shape": shape, "typestr": dtype.str, "version": 3}

    def __del__(self) -> None:
        self._pool.give_back(self._room)


results = HostPool()
"""For all devices: NumPy arrays do not belong to one."""

__all__ = ["HostPool", "results"]
