"""Products of device arrays with new results: recordings serve all operands that are alike."""

from __future__ import annotations

import numpy as np
import pytest
from in_threads import in_threads
from memory_places import place_of
from own_contexts import native_context

import portagpu
from portagpu import cuda
from portagpu.blas.gemm.replay import device_products
from portagpu.errors import ArgumentTypeError, ClosedError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.factory import ArrayFactory
from portagpu.runtime.execution.context import Context

pytestmark = pytest.mark.one_device

_NUMBERS = (1, 0, int, int, None, None)


def pair(seed=0, m=96, n=80, k=64, dtype=np.float32):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((m, k)).astype(dtype), generator.standard_normal((k, n)).astype(dtype)


def close(c, wanted):
    return np.allclose(c.copy_to_host(), wanted, rtol=1e-3, atol=1e-3)


def recorded_product(a, b, numbers=_NUMBERS, stream=None):
    return device_products.again(a, b, None, stream, numbers)


def test_other_operands_are_served(device):
    for seed in range(6):
        host = pair(seed)
        a, b = map(cuda.to_device, host)
        c = portagpu.matmul(a, b) if seed < 2 else recorded_product(a, b)
        assert close(c, host[0] @ host[1])
    assert recorded_product(a, b, (2, 0, int, int, None, None)) is None
    assert recorded_product(a, b, stream=cuda.stream()) is None


def test_results_have_memory_of_their_own(device):
    host = pair()
    a, b = map(cuda.to_device, host)
    results = [portagpu.matmul(a, b, alpha=factor) for _ in range(4) for factor in (1, 3)]
    assert len({place_of(c) for c in results}) == len(results) == len({c.allocation_key for c in results})
    for c, factor in zip(results, (1, 3) * 4, strict=True):
        assert close(c, factor * (host[0] @ host[1]))


def test_products_of_products(device):
    first, second = pair(m=64, n=64)
    x, y = cuda.to_device(first), cuda.to_device(second / 8)
    wanted = first
    for _ in range(6):
        x, wanted = x @ y, wanted @ (second / 8)
    assert close(x, wanted)


@pytest.mark.parametrize("dtype", [np.complex64, np.float16, np.int8])
def test_dtypes_batches_and_vectors(device, dtype):
    generator = np.random.default_rng(1)
    for _ in range(4):
        a, b = (generator.integers(-3, 4, shape).astype(dtype) for shape in ((3, 40, 24), (3, 24, 48)))
        for left, right in ((a, b), (a, b[0]), (a[0], b[0, :, 0]), (a[0, 0], b[0, :, 0])):
            c = portagpu.matmul(cuda.to_device(left), cuda.to_device(right))
            wanted = left.astype(complex) @ right.astype(complex)
            assert c.shape == wanted.shape and np.allclose(c.copy_to_host(), wanted, rtol=1e-2)


def test_views_are_told_apart(device):
    host, other = pair(m=64, n=64)
    x, y = cuda.to_device(host), cuda.to_device(other)
    for _ in range(4):
        for left, right, wanted in (
            (x, y, host @ other),
            (x.T, y, host.T @ other),
            (x, x.T, host @ host.T),
            (x.T, x, host.T @ host),
            (x[1:], y, host[1:] @ other),
            (x[:-1], y, host[:-1] @ other),
            (x[:32], x[32:].T, host[:32] @ host[32:].T),
            (x, cuda.to_device(np.asfortranarray(other)), host @ other),
        ):
            assert close(portagpu.matmul(left, right), wanted)


def test_operands_that_share_memory_say_nothing_of_others(device):
    """Their launches have one buffer in two places, and kernels that know it."""
    host, other = pair(m=56, n=56, k=56)
    x, y = cuda.to_device(host), cuda.to_device(other)
    for _ in range(3):
        assert close(portagpu.matmul(x, x), host @ host)
    assert recorded_product(x, y) is None
    for _ in range(3):
        assert close(portagpu.matmul(x, y), host @ other)
    assert close(recorded_product(y, x), other @ host) and close(recorded_product(y, y), other @ other)


def test_memory_that_was_given_back(device):
    host = pair()
    a, b = map(cuda.to_device, host)
    for _ in range(3):
        c = portagpu.matmul(a, b)
    c.close()
    assert recorded_product(a, b) is None
    for _ in range(2):
        assert close(portagpu.matmul(a, b), host[0] @ host[1])
    assert recorded_product(a, b) is not None
    b.close()
    with pytest.raises(ClosedError):
        portagpu.matmul(a, b)


def test_operands_of_other_contexts_are_refused(device):
    a, b = map(cuda.to_device, pair())
    for _ in range(3):
        portagpu.matmul(a, b)
    other = Context(a.context.device, native_context(a.context.device), a.context.settings)
    with other:
        foreign = cuda.to_device(pair()[1])
    with pytest.raises(ArgumentTypeError, match="different devices"):
        portagpu.matmul(a, foreign)
    other.close()


def test_memory_of_others_is_not_recorded(device):
    if cuda.current_context().driver.shares_addresses:
        pytest.skip("libraries make their arrays themselves there")
    host = pair()
    a, b = map(cuda.to_device, host)
    for _ in range(3):
        portagpu.matmul(a, b)
    foreign = cuda.to_device(b.to_pyopencl())
    assert foreign.token is None and recorded_product(a, foreign) is None
    assert close(portagpu.matmul(a, foreign), host[0] @ host[1])


def test_threads_and_streams(device):
    host = pair()
    a, b = map(cuda.to_device, host)
    context, problems = a.context, []

    def work():
        with context:
            stream = cuda.stream()
            for _ in range(10):
                for where in (None, stream):
                    c = portagpu.matmul(a, b, stream=where)
                    stream.synchronize()
                    if not close(c, host[0] @ host[1]):
                        problems.append("wrong")

    in_threads(work)
    assert not problems


def test_what_is_recorded_has_no_other_user(device):
    """What a product keeps for its result, such as maps of tensors, is written anew by each recorded one."""
    a, b = map(cuda.to_device, pair(m=32, n=32, k=32))
    c = cuda.device_array((32, 32), np.float32)
    seen = []
    for _ in range(2):
        device_products.first(a, b, c, None, "a test", seen.append, new=True)
    assert seen[0] is c and seen[1] is not c
    assert seen[1].buffer is c.buffer and seen[1].allocation_key != c.allocation_key


def test_what_launches_nothing_is_looked_at_once(device, monkeypatch):
    a, b = map(cuda.to_device, pair(m=32, n=32, k=32))
    calls = []
    record = device_products.recorded
    monkeypatch.setattr(device_products, "recorded", lambda *rest, **how: calls.append(1) or record(*rest, **how))
    for _ in range(5):
        c = cuda.device_array((32, 32), np.float32)
        device_products.first(a, b, c, None, "a copy", lambda target: target.copy_to_device(a), new=True)
    assert len(calls) == 1


@pytest.mark.parametrize("shape", [(), (3,), (4, 5), (0, 4)])
def test_arrays_of_a_mould(device, shape):
    pattern = device_array(shape, np.float32)
    made = ArrayFactory(pattern).array()
    assert type(made) is DeviceNDArray and made.buffer is not pattern.buffer
    assert made.token is not None and made.token is not pattern.token
    for name in DeviceNDArray.__slots__:
        if name not in ("__weakref__", "_buffer", "allocation_key", "token"):
            assert getattr(made, name) == getattr(pattern, name), name
    made.copy_to_device(np.full(shape, 2, np.float32))
    np.testing.assert_array_equal(made.copy_to_host(), np.full(shape, 2, np.float32))
