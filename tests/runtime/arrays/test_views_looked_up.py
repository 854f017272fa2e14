"""Views whose facts are looked up: those of arrays that lie otherwise, or for what only equals the same, are others."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda
from portagpu.errors import ClosedError, PortaGPUError
from portagpu.runtime.arrays import facts

pytestmark = pytest.mark.one_device(fast=True)

LAYOUTS = (
    lambda x: x,
    lambda x: x.T,
    lambda x: x[::2],
    lambda x: x[1:],
    lambda x: x[:, ::-1],
    lambda x: x[1:, 1:],
    lambda x: x[:, 1],
    lambda x: x[2],
)
REQUESTS = (
    lambda x: x[1:3],
    lambda x: x[None, ..., 0],
    lambda x: x[..., ::-1],
    lambda x: x[np.int64(1) :],
    lambda x: x[-1, ...],
    lambda x: x.reshape(-1),
    lambda x: x.reshape((2, -1)),
    lambda x: x.transpose(),
    lambda x: x.T[1:],
    lambda x: x.ravel("F"),
    lambda x: np.expand_dims(x, 0),
    lambda x: np.swapaxes(x, 0, -1),
    lambda x: np.broadcast_to(x, (2, *x.shape)),
    lambda x: x[:1].squeeze(),
    lambda x: x.view(np.uint8),
    lambda x: x.view(np.int16),
)


@given(
    st.lists(
        st.tuples(st.sampled_from(LAYOUTS), st.sampled_from(REQUESTS), st.sampled_from(["f4", "i4", "i8", "c8", "i2"])),
        min_size=8,
        max_size=24,
    )
)
def test_views_in_turns_are_numpys(device, cases):
    host = np.arange(24).reshape(4, 6)
    for layout, request, dtype in cases * 2:
        own = host.astype(dtype)
        x = layout(own)
        y = layout(cuda.to_device(own))
        try:
            wanted = request(x)
        except (ValueError, IndexError, TypeError):
            with pytest.raises(PortaGPUError):
                request(y)
            continue
        found = request(y)
        np.testing.assert_array_equal(found.copy_to_host(), wanted)
        assert found.shape == wanted.shape and found.dtype == wanted.dtype


def test_what_only_equals_an_integer_is_another_subscript(device):
    host = np.arange(6, dtype=np.float32)
    x = cuda.to_device(host)
    assert x[1] == 1 and x[1:2].shape == (1,)
    assert x[True].shape == (1, 6) and x[(True,)].shape == (1, 6)  # a bool selects all along a new axis
    assert x[1] == 1
    with pytest.raises(PortaGPUError):
        x[1.0]
    with pytest.raises(PortaGPUError):
        x.reshape(2.0, 3)
    assert x.reshape(2, 3).shape == x.reshape((2, 3)).shape == x.reshape([2, 3]).shape == (2, 3)
    with pytest.raises(PortaGPUError):
        x.reshape((2.0, 3))


def test_read_only_views_stay_so(device):
    x = cuda.to_device(np.arange(6, dtype=np.float32))
    assert x.broadcast_to((2, 6)).readonly and not x._broadcast((2, 6)).readonly
    assert x.as_readonly()[1:].readonly and not x[1:].readonly
    assert np.broadcast_to(x, (2, 6)).readonly


def test_views_keep_memory_and_know_its_end(device):
    x = cuda.to_device(np.arange(6, dtype=np.float32))
    for _ in range(2):
        view = x[1:][1:]
        assert view.base is x and view.allocation_key == x.allocation_key and view.token is not x[1:][1:].token
    x.close()
    with pytest.raises(ClosedError):
        x[1:]
    with pytest.raises(ClosedError):
        view.copy_to_host()


def test_views_of_expressions(device):
    for n in range(3):
        x = cuda.to_device(np.arange(6, dtype=np.float32)) + n
        np.testing.assert_array_equal(x[1:3].copy_to_host(), np.arange(1, 3, dtype=np.float32) + n)


def test_records_are_looked_at(device):
    kind = np.dtype([("a", np.int32), ("b", np.float32)])
    host = np.zeros(3, kind)
    host["a"] = (1, 2, 3)
    x = cuda.to_device(host)
    for _ in range(2):
        assert x[1]["a"] == 2
        np.testing.assert_array_equal(x["a"].copy_to_host(), host["a"])
        assert x.reshape(3, 1).shape == (3, 1)
    assert cuda.device_array((), kind).dtype == cuda.device_array((), kind).dtype == kind
    assert type(cuda.device_array((), kind)).__name__ == "DeviceRecord"


def test_facts_are_bounded(device, monkeypatch):
    monkeypatch.setattr(facts, "_MOST", 8)
    x = cuda.to_device(np.arange(64, dtype=np.float32))
    for n in range(40):
        assert x[n : n + 2].shape == (2,) and cuda.device_array(n + 1, np.int8).size == n + 1
    assert len(x.context.view_facts) <= 8 and len(x.context.array_facts) <= 8


def test_threads_look_up_at_once(device):
    host = np.arange(240, dtype=np.float32)
    x = cuda.to_device(host)
    wrong = []

    def work(first):
        for n in range(60):
            k = (n * first) % 7 + 1
            view = x.reshape(-1, 8)[k:, :k].T
            if view.shape != (k, 30 - k) or view.offset != 4 * 8 * k:
                wrong.append((n, k))

    threads = [threading.Thread(target=work, args=(first,)) for first in (1, 2, 3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
