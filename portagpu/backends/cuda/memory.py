"""Memory of a card: addresses. Arrays' memory comes from a heap, which gives what was released to later arrays.

Memory that was released may still be in use by what queues were given. What uses it next comes after what is in the
default stream; while another stream works, it goes to nobody before all of them have done what they have by then. The
driver gets memory back while no stream works: it would wait, and finalisers must not.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu.backends.cuda import library as cu
from portagpu.backends.cuda.handles import Mark
from portagpu.backends.cuda.library import CudaError
from portagpu.backends.cuda.primary import Primary
from portagpu.backends.handles import HostBytes

_UNIT = 512  # bytes: what allocations are multiples of, so that they are aligned as CUDA's are
_STEPS = 8  # sizes of blocks between two powers of two
_MOST_ALIKE = 4  # blocks of one size that streams still use: one more would hardly let the host run further ahead
_ALIKE_SHARE = 8  # of what is kept at most: of less, new memory does not hurt
_SMALL, _MOST_SMALL = 64 << 10, 256  # bytes of a block, and such blocks of one size that are kept unasked
_HELD_SHARE = 8  # of the card's memory: what is kept for later arrays at most, but for small blocks


class Memory:
    """Bytes from an address on. ``owner``: what keeps them, where another library does."""

    __slots__ = ("__weakref__", "address", "owner", "size")

    def __init__(self, address: int, size: int, owner: Any = None) -> None:
        self.address, self.size, self.owner = address, size, owner

    @property
    def whole(self) -> Memory:
        """The memory that this is a part of, or itself."""
        return self

    def release(self) -> None:
        """Let go of what keeps the memory."""
        self.owner = None


class Part(Memory):
    """A part of memory, which it keeps."""

    __slots__ = ("_whole",)

    def __init__(self, memory: Memory, offset: int, size: int) -> None:
        super().__init__(memory.address + offset, size)
        self._whole = memory.whole

    @property
    def whole(self) -> Memory:
        """The memory that this is a part of."""
        return self._whole


class Block(Memory):
    """Memory of a heap. ``exported``: another library has its address, and may use it in streams that nobody knows;
    ``recorded``: it was made while another library captured a stream, and belongs to the graph, which may run again."""

    __slots__ = ("_heap", "exported", "recorded", "room")

    def __init__(self, heap: Heap, address: int, size: int, room: int) -> None:
        self.address, self.size, self.owner = address, size, None  # of `Memory`: each array's memory is made here
        self._heap: Heap | None = heap
        self.room, self.exported, self.recorded = room, False, False

    def release(self) -> None:
        """Give the memory back to the heap."""
        heap, self._heap = self._heap, None
        self.owner = None
        if heap is not None:
            heap.give(self)

    def __del__(self) -> None:
        heap = getattr(self, "_heap", None)
        if heap is not None:
            heap.give(self)


class Heap:
    """Blocks of a card's memory. Finalisers use it in the middle of anything: no step needs another one to be whole."""

    def __init__(self, primary: Primary, total: int) -> None:
        """``total``: bytes of the card."""
        self._primary = primary
        self._most_held = total // _HELD_SHARE
        self._free: dict[int, list[int]] = {}  # addresses by the size of their block
        self._waiting: deque[tuple[list[Mark], int, int]] = deque()  # events, address, size
        self._used: dict[int, int] = {}  # bytes by address

    @property
    def held_blocks(self) -> int:
        """Blocks that are kept for later arrays."""
        return sum(map(len, list(self._free.values()))) + len(self._waiting)

    @property
    def used_bytes(self) -> int:
        """Bytes of what is in use."""
        return sum(list(self._used.values()))

    def allocate(self, nbytes: int) -> Block:
        """A block. Raises `CudaError` where there is no memory."""
        room = _room(nbytes)
        primary = self._primary
        if primary.has_left:
            primary.settle()
        if self._waiting:
            self._settle()
        free = self._free.get(room)
        try:
            address = free.pop() if free else 0
        except IndexError:  # a finaliser was faster
            address = 0
        if not address:
            address = self._awaited(room) or self._new(room)
        self._used[address] = room
        block = Block(self, address, nbytes or 1, room)
        if not primary.is_simple:
            block.recorded = primary.captures()
        return block

    allocate_apart = allocate

    def stop_holding(self) -> None:
        """Nothing: the heap knows the queues, and waits for all."""

    def keep_apart(self, on: bool) -> None:
        """Nothing: giving a block back waits for nothing."""

    def free_held(self) -> None:
        """Give what is kept to the driver, once no stream has work."""
        self._settle()
        for room, addresses in list(self._free.items()):
            while addresses:
                try:
                    address = addresses.pop()
                except IndexError:  # a finaliser was faster
                    break
                self._primary.leave("MemFree_v2", address, room)

    def give(self, block: Block) -> None:
        """Take a block back. For finalisers: raises nothing, waits for nothing."""
        primary = self._primary
        if primary.is_over or block.recorded:
            return
        room, address = block.room, block.address
        self._used.pop(address, None)
        is_simple = primary.is_simple
        is_shared = block.exported or (not is_simple and primary.has_unkept)
        free = self._free.get(room, ())
        # of small ones a few are always kept
        if is_shared or ((room > _SMALL or len(free) >= _MOST_SMALL) and self._is_enough(room)):
            primary.leave("MemFree_v2", address, room)
            return
        try:
            ends = [] if is_simple else [Mark(primary, stream) for stream in primary.working()]
        except CudaError:
            return  # the context is lost, and the memory with it
        if ends:
            self._waiting.append((ends, address, room))
        else:
            self._free.setdefault(room, []).append(address)

    def _is_enough(self, room: int) -> bool:
        """Whether with another block of a size more would be kept than shall be."""
        return self._held_bytes() + room > self._most_held

    def __del__(self) -> None:
        for room, addresses in self._free.items():
            for address in addresses:
                self._primary.leave("MemFree_v2", address, room)
        for _, address, room in self._waiting:
            self._primary.leave("MemFree_v2", address, room)

    def _held_bytes(self) -> int:
        free = sum(room * len(addresses) for room, addresses in list(self._free.items()))
        return free + sum(room for _, _, room in list(self._waiting))

    def _settle(self) -> None:
        """Blocks that no queue uses any more become free."""
        while self._waiting:
            try:
                ends, address, room = self._waiting.popleft()
            except IndexError:
                return
            if any(end.code() == cu.NOT_READY for end in ends):
                self._waiting.appendleft((ends, address, room))
                return
            self._free.setdefault(room, []).append(address)

    def _awaited(self, room: int) -> int:
        """A block of that size whose users are waited for, where several are about to be free; 0 else."""
        alike = [place for place in list(self._waiting) if place[2] == room]
        if len(alike) < _MOST_ALIKE or len(alike) * room < self._most_held // _ALIKE_SHARE:
            return 0
        for end in alike[0][0]:
            end.wait()
        try:
            self._waiting.remove(alike[0])
        except ValueError:  # a finaliser was faster
            return 0
        return alike[0][1]

    def _new(self, room: int) -> int:
        try:
            return self._primary.memory("MemAlloc_v2", room)
        except CudaError as error:
            if error.code != cu.OUT_OF_MEMORY:
                raise
        for ends, _, _ in list(self._waiting):
            for end in ends:
                end.wait()
        self.free_held()
        return self._primary.memory("MemAlloc_v2", room)


@lru_cache(4096)
def _room(nbytes: int) -> int:
    """The size of a block for so many bytes: at most an eighth more than asked for."""
    step = max(_UNIT, (1 << max(nbytes - 1, 0).bit_length()) // 2 // _STEPS)
    return -(-max(nbytes, 1) // step) * step


class PageLocked:
    """Page-locked memory of the host, as an array's base."""

    def __init__(self, primary: Primary, nbytes: int) -> None:
        self._primary, self._size = primary, max(nbytes, 1)
        self._address = primary.memory("MemHostAlloc", self._size, 0)
        self.__array_interface__ = {
            "shape": (self._size,),
            "typestr": "|u1",
            "data": (self._address, False),
            "version": 3,
        }

    def __del__(self) -> None:
        if hasattr(self, "_address"):
            self._primary.leave("MemFreeHost", self._address, self._size)

    def array(self) -> HostBytes:
        """The memory as bytes, which keep it."""
        found: HostBytes = np.asarray(self)
        return found


def address_of(host: HostBytes) -> int:
    """Where host memory begins."""
    return int(host.__array_interface__["data"][0])
