"""Memory of a card: what serves again, and what the driver gets back when. The driver is a stand-in."""

from __future__ import annotations

import gc

import pytest

from portagpu.backends.cuda import library
from portagpu.backends.cuda.library import CudaError
from portagpu.backends.cuda.memory import Heap, Memory, PageLocked, Part
from portagpu.backends.cuda.primary import Primary


class Library:
    """The driver's functions that memory needs, whose streams stand still as a test likes."""

    def __init__(self):
        self.next, self.freed, self.room = 2**30, [], 2**40
        self.codes = {}  # of streams and of events, by handle
        self.captured, self.waited = set(), 0
        self.made = 100

    def handle(self, name, *arguments):
        if name in ("EventCreate", "StreamCreate"):
            self.made += 1
            return self.made
        if name not in ("MemAlloc_v2", "MemHostAlloc"):
            return 1
        room = arguments[0]
        if room > self.room:
            raise CudaError(library.OUT_OF_MEMORY, name)
        self.room -= room
        self.next += room
        return self.next - room

    def number(self, name, *arguments):
        return 1

    def CtxSetCurrent(self, context):
        pass

    CtxPushCurrent_v2 = CtxPopCurrent_v2 = CtxSetCurrent

    def EventRecord(self, event, stream):
        self.codes[event] = self.codes.get(stream, 0)

    def raw(self, name):
        return getattr(self, name, lambda *arguments: 0)

    def cuStreamIsCapturing(self, stream, found):
        found._obj.value = stream in self.captured
        return 0

    def cuStreamQuery(self, handle):
        assert handle not in self.captured
        return self.codes.get(handle, 0)

    cuEventQuery = cuStreamQuery  # noqa: N815

    def cuMemFree_v2(self, what):
        self.waited += library.NOT_READY in self.codes.values()
        self.freed.append(what)
        self.room += 2**20

    cuMemFreeHost = cuMemFree_v2  # noqa: N815


class Stream:
    def __init__(self, handle, *, is_own=True, is_kept=True):
        self.handle, self.is_own, self.is_kept = handle, is_own, is_kept


@pytest.fixture
def card(monkeypatch):
    monkeypatch.setattr(library, "library", Library)
    return Primary(0)


def begin(card, stream):
    card.library.codes[stream] = library.NOT_READY


def end(card):
    for handle in card.library.codes:
        card.library.codes[handle] = 0


def test_blocks_serve_again(card):
    heap = Heap(card, 2**30)
    first = heap.allocate(1000)
    assert (first.size, first.room, heap.used_bytes, heap.held_blocks) == (1000, 1024, 1024, 0)
    place = first.address
    first.release()
    first.release()
    assert (heap.used_bytes, heap.held_blocks) == (0, 1)
    again = heap.allocate(1023)
    assert again.address == place and heap.held_blocks == 0
    del again
    heap.free_held()
    assert card.library.freed == [place] and heap.held_blocks == 0


def test_blocks_that_others_know_or_that_are_too_many_go_back(card):
    heap = Heap(card, 2**20)
    shared, large = heap.allocate(4096), heap.allocate(2**18)
    shared.exported = True
    places = [shared.address, large.address]
    shared.release()
    large.release()
    assert card.library.freed == places


@pytest.mark.parametrize("size", [512, 2**16, 2**16 + 1])
def test_some_small_blocks_are_kept_whatever_there_is(card, size):
    """Of a size 256, in a heap that may keep 64 KiB of the card's 512; of larger ones none."""
    heap = Heap(card, 2**19)
    blocks = [heap.allocate(size) for _ in range(300)]
    room = blocks[0].room
    del blocks
    kept = max(256, 2**16 // room) if size <= 2**16 else 0
    assert (heap.held_blocks, len(card.library.freed)) == (kept, 300 - kept)


@pytest.mark.parametrize("stream", [library.LEGACY_STREAM, 64])
def test_finalisers_leave_what_the_driver_would_wait_for(card, stream):
    heap, queue = Heap(card, 2**20), Stream(64)
    card.know(queue)
    exported, large, locked = heap.allocate(4096), heap.allocate(2**18), PageLocked(card, 100)
    exported.exported = True
    begin(card, stream)
    del exported, large, locked
    assert not card.library.freed and heap.used_bytes == 0
    heap.allocate(512)
    assert not card.library.freed
    end(card)
    heap.allocate(512)
    assert len(card.library.freed) == 3 and not card.library.waited


def test_blocks_of_streams_that_are_gone(card):
    heap, queue = Heap(card, 2**30), Stream(64)
    card.know(queue)
    begin(card, 64)
    del queue
    block = heap.allocate(512)
    place = block.address
    del block
    assert heap.allocate(512).address != place
    end(card)
    blocks = [heap.allocate(512), heap.allocate(512)]
    assert place in [block.address for block in blocks]


def test_what_is_left_serves_where_there_is_no_memory(card):
    heap = Heap(card, 2**30)
    block = heap.allocate(2**20)
    block.exported = True
    begin(card, library.LEGACY_STREAM)
    del block
    card.library.room = 2**19
    assert heap.allocate(2**20) and card.library.waited  # which is no finaliser


def test_memory_of_a_heap_that_is_gone(card):
    heap = Heap(card, 2**30)
    heap.allocate(512).release()
    del heap
    gc.collect()
    assert len(card.library.freed) == 1


def test_memory_of_graphs_that_others_capture_stays(card):
    """Its kernels run whenever the graph does. What was made before is its user's."""
    heap, queue = Heap(card, 2**30), Stream(64, is_own=False)
    card.know(queue)
    before = heap.allocate(512)
    card.library.captured.add(64)
    inside = heap.allocate(512)
    places = before.address, inside.address
    del before, inside
    assert heap.held_blocks == 1
    heap.free_held()
    assert not card.library.freed
    card.library.captured.clear()
    heap.allocate(512)
    assert card.library.freed == [places[0]] and heap.used_bytes == 512


def test_parts_of_memory():
    whole = Memory(4096, 100)
    part = Part(Part(whole, 16, 50), 8, 20)
    assert (part.address, part.size) == (4120, 20) and part.whole is whole


def test_streams_of_queues_that_are_gone_serve_again(card):
    """Not before their work is done."""
    first = Stream(card.take_stream())
    handle = first.handle
    card.know(first)
    begin(card, handle)
    del first
    assert card.take_stream() != handle
    end(card)
    assert card.take_stream() == handle and card.take_stream() != handle


def test_nobody_asks_streams_that_may_be_gone(card):
    """What they may use, nobody is given."""
    heap, queue = Heap(card, 2**30), Stream(64, is_own=False, is_kept=False)
    card.know(queue)
    card.library.captured.add(64)  # it would tell
    place = heap.allocate(512).address
    assert card.library.freed == [place] and heap.held_blocks == 0
