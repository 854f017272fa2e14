"""Memory of NumPy results, used again for later ones.

The system clears and maps new memory page by page, at the first touch; for a product of 512 x 512 that takes as long as
half the product. So results get memory that earlier ones, which nobody refers to any more, have left.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.errors import OutOfMemoryError

Array = np.ndarray[Any, Any]

_SMALLEST = 2**16  # bytes: the C library keeps smaller ones itself
_KEPT_BYTES = 2**27  # at most, of memory that is not in use
_ALIGNMENT = 128  # bytes


class HostPool:
    """Memory for NumPy arrays: what an array leaves behind serves the next one of as many bytes.

    No lock: arrays die at any time, in any thread, also while another one is made. Each step is atomic by itself, and
    what a race may lose is memory that could have been used again.
    """

    def __init__(self, kept_bytes: int = _KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._free: OrderedDict[int, deque[Array]] = OrderedDict()  # by size, the one that was used last at the end

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An uninitialised array in C order, whose memory comes back when nobody refers to it any more.

        Raises `OutOfMemoryError` where the host has not so much memory.
        """
        nbytes = dtype.itemsize
        for extent in shape:
            nbytes *= extent
        try:
            if nbytes < _SMALLEST or nbytes > self._kept_bytes or dtype.kind not in "fciu":
                return np.empty(shape, dtype)
            memory = self._taken(nbytes)
            if memory is None:
                memory = np.empty(nbytes + _ALIGNMENT, np.uint8)
        except (MemoryError, ValueError) as error:  # the latter for what no address space holds
            raise OutOfMemoryError(
                f"the host has no memory for a result of shape {shape}, {dtype}: {nbytes} bytes",
                hint="free arrays, work in smaller pieces, or give out= an array of yours",
            ) from error
        return np.asarray(_Block(self, nbytes, memory, shape, dtype))

    @property
    def held_bytes(self) -> int:
        """Bytes that are kept for arrays to come."""
        # the sizes first, which makes no objects in between: the garbage collector may call `give_back` at any time
        return sum(nbytes * len(self._free.get(nbytes, ())) for nbytes in list(self._free))

    def clear(self) -> None:
        """Give back what no array uses."""
        self._free.clear()

    def _taken(self, nbytes: int) -> Array | None:
        free = self._free.get(nbytes)
        try:
            return None if free is None else free.pop()
        except IndexError:
            return None

    def give_back(self, nbytes: int, memory: Array, new: Callable[[], deque[Array]] = deque) -> None:
        """Keep memory of an array that died; of what is too much, that of sizes that were used the longest ago goes.

        ``new``: the names of this module are gone when the interpreter's end takes the last arrays.
        """
        self._free.setdefault(nbytes, new()).append(memory)
        try:
            self._free.move_to_end(nbytes)
            while self.held_bytes > self._kept_bytes:
                size = next(iter(self._free))
                self._free[size].popleft()
                if not self._free[size]:
                    del self._free[size]
        except (KeyError, IndexError, StopIteration, RuntimeError):  # others took or cleared it meanwhile
            pass


class _Block:
    """What owns an array's memory, as `numpy.asarray` sees it."""

    __slots__ = ("__array_interface__", "_memory", "_nbytes", "_pool")

    def __init__(
        self, pool: HostPool, nbytes: int, memory: Array, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self._pool, self._nbytes, self._memory = pool, nbytes, memory
        address = memory.__array_interface__["data"][0]
        first = -(-address // _ALIGNMENT) * _ALIGNMENT
        self.__array_interface__ = {"data": (first, False), "shape": shape, "typestr": dtype.str, "version": 3}

    def __del__(self) -> None:
        self._pool.give_back(self._nbytes, self._memory)


results = HostPool()
"""For all devices: NumPy arrays do not belong to one."""

__all__ = ["HostPool", "results"]
