"""Kernels in graphs that torch captures, and what is released meanwhile; streams that torch did not make."""

from __future__ import annotations

import ctypes
import gc

import cards
import numpy as np
import pytest
from gates import closed_gate
from small_kernels import put

import portagpu
from portagpu import cuda
from portagpu.backends.cuda import library as cu
from portagpu.backends.cuda.memory import Heap
from portagpu.backends.cuda.primary import primary

pytestmark = pytest.mark.skipif(not cards.records, reason="no card of CUDA's works here")


@cuda.jit
def count_up(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@pytest.fixture
def torch():
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    return found


def test_kernels_are_part_of_the_graph(torch):
    x = torch.zeros(1000, device="cuda")
    count_up[4, 256](x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(3):
            count_up[4, 256](x)
        x += 1
    assert x.eq(1).all()
    for _ in range(5):
        graph.replay()
    torch.cuda.synchronize()
    assert x.eq(21).all()


def test_memory_that_is_released_during_a_capture(torch):
    """Of all kinds; the graph is whole, and our streams go on."""
    x = torch.zeros(256, device="cuda")
    with cuda.select_device(cards.records[0]):
        count_up[1, 256](x)
        kept, shared = cuda.device_array(1000, np.float32), cuda.device_array(2000, np.float32)
        torch.as_tensor(shared, device="cuda")
        locked, stream = cuda.pinned_array(1000), cuda.stream()
        put[1, 8, stream](cuda.device_array(8, np.float32), 3)
        event = cuda.event()
        event.record(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            count_up[1, 256](x)
            event.query()
            del kept, shared, locked, stream
            gc.collect()
            new = cuda.device_array(3000, np.float32)
            count_up[1, 256](x)
        graph.replay()
        torch.cuda.synchronize()
        assert x.eq(3).all()
        cuda.synchronize()
        assert (cuda.to_device(np.ones(3000, np.float32)).copy_to_host() == 1).all()
        del new


def test_products_in_a_graph(torch):
    a, b = torch.randint(-3, 4, (2, 96, 96), device="cuda").float()
    out = torch.empty(96, 96, device="cuda")
    portagpu.matmul(a, b, out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        portagpu.matmul(a, b, out)
    for _ in range(3):
        a += 1
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out, a @ b)


def own_stream():
    card = primary(0)
    with card:
        return card.library.handle("StreamCreate", 1)


def test_streams_that_others_end(torch):
    """Their handles may be another stream's later: they are not remembered."""
    x, y = torch.zeros(256, device="cuda"), torch.zeros(256, device="cuda")
    torch.cuda.synchronize()
    card = primary(0)
    cuda.select_device(cards.records[0])
    for n in range(4):
        handle = own_stream()
        with torch.cuda.stream(torch.cuda.ExternalStream(handle)):
            count_up[1, 256](x)
            y.copy_(x)
            count_up[1, 256](x)
            torch.cuda.current_stream().synchronize()
        assert y.eq(2 * n + 1).all()
        assert handle not in card._external
        cuda.synchronize()  # no stream waits for that one any more
        with card:
            card.library.StreamDestroy_v2(handle)
        gc.collect()
        assert cuda.to_device(np.arange(3)).copy_to_host().tolist() == [0, 1, 2]
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        count_up[1, 256](x)
    assert side.cuda_stream in card._external


def test_a_streams_card_is_asked_for():
    handle = own_stream()
    with cuda.select_device(cards.records[0]):
        stream = cuda.external_stream(handle)
        assert stream.external and stream.queue.primary is primary(0)
        x = cuda.to_device(np.zeros(8, np.float32))
        put[1, 8, stream](x, 5)
        stream.synchronize()
        assert x.copy_to_host().tolist() == [5] * 8
        assert cuda.external_stream(0) is cuda.external_stream(cu.LEGACY_STREAM)


@pytest.mark.parametrize("apart", [False, True])
def test_finalisers_do_not_wait(apart):
    """Nor does what comes next; the driver has the memory later."""
    with cuda.select_device(cards.records[0]):
        x = cuda.device_array(8, np.float32)
        put[1, 8](x, 1)
        stream = cuda.stream() if apart else cuda.default_stream()
        locked, exported = cuda.pinned_array(1 << 20), cuda.device_array(1 << 22, np.uint8)
        address = exported.__cuda_array_interface__["data"][0]
        kernel = cuda.jit(new_kernel())
        kernel[1, 8](x)
        card = primary(0)
        heap = Heap(card, 2**20)  # which keeps nothing as large
        large = heap.allocate(2**20)
        cuda.synchronize()
        with closed_gate(stream.queue) as gate:
            put[1, 8, stream](x, 7)
            del locked, exported, large, kernel
            gc.collect()
            put[1, 8, stream](x, 9)
            assert len(card._left) >= 3
            gate.open()
            cuda.synchronize()
        assert not card._left and x.copy_to_host()[0] == 9
        other = ctypes.c_uint64()
        assert card.library.raw("cuPointerGetAttribute")(ctypes.byref(other), 2, address)  # there is no memory


def new_kernel():
    def doubled(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    return doubled
