"""Memory of a device for arrays: what arrays leave serves the next ones, or goes back once no queue uses it.

The library may not be given memory back that a queued command still uses, and to wait for the queues each time would be
slow. So what is let go is put aside, and every now and then a marker goes behind all queues; what was put aside before
goes back once the markers are passed.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable

from portagpu.backends.sycl.handles import Event, Queue
from portagpu.backends.sycl.library import SyclError
from portagpu.backends.sycl.memory import Memory

_LEAST = 16  # bytes
_MOST_ASIDE = 64  # blocks that are put aside before markers are set
_MOST_BYTES_ASIDE = 64 * 1024 * 1024
_STEPS = 3  # blocks of the pool are powers of two, and 2**_STEPS - 1 sizes between two of them


class Aside:
    """Memory that was let go, until no queue uses it. Finalisers call it in the middle of anything."""

    def __init__(self, free: Callable[[int], None], queues: Callable[[], Iterable[Queue]]) -> None:
        self._free, self._queues = free, queues
        self._blocks: list[tuple[int, int]] = []
        self._batches: deque[tuple[list[Event], list[tuple[int, int]]]] = deque()

    def put(self, address: int, nbytes: int) -> None:
        """Give a block back later."""
        self._blocks.append((address, nbytes))
        if len(self._blocks) >= _MOST_ASIDE or sum(size for _, size in self._blocks) >= _MOST_BYTES_ASIDE:
            self.sweep()

    def sweep(self) -> None:
        """Set markers behind what was put aside, and give back what is behind passed ones."""
        blocks = self._taken()
        if blocks:
            ends = []
            for queue in self._queues():
                with contextlib.suppress(SyclError):  # a queue that failed runs nothing any more
                    ends.append(queue.barrier(()))
            self._batches.append((ends, blocks))
        while self._batches:
            try:
                ends, blocks = self._batches.popleft()
            except IndexError:  # a finaliser was here
                return
            if not all(map(_is_over, ends)):
                self._batches.appendleft((ends, blocks))
                return
            self._give(blocks)

    def _taken(self) -> list[tuple[int, int]]:
        """What was put aside. Nobody else gets it, neither a thread nor a finaliser that runs in the middle of this."""
        taken = []
        with contextlib.suppress(IndexError):
            while True:
                taken.append(self._blocks.pop())
        return taken[::-1]

    def drain(self) -> None:
        """Wait for the queues and give everything back."""
        self.sweep()
        while self._batches:
            try:
                ends, blocks = self._batches.popleft()
            except IndexError:
                return
            for end in ends:
                with contextlib.suppress(SyclError):
                    end.wait()
            self._give(blocks)

    def _give(self, blocks: list[tuple[int, int]]) -> None:
        for address, _ in blocks:
            self._free(address)


def _is_over(event: Event) -> bool:
    try:
        return event.is_done
    except SyclError:
        return True


class Pool:
    """A context's memory for arrays; see `portagpu.backends.handles.Allocator`."""

    def __init__(self, allocate: Callable[[int], int], aside: Aside) -> None:
        self._allocate, self._aside = allocate, aside
        self._held: dict[int, list[int]] = {}
        self._holds = True
        self._used = 0

    @property
    def held_blocks(self) -> int:
        """Blocks that are kept for later arrays."""
        return sum(map(len, list(self._held.values())))

    @property
    def used_bytes(self) -> int:
        """Bytes of what is in use."""
        return self._used

    def allocate(self, nbytes: int) -> Memory:
        """Memory that goes back to the pool."""
        size = block_size(nbytes)
        try:
            address = self._held[size].pop()
        except (KeyError, IndexError):
            address = self._new(size)
        self._used += size
        return Memory(address, nbytes or _LEAST, give_back=lambda address, _: self._take(address, size))

    def allocate_apart(self, nbytes: int) -> Memory:
        """Memory that goes back to the library, once all queues are done with it."""
        size = max(nbytes, _LEAST)
        address = self._new(size)
        self._used += size
        return Memory(address, size, give_back=self._put_aside)

    def stop_holding(self) -> None:
        """From now on what comes back goes to the library."""
        self._holds = False
        self.free_held()

    def keep_apart(self, on: bool) -> None:
        """Nothing: what is put aside waits for nothing."""

    def free_held(self) -> None:
        """Give what is kept to the library."""
        held, self._held = self._held, {}
        for size, addresses in held.items():
            for address in addresses:
                self._aside.put(address, size)
        self._aside.sweep()

    def _new(self, size: int) -> int:
        try:
            return self._allocate(size)
        except SyclError as error:
            if error.code != SyclError.MEMORY:
                raise
        self.free_held()
        self._aside.drain()
        return self._allocate(size)

    def _take(self, address: int, size: int) -> None:
        self._used -= size
        if self._holds:
            self._held.setdefault(size, []).append(address)
        else:
            self._aside.put(address, size)

    def _put_aside(self, address: int, size: int) -> None:
        self._used -= size
        self._aside.put(address, size)


def block_size(nbytes: int) -> int:
    """Bytes of the block that an array gets: one of few sizes, at most an eighth larger than it needs to be."""
    wanted = max(nbytes, _LEAST)
    step = max(_LEAST, 1 << max(0, wanted.bit_length() - 1 - _STEPS))
    return -(-wanted // step) * step
