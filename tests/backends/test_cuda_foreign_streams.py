"""Numbers that are no stream's handle, with a driver that keeps streams in NumPy's memory, and with a card."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import cards
import numpy as np
import pytest

from portagpu import cuda
from portagpu.backends.cuda import library as cu
from portagpu.backends.cuda import primary as of_primary
from portagpu.backends.cuda.foreign_streams import context_paths
from portagpu.backends.process_memory import words_at
from portagpu.errors import ArgumentTypeError

CONTEXT, OTHER = 0x7F00_1234_5000, 0x7F00_1234_6000
WILD = (3, 7, 8, 0x12345678, 0x1234567F, 2**47 - 8, 2**63, 2**64 - 8)

readable = pytest.mark.skipif(sys.platform != "linux", reason="memory is read through a file of Linux's")


class Driver:
    """The functions that streams of other libraries need; a stream is an array that leads to its context."""

    def __init__(self, path=(5,)):
        self.path, self.alive, self.asked = path, [], []

    def stream(self, context=CONTEXT):
        address = context
        for offset in reversed(self.path):
            words = np.full(300, 17, np.uint64)
            words[offset] = address
            self.alive.append(words)
            address = words.ctypes.data
        if not self.path:
            self.alive.append(words := np.full(300, 17, np.uint64))
            address = words.ctypes.data
        return address

    def handle(self, name, *arguments):
        if name == "StreamCreate":
            return self.stream()
        return CONTEXT

    def handle_of(self, name, owner):
        self.asked.append(owner)
        return CONTEXT

    def number(self, name, *arguments):
        return {"DeviceGetCount": 1, "CtxGetDevice": 0}[name]

    def raw(self, name):
        return lambda *arguments: 0

    def DevicePrimaryCtxGetState(self, ordinal, flags, active):
        active._obj.value = 1

    def __getattr__(self, name):
        return lambda *arguments: None


@pytest.fixture(params=[(5,), (0,), (255,), (0, 2), (15, 63), ()])
def driver(request, monkeypatch):
    made = Driver(request.param)
    monkeypatch.setattr(cu, "library", lambda: made)
    monkeypatch.setattr(of_primary, "Clock", lambda primary: SimpleNamespace())
    known = {}
    monkeypatch.setattr(
        of_primary, "_primary", lambda ordinal, process: known.setdefault(ordinal, of_primary.Primary(ordinal))
    )
    return made


@readable
def test_streams_are_asked_about_and_nothing_else(driver):
    stream, other = driver.stream(), driver.stream(OTHER)
    zeros = np.zeros(600)
    wild = [*(n for n in WILD if driver.path or not words_at(n)), stream + 1, stream + 4]
    if driver.path:
        wild += [other, zeros.ctypes.data, id(zeros)]
    for handle in wild:
        with pytest.raises(ArgumentTypeError, match="no stream of a primary context") as caught:
            of_primary.primary_of(handle)
        assert caught.value.hint
        with pytest.raises(ArgumentTypeError, match="no stream of a primary context"):
            of_primary.primary(0).follow(handle)
    assert not driver.asked
    for _ in range(2):
        assert of_primary.primary_of(stream).context == CONTEXT
    of_primary.primary(0).follow(stream)
    assert driver.asked == [stream, stream]


def test_handles_that_every_context_has(driver):
    for handle in (0, cu.LEGACY_STREAM, cu.PER_THREAD_STREAM):
        assert of_primary.primary_of(handle).context == CONTEXT
    assert not driver.asked


@readable
def test_words_that_streams_have_by_chance_say_nothing():
    driver = Driver((3,))
    one, two = driver.stream(), driver.stream()
    driver.alive[0][9] = CONTEXT
    assert context_paths(CONTEXT, [one]) == [(3,), (9,)]
    assert context_paths(CONTEXT, [one, two]) == [(3,)]
    assert context_paths(CONTEXT, []) == []
    indirect = Driver((2, 4))
    assert context_paths(CONTEXT, [indirect.stream(), indirect.stream()]) == [(2, 4)]
    assert context_paths(CONTEXT, [one, indirect.stream()]) == []


@readable
def test_what_lies_behind_small_streams_hides_no_way_to_the_context():
    driver = Driver((0, 2))
    streams = [driver.stream() for _ in range(3)]
    for words in driver.alive[1:4:2]:  # of the first two streams, not of what these lead to
        words[40] = CONTEXT
    assert context_paths(CONTEXT, streams[:2]) == [(0, 2), (40,)]
    assert context_paths(CONTEXT, streams) == [(0, 2)]


@pytest.mark.skipif(not cards.records, reason="no card of CUDA's works here")
def test_a_cards_streams():
    with cuda.select_device(cards.records[0]):
        card = of_primary.primary(0)
        zeros = np.zeros(600)
        for handle in (*WILD, zeros.ctypes.data, id(zeros)):
            with pytest.raises(ArgumentTypeError, match="no stream of a primary context"):
                cuda.external_stream(handle).synchronize()
        with card:
            own = [card.library.handle("StreamCreate", flags) for flags in (0, 1)]
        assert all(cuda.external_stream(handle).external for handle in own)
        assert card._context_paths, "streams do not lead to their context: mapped memory counts as one"


@pytest.mark.skipif(not cards.records, reason="no card of CUDA's works here")
def test_streams_are_closed_that_are_gone():
    """Nothing asks the driver about a stream that its maker has ended: it would read memory that is gone."""
    with cuda.select_device(cards.records[0]):
        card = of_primary.primary(0)
        for _ in range(50):
            with card:
                handle = card.library.handle("StreamCreate", 1)
            stream = cuda.external_stream(handle)
            x = cuda.to_device(np.arange(1000.0), stream=stream)
            stream.synchronize()
            with card:
                card.library.StreamDestroy_v2(handle)
            stream.close()
            assert stream.closed
            np.testing.assert_array_equal(x.copy_to_host(stream=cuda.default_stream()), np.arange(1000.0))
