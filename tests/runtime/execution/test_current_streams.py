"""Streams that are current in a thread: where work goes that names none, and the order of what is put off."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from portagpu import cuda, primitives, random, xp
from portagpu.errors import ArgumentTypeError

HOST = np.arange(4096, dtype=np.float32)


class Used:
    """The streams that were given something, by the numbers of their uses."""

    def __init__(self, *streams):
        self._streams = streams
        self._before = [stream._timeline.used for stream in streams]

    def of(self, stream):
        """Whether a stream got something since."""
        at = self._streams.index(stream)
        return stream._timeline.used != self._before[at]


@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


def test_the_innermost_is_current(device):
    first, second, context = cuda.stream(), cuda.stream(), cuda.current_context()
    assert cuda.get_current_stream() is cuda.default_stream()
    with first as entered:
        assert entered is first is cuda.get_current_stream()
        with second, first:
            assert context.get_current_stream() is first
        with cuda.default_stream():
            assert cuda.get_current_stream() is context.default_stream
        seen = []
        thread = threading.Thread(target=lambda: seen.append(context.get_current_stream()))
        thread.start()
        thread.join()
        assert seen == [context.default_stream]
    assert cuda.get_current_stream() is context.default_stream
    with pytest.raises(ArgumentTypeError, match="last to become current"):
        first.__exit__(None, None, None)


@pytest.mark.parametrize(
    "work",
    [
        lambda x: double[16, 256](x),
        lambda x: x.copy_to_device(HOST),
        lambda x: x.copy(),
        lambda x: (x + 1).buffer,
        lambda x: x.__iadd__(1),
        lambda x: np.add(x, 1, out=x),
        lambda x: x.__setitem__(slice(3), 5),
        lambda x: x.fill(2),
        lambda x: xp.sum(x),
        lambda x: xp.cumulative_sum(x),
        lambda x: xp.sort(x),
        lambda x: x[x > 3],
        lambda x: x[cuda.to_device(np.array([1, 2]))],
        lambda x: xp.concat([x, x]),
        lambda x: x @ x,
        lambda x: x.reshape(64, 64) @ x.reshape(64, 64),
        lambda x: xp.linalg.vector_norm(x),
        lambda x: xp.fft.fft(x),
        lambda x: primitives.histogram(x, 4),
        lambda x: random.default_rng(1).random(8),
    ],
)
@pytest.mark.one_device(fast=True)
def test_what_names_no_stream_goes_there(device, work):
    stream, x = cuda.stream(), cuda.to_device(HOST)
    work(x)  # what is set up once
    cuda.synchronize()
    used = Used(stream, cuda.default_stream())
    with stream:
        work(x)
    assert used.of(stream)
    assert not used.of(cuda.default_stream())


@pytest.mark.parametrize(
    "work",
    [
        lambda x, s: primitives.select(x, x > 1, stream=s),
        lambda x, s: primitives.select_if(x, lambda e: e > 1, stream=s),
        lambda x, s: primitives.partition(x, x > 1, stream=s),
        lambda x, s: primitives.flatnonzero(x, stream=s),
        lambda x, s: primitives.nonzero(x, stream=s),
        lambda x, s: primitives.run_length_encode(x, stream=s),
        lambda x, s: primitives.histogram(x, 4, stream=s),
        lambda x, s: primitives.bincount(x.astype(np.int32), stream=s),
        lambda x, s: primitives.inclusive_scan(x, stream=s),
        lambda x, s: primitives.sort(x, stream=s),
        lambda x, s: random.default_rng(1, stream=s).random(8),
    ],
)
@pytest.mark.one_device(fast=True)
def test_primitives_take_streams(device, work):
    stream, x = cuda.stream(), cuda.to_device(HOST)
    used = Used(stream)
    work(x, stream)
    assert used.of(stream)


def test_what_is_put_off_is_computed_where_it_was_written(device):
    stream, x = cuda.stream(), cuda.to_device(HOST)
    cuda.synchronize()
    used = Used(stream, cuda.default_stream())
    with stream:
        y = x + 1
        several = [x * n for n in range(5)]
    assert not used.of(stream)
    y.buffer  # noqa: B018 - which computes it, but does not read it
    assert used.of(stream)
    assert not used.of(cuda.default_stream())
    np.testing.assert_array_equal(y.copy_to_host(), HOST + 1)
    for n, found in enumerate(several):
        np.testing.assert_array_equal(found.copy_to_host(), HOST * n)


def test_writes_come_after_what_reads(device):
    first, second = cuda.stream(), cuda.stream()
    for _ in range(20):
        x = cuda.to_device(HOST)
        cuda.synchronize()
        with first:
            y = x + 1
        with second:
            x += 5  # waits for the first stream, which computes y before
        with first:
            z = y * 2
        with second:
            x *= 2
            w = z - 1  # z is computed in the first stream, for which the second waits
            total = xp.sum(w)
        double[16, 256, second](x)
        np.testing.assert_array_equal(w.copy_to_host(), (HOST + 1) * 2 - 1)
        np.testing.assert_array_equal(x.copy_to_host(), (HOST + 5) * 4)
        assert total.item() == pytest.approx(np.sum((HOST + 1) * 2 - 1, dtype=np.float64), rel=1e-6)


def test_written_in_one_reduced_in_another(device):
    first, second, x = cuda.stream(), cuda.stream(), cuda.to_device(HOST)
    cuda.synchronize()
    with first:
        y = x + 1
    with second:
        found = xp.max(y)
        assert found.item() == HOST[-1] + 1
        np.testing.assert_array_equal(y.copy_to_host(), HOST + 1)
    event = cuda.event()
    with first:
        y = x * 3
    event.record(first)  # y counts as enqueued where it was written
    assert y.deferred is None
    second.wait_event(event)


def test_threads_have_streams_of_their_own(device):
    context, failed = cuda.current_context(), []

    def run(number):
        try:
            with context, context.stream():
                x = cuda.to_device(HOST) + number
                for _ in range(10):
                    y = x * 2
                    x += 1
                    x = y - x
                wanted = HOST + np.float32(number)
                for _ in range(10):
                    y = wanted * np.float32(2)
                    wanted = y - (wanted + np.float32(1))
                np.testing.assert_array_equal(x.copy_to_host(), wanted)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
