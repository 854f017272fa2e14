"""The tests of `tests/runtime/test_graphs.py` on cards of CUDA, whose driver has graphs of its own."""

from __future__ import annotations

import cards
import numpy as np
import pytest
from neutral import shared

from portagpu import cuda

globals().update(shared("runtime/test_graphs"))
DEVICES = cards.records
pytestmark = pytest.mark.skipif(not cards.records, reason="no card of CUDA's works here")


@cuda.jit
def count_up(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def test_tensors_in_a_graph():
    """The graph keeps them, and is one call of the driver."""
    torch = pytest.importorskip("torch")
    x = torch.zeros(1000, device="cuda")
    count_up[4, 256](x)
    with cuda.graph() as graph:
        for _ in range(3):
            count_up[4, 256](x)
    for _ in range(10):
        graph.launch()
    torch.cuda.synchronize()
    assert x.eq(34).all()
    del x
    others = [torch.zeros(1000, device="cuda") for _ in range(4)]
    graph.launch()
    torch.cuda.synchronize()
    assert not any(other.any() for other in others)


def test_graphs_have_copies_and_dynamic_shared_memory():
    with cuda.select_device(cards.records[0]):

        @cuda.jit
        def reverse(x):
            tile = cuda.shared.array(0, np.float32)
            tile[cuda.threadIdx.x] = x[cuda.threadIdx.x]
            cuda.syncthreads()
            x[cuda.threadIdx.x] = tile[cuda.blockDim.x - 1 - cuda.threadIdx.x]

        x, y = cuda.to_device(np.arange(256, dtype=np.float32)), cuda.device_array(256, np.float32)
        with cuda.graph() as graph:
            reverse[1, 256, 0, 100_000](x)
            y.copy_to_device(x)
        np.testing.assert_array_equal(y.copy_to_host(), np.arange(256)[::-1])
        graph.launch()
        np.testing.assert_array_equal(y.copy_to_host(), np.arange(256))
