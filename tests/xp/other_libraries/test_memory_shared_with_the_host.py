"""Memory that arrays of the host share with device arrays through DLPack: both see what the other writes, in order."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda, errors, primitives, xp
from portagpu.runtime.arrays.dlpack import shares_with_host

SIZE = 1 << 21  # elements: kernels still run when a call that does not wait returns
READERS = {  # of an array of ones, and what they give
    "elements": (lambda x: x * 2 + 1, 3),
    "a view's elements": (lambda x: x[::2] + 1, 2),
    "sum": (lambda x: x.sum(), SIZE),
    "scan": (lambda x: xp.cumulative_sum(x)[-1:], SIZE),
    "sort": (lambda x: xp.sort(x), 1),
    "mask": (lambda x: x[x > 0], 1),
    "concat": (lambda x: xp.concat([x, x]), 1),
    "take": (lambda x: xp.take(x, np.arange(SIZE)), 1),
    "copy": (lambda x: x.copy(), 1),
    "astype": (lambda x: x.astype(np.int32), 1),
    "product": (lambda x: xp.matmul(x.reshape(1024, -1), x.reshape(-1, 1024)), SIZE / 1024),
    "sum of what was put off": (lambda x: (x + 1).sum(), 2 * SIZE),
    "primitive": (lambda x: primitives.inclusive_scan(x)[-1:], SIZE),
}
WRITERS = {  # of ones, which become fives
    "in place": lambda x: x.__iadd__(4),
    "out": lambda x: np.add(x, 4, out=x),
    "slice": lambda x: x.__setitem__(slice(None), 5),
    "array": lambda x: x.__setitem__(slice(None), cuda.to_device(np.full(SIZE, 5, np.float32))),
    "put off": lambda x: x.__setitem__(slice(None), x + 4),
    "fill": lambda x: x.fill(5),
}


@pytest.fixture(autouse=True)
def _shared(device):
    if not shares_with_host(device.capabilities):
        pytest.skip("the device has memory of its own")


@pytest.mark.parametrize("name", READERS)
def test_what_was_there_when_the_expression_was_written(name):
    read, wanted = READERS[name]
    for is_ours in (False, True):
        if is_ours:
            x = xp.ones(SIZE, dtype=xp.float32)
            host = np.from_dlpack(x)
        else:
            host = np.ones(SIZE, np.float32)
            x = xp.from_dlpack(host)
        found = read(x)
        host[:] = 0
        np.testing.assert_array_equal(np.unique(found.copy_to_host()), wanted)


@pytest.mark.parametrize("name", WRITERS)
def test_writes_are_there_when_the_call_returns(name):
    host = np.ones(SIZE, np.float32)
    x = xp.from_dlpack(host)
    WRITERS[name](x)
    assert (host == 5).all()
    host[:] = 3
    assert xp.sum(x).item() == 3 * SIZE
    y = xp.ones(SIZE, dtype=xp.float32)
    shown = np.from_dlpack(y)
    WRITERS[name](y)
    assert (shown == 5).all()


def test_the_device_is_on_its_own_again_when_nobody_shares_memory(device):
    shares = cuda.current_context().host_shares
    gc.collect()
    before = len(shares)
    x = xp.from_dlpack(np.ones(8))
    host = np.from_dlpack(xp.ones(8))
    assert len(shares) == before + 2
    del x, host
    gc.collect()
    assert len(shares) == before


def test_what_was_put_off_is_computed_before_others_see_it():
    x = cuda.to_device(np.arange(6.0))
    y, z = x + 1, x * 2
    np.testing.assert_array_equal(np.from_dlpack(y), np.arange(6.0) + 1)
    np.from_dlpack(x)[:] = 0
    np.testing.assert_array_equal(z.copy_to_host(), np.arange(6.0) * 2)


def test_memory_lives_as_long_as_the_last_who_uses_it():
    host = np.from_dlpack(xp.arange(1000) * 3)
    x = xp.from_dlpack(np.arange(1000) * 3)
    others = [xp.arange(1000) + n for n in range(8)] + [np.zeros(1000, np.int64) for _ in range(8)]
    y = x + 1
    del x, others
    gc.collect()
    assert [(xp.zeros(1000) + n).sum().item() for n in range(4)] == [0, 1000, 2000, 3000]
    np.testing.assert_array_equal(host, np.arange(1000) * 3)
    np.testing.assert_array_equal(y.copy_to_host(), np.arange(1000) * 3 + 1)


def test_read_only_memory_stays_so():
    host = np.arange(4.0)
    host.flags.writeable = False
    x = xp.from_dlpack(host)
    with pytest.raises(errors.ArgumentTypeError, match="read-only"):
        x += 1
    np.testing.assert_array_equal((x + 1).copy_to_host(), host + 1)
    assert not np.from_dlpack(xp.ones(3).as_readonly()).flags.writeable
    copied = xp.from_dlpack(host, copy=True)
    copied += 1
    np.testing.assert_array_equal(host, np.arange(4.0))


def test_copies_are_made_where_they_are_wanted(device):
    host = np.arange(4.0)
    for x, is_shared in (
        (xp.from_dlpack(host), True),
        (xp.from_dlpack(host, copy=False), True),
        (xp.from_dlpack(host, device=device), True),
        (xp.from_dlpack(host, copy=True), False),
        (xp.asarray(host), False),
    ):
        host[0] = 7
        assert (x.copy_to_host()[0] == 7) == is_shared
        host[0] = 0
    x = xp.arange(3)
    assert xp.from_dlpack(x) is x and xp.from_dlpack(x, copy=True) is not x
    shifted = np.frombuffer(bytes(33), np.uint8)[1:].view(np.float64)  # not where kernels read numbers
    with pytest.raises(errors.MemoryNotSharedError, match="only by a copy"):
        xp.from_dlpack(shifted, copy=False)
    np.testing.assert_array_equal(xp.from_dlpack(shifted).copy_to_host(), 0)
    with pytest.raises(ValueError, match=r"host memory.*(.|\n)*xp.from_dlpack"):
        xp.asarray(host, copy=False)


LAYOUTS = {
    "contiguous": lambda a: a,
    "strided": lambda a: a[::2, 1::3],
    "transposed": lambda a: a.T,
    "negative": lambda a: a[::-1, ::-2],
    "offset": lambda a: a[3:, 5:],
    "0-d": lambda a: a[1, 2, ...],
    "empty": lambda a: a[:0],
    "one row": lambda a: a[2],
    "broadcast": lambda a: np.broadcast_to(a[0], a.shape),
}


@given(st.sampled_from("?bhilBHILefdFD"), st.sampled_from(sorted(LAYOUTS)), st.integers(0, 2**32 - 1))
@pytest.mark.in_turn(3)
def test_dtypes_and_layouts(device, dtype, layout, seed):
    if dtype in "dD" and not device.capabilities.fp64:
        return
    rng = np.random.default_rng(seed)
    whole = (rng.integers(0, 2, (7, 9)) if dtype == "?" else rng.integers(0, 100, (7, 9))).astype(dtype)
    host = LAYOUTS[layout](whole)
    x = xp.from_dlpack(host)
    assert (x.shape, x.dtype) == (host.shape, host.dtype)
    np.testing.assert_array_equal(x.copy_to_host(), host)
    np.testing.assert_array_equal(xp.equal(x, host).copy_to_host(), np.ones(host.shape, bool))
    if host.size and host.flags.writeable:
        assert x.strides == host.strides or host.ndim == 0
        x[...] = 1
        np.testing.assert_array_equal(host, np.ones_like(host))
    ours = cuda.to_device(whole)
    ours = ours[0].broadcast_to(whole.shape) if layout == "broadcast" else LAYOUTS[layout](ours)
    ours = ours if isinstance(ours, type(x)) else xp.asarray(ours)
    shown = np.from_dlpack(ours)
    assert shown.strides == ours.strides or not shown.size
    np.testing.assert_array_equal(shown, ours.copy_to_host())


def test_what_has_no_dlpack_says_so():
    class Nothing:
        def __dlpack__(self, **options):
            raise BufferError("there is nothing")

        def __dlpack_device__(self):
            return 1, 0

    for value, told in ((Nothing(), "there is nothing"), (np.array(["a"]), "cannot be shared")):
        with pytest.raises(errors.MemoryNotSharedError, match=told):
            xp.from_dlpack(value)
    for value in (3, [1, 2], b"12"):
        with pytest.raises(errors.ArgumentTypeError, match="has no __dlpack__"):
            xp.from_dlpack(value)
