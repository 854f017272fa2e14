"""A pool of host memory for NumPy results.

The system clears and maps new memory page by page, at the first touch; for a product of 512 x 512 that takes as long as
half the product. So results get memory that earlier ones, which nobody refers to any more, have left.
"""

from __future__ import annotations

import math
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from portagpu.errors import OutOfMemoryError

Array = np.ndarray[Any, Any]

_SMALLEST = 2**16  # bytes: the C library keeps smaller ones itself
_KEPT_BYTES = 2**27  # at most, of memory that is not in use
_OWN_REFERENCES = 3  # to a room's memory: the room's, the dying owner's, and the one that is looked at
_ALIGNMENT = 128  # bytes, what `portagpu.runtime.arrays.host_memory` rounds to


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
            with out_of_memory(shape, dtype):
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
            with out_of_memory(shape, dtype):
                room = _Room(nbytes)
        block = _Block(shape, dtype, room.memory, room.offset)
        array = block.view(np.ndarray)
        if array.base is block:  # else a NumPy that passes over it, and the memory serves this array alone
            block.give_back = partial(self.give_back, room)
        return array, room.first

    @property
    def held_bytes(self) -> int:
        """Bytes that are kept for arrays to come."""
        # the sizes first, which makes no objects in between: the garbage collector may call `give_back` at any time
        return sum(nbytes * len(self._free.get(nbytes, ())) for nbytes in list(self._free))

    def clear(self) -> None:
        """Give back what no array uses."""
        self._free.clear()

    def give_back(
        self,
        room: _Room,
        new: Callable[[], deque[_Room]] = deque,
        references: Callable[[Any], int] = sys.getrefcount,
        own: int = _OWN_REFERENCES,
    ) -> None:
        """Keep memory of an array that died; of what is too much, that of sizes that were used the longest ago goes.

        ``new`` and so on: the names of this module are gone when the interpreter's end takes the last arrays.
        """
        if references(room.memory) > own:  # somebody found it as the base of a view's base
            return
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
def out_of_memory(shape: tuple[int, ...], dtype: np.dtype[Any], what: str = "a result") -> Iterator[None]:
    """Around what makes a NumPy array of this size: `OutOfMemoryError` where the host has no memory for it."""
    try:
        yield
    except (MemoryError, ValueError) as error:  # the latter for what no address space holds
        raise OutOfMemoryError(
            f"the host has no memory for {what} of shape {shape}, {dtype}: {math.prod(shape) * dtype.itemsize} bytes",
            hint="free arrays, multiply some rows at a time, or give out= an array of yours",
        ) from error


class _Memory(np.ndarray[Any, Any]):
    """Not initialised. Of its own type, as `_Block` says."""


class _Room:
    """Memory for arrays of a size; ``first`` is where they begin."""

    __slots__ = ("first", "memory", "nbytes", "offset")

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.memory = _Memory(nbytes + 2 * _ALIGNMENT, np.uint8)  # one before the array, one after it
        begin = int(self.memory.__array_interface__["data"][0])
        self.first = -(-begin // _ALIGNMENT) * _ALIGNMENT
        self.offset = self.first - begin


class _Block(np.ndarray[Any, Any]):
    """What owns an array's memory. An array, since NumPy lets nobody set ``writeable`` again of other owners' memory.

    NumPy passes over an owner whose own owner is of the array's type, so that this one's is of another
    (``PyArray_SetBaseObject``).
    """

    __slots__ = ("give_back",)

    give_back: Callable[[], None]

    def __del__(self) -> None:
        give_back = getattr(self, "give_back", None)
        if give_back is not None:  # else a view that somebody made of the owner
            give_back()


results = HostPool()
"""For all devices: NumPy arrays do not belong to one."""

__all__ = ["HostPool", "out_of_memory", "results"]
