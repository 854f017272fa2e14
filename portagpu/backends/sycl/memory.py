"""Memory that kernels take as addresses, and parts of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.backends.handles import HostBytes

_is_finalizing = sys.is_finalizing


class Memory:
    """``size`` bytes at an address, which go back by ``give_back(address, size)`` when nobody has them, if it is given.

    ``whole`` is the memory that it is a part of; ``owner`` is kept until it is released.
    """

    __slots__ = ("__weakref__", "_give_back", "address", "owner", "size", "whole")

    def __init__(
        self,
        address: int,
        size: int,
        *,
        give_back: Callable[[int, int], None] | None = None,
        whole: Memory | None = None,
        owner: Any = None,
    ) -> None:
        self.address, self.size, self._give_back = address, size, give_back
        self.whole, self.owner = whole, owner

    def release(self) -> None:
        """Give the memory back now; a part gives nothing back."""
        give_back, self._give_back, self.owner = self._give_back, None, None
        if give_back is not None:
            give_back(self.address, self.size)

    def __del__(self, ending: Any = _is_finalizing) -> None:
        if self._give_back is not None and not ending():
            self.release()

    def part(self, offset: int, nbytes: int) -> Memory:
        """A part, which keeps the whole."""
        return Memory(self.address + offset, nbytes, whole=self.whole or self)

    def bytes(self) -> HostBytes:
        """As an array of the host's, which keeps the memory. Only for memory that the host reaches."""
        return np.asarray(_HostBlock(self))


class _HostBlock:
    """What owns the elements of an array of the host's."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.__array_interface__ = {
            "shape": (memory.size,),
            "typestr": "|u1",
            "data": (memory.address, False),
            "version": 3,
        }


class PageLocked(_HostBlock):
    """The owner of an array's page-locked memory."""


class LocalMemory:
    """The argument that stands for so many bytes of dynamic shared memory."""

    __slots__ = ("nbytes",)

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


def address_of(host: HostBytes) -> int:
    """Where a host array's elements begin."""
    return int(host.__array_interface__["data"][0])
