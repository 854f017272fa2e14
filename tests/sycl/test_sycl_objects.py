"""What the SYCL back end hands out goes back: memory once no queue uses it, objects when they are dropped."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from gates import closed_gate
from sycl_devices import WORKING, needs_sycl

from portagpu import cuda, errors
from portagpu.backends.sycl.handles import Queue, known_queue, queues_of
from portagpu.backends.sycl.library import Living, SyclError, library
from portagpu.backends.sycl.pool import Aside, Pool, block_size

pytestmark = needs_sycl
DEVICES = WORKING


@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


def test_objects_go_back(device):
    def work():
        stream, event = cuda.stream(), cuda.event()
        x = cuda.to_device(np.ones(100), stream=stream)
        double[1, 128, stream](x)
        event.record(stream)
        event.synchronize()
        assert x.copy_to_host(stream=stream)[0] == 2

    kinds = (Living.QUEUE, Living.EVENT, Living.KERNEL, Living.PROGRAM, Living.CONTEXT)
    seen = []
    for _ in range(6):
        for _ in range(5):
            work()
        cuda.synchronize()
        cuda.current_context().deallocations.clear()
        gc.collect()
        seen.append([library().living(kind) for kind in kinds])
    assert seen[-1] == seen[-3], seen


def test_several_objects_of_one_queue_count_each(device):
    """A queue is known as long as any object is of it: memory waits for all."""
    queue = cuda.stream().queue
    loaded = library()
    again = Queue(loaded, loaded.made(loaded.pg_copy_queue(queue.address)), queue.context)
    assert again.key == queue.key
    del again
    gc.collect()
    assert known_queue(queue.key) is queue
    assert any(found is queue for found in queues_of(queue.context.key))


def test_a_queue_that_is_being_dropped_is_not_known(device):
    """Weak references lead to an object until its finaliser has returned, which lets other threads run."""

    class Watching:
        def __getattr__(self, name):
            return getattr(loaded, name)

        def pg_drop_queue(self, address):
            seen.append([found for found in queues_of(key) if found.address in (0, address)])
            loaded.pg_drop_queue(address)

    loaded, seen, queue = library(), [], cuda.stream().queue
    key = queue.context.key
    again = Queue(loaded, loaded.made(loaded.pg_copy_queue(queue.address)), queue.context)
    again.library = Watching()
    del again
    gc.collect()
    assert seen == [[]]


def test_what_was_put_aside_is_given_back_once(device):
    """A finaliser puts more aside, and sweeps, in the middle of a sweep."""
    freed, depth = [], []

    def queues():
        depth.append(None)
        if len(depth) == 1:
            for address in range(100, 170):
                aside.put(address, 16)
        return ()

    aside = Aside(freed.append, queues)
    for address in range(10):
        aside.put(address, 16)
    aside.sweep()
    aside.drain()
    assert sorted(freed) == [*range(10), *range(100, 170)]


def test_memory_that_a_queue_uses_stays(device):
    """Freed while commands on it wait: nobody else gets it, and the library is not asked to free it."""
    context = cuda.current_context()
    stream = context.stream()
    x = cuda.to_device(np.ones(1000))
    cuda.synchronize()
    kept = x.copy_to_host()
    with closed_gate(stream.ready()):
        for _ in range(200):  # more than are put aside before the queues are looked at
            y = cuda.device_array(1000)
            y.copy_to_device(x, stream=stream)
            del y
        assert (kept == 1).all()
    cuda.synchronize()
    assert (x.copy_to_host() == 1).all()


def test_what_is_put_aside_is_freed_behind_markers():
    class Mark:
        is_done = False

        def wait(self):
            self.is_done = True

    class Queue:
        def __init__(self):
            self.marks = []

        def barrier(self, ends):
            self.marks.append(Mark())
            return self.marks[-1]

    freed, queue = [], Queue()
    aside = Aside(freed.append, lambda: [queue])
    for n in range(64):
        aside.put(n, 100)
    assert len(queue.marks) == 1 and not freed
    aside.put(64, 100)
    queue.marks[0].is_done = True
    aside.sweep()
    assert freed == list(range(64)) and len(queue.marks) == 2
    aside.drain()
    assert freed == list(range(65))


def test_blocks_serve_again_and_memory_that_is_held_is_given_back_when_none_is_left():
    made, freed = [], []

    def allocate(size):
        if len(made) - len(freed) >= 3:
            raise SyclError("none", SyclError.MEMORY)
        made.append(size)
        return len(made)

    pool = Pool(allocate, Aside(freed.append, list))
    first = pool.allocate(1000)
    first.release()
    assert pool.held_blocks == 1 and pool.used_bytes == 0
    assert (pool.allocate(1001).address == 1 and pool.used_bytes >= 1001) or block_size(1000) != block_size(1001)
    kept = [pool.allocate(5000) for _ in range(2)]
    assert len(made) - len(freed) <= 3 and pool.allocate(7).address and len(kept) == 2


@pytest.mark.parametrize("nbytes", [0, 1, 15, 16, 17, 100, 1000, 4097, 10**6, 2**31 + 5])
def test_sizes_of_blocks(nbytes):
    size = block_size(nbytes)
    assert max(nbytes, 16) <= size <= max(nbytes * 1.25, 32)


def test_memory_runs_out(device):
    context = cuda.current_context()
    with pytest.raises(errors.OutOfMemoryError):
        context.allocate(device.capabilities.max_allocation + 1)


def test_every_type_of_number_arrives(device):
    names = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64 complex64 complex128 bool".split()
    names += ["float16"] if device.capabilities.fp16 else []

    @cuda.jit
    def store(x, value):
        x[0] = value

    for name in names:
        dtype = np.dtype(name)
        value = dtype.type(1 if dtype.kind == "b" else 3 - 2j if dtype.kind == "c" else 5)
        x = cuda.to_device(np.zeros(1, dtype))
        store[1, 1](x, value)
        assert x.copy_to_host()[0] == value, name


def test_dynamic_shared_memory_beside_numbers(device):
    @cuda.jit
    def turned(x, scale):
        kept = cuda.shared.array(0, np.float32)
        i = cuda.threadIdx.x
        kept[i] = x[i]
        cuda.syncthreads()
        x[i] = scale * kept[cuda.blockDim.x - 1 - i]

    x = cuda.to_device(np.arange(64, dtype="f4"))
    turned[1, 64, 0, 256](x, 0.5)
    np.testing.assert_array_equal(x.copy_to_host(), np.arange(64)[::-1] / 2)
