"""Arrays of dpnp are arguments and operands without copies, in the order of their own operations."""

from __future__ import annotations

import numpy as np
import pytest
from sycl_devices import WORKING, needs_dpnp, needs_sycl

import portagpu
from portagpu import cuda, errors

pytestmark = needs_sycl
DEVICES = WORKING
_INTERFACE = "__sycl_usm_array_interface__"


@cuda.jit
def axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@pytest.fixture(params=["out of order", "in order"])
def queue(request, device):
    """A queue of dpctl's on the device."""
    needs_dpnp()
    import dpctl

    cuda.current_context()  # the run time that dpctl uses is loaded with the drivers that we find
    found = next(d for d in dpctl.get_devices() if d.sycl_platform.name == device.platform)
    return dpctl.SyclQueue(found, property="in_order") if request.param == "in order" else dpctl.SyclQueue(found)


def address(array):
    facts = getattr(array, _INTERFACE)
    return facts["data"][0]


def test_kernels_and_operations_take_turns(queue):
    import dpnp

    x, y = dpnp.arange(1000, dtype="f4", sycl_queue=queue), dpnp.ones(1000, dtype="f4", sycl_queue=queue)
    for _ in range(20):
        x = x + 1
        axpy[8, 128](2.0, x, y)
        y = y * 1
    wanted = 1 + 2 * sum(np.arange(1000) + n for n in range(1, 21))
    np.testing.assert_array_equal(dpnp.asnumpy(y), wanted)


def test_strided_views_are_taken_where_they_are(queue):
    import dpnp

    whole = dpnp.zeros((40, 50), dtype="f4", sycl_queue=queue)
    axpy[1, 32](3.0, dpnp.ones(20, dtype="f4", sycl_queue=queue), whole[::2, 7])
    found = dpnp.asnumpy(whole)
    assert (found[::2, 7] == 3).all() and found.sum() == 60


def test_products_of_theirs_are_theirs(queue):
    import dpnp
    import dpnp.tensor as tensor

    generator = np.random.default_rng(5)
    a, b = (generator.integers(-4, 5, shape).astype("f4") for shape in ((33, 50), (50, 21)))
    left, right = (dpnp.asarray(x, sycl_queue=queue) for x in (a, b))
    found = portagpu.matmul(left, right)
    assert type(found) is dpnp.ndarray and found.sycl_queue == queue
    np.testing.assert_array_equal(dpnp.asnumpy(found + 1), a @ b + 1)
    plain = portagpu.matmul(left.get_array(), right.get_array())
    assert type(plain) is tensor.usm_ndarray
    out = dpnp.zeros((33, 21), dtype="f4", sycl_queue=queue)
    before = address(out)
    assert portagpu.matmul(left, right, out=out) is out and address(out) == before
    np.testing.assert_array_equal(dpnp.asnumpy(out), a @ b)


def test_products_of_views_are_made_again(queue, monkeypatch):
    import dpnp

    from portagpu.blas import borrowed

    generator = np.random.default_rng(6)
    a, b = (generator.integers(-4, 5, shape).astype("f4") for shape in ((32, 50), (50, 20)))
    left, right = (cuda.as_cuda_array(dpnp.asarray(x, sycl_queue=queue)) for x in (a, b))
    out = cuda.as_cuda_array(dpnp.zeros((32, 20), dtype="f4", sycl_queue=queue))
    ours = cuda.device_array((32, 20), np.float32)
    for recorded in (False, False, True):
        if recorded:
            monkeypatch.setattr(borrowed, "first", None)  # which makes calls that no recording has
        assert portagpu.matmul(left, right, out=out) is out
        portagpu.matmul(left[::2], right, out=out[:16])
        found = portagpu.matmul(left, right)
        np.testing.assert_array_equal(found.copy_to_host(), a @ b)
        np.testing.assert_array_equal(out.copy_to_host(), np.concatenate([(a @ b)[::2], (a @ b)[16:]]))
    assert portagpu.matmul(left, cuda.to_device(b), out=ours) is ours
    np.testing.assert_array_equal(ours.copy_to_host(), a @ b)


def test_memory_is_shared_both_ways(queue):
    import dpnp
    import dpnp.tensor as tensor

    theirs = dpnp.arange(12, dtype="f8", sycl_queue=queue).reshape(3, 4)
    taken = cuda.from_dlpack(theirs)
    assert taken.buffer.address == address(theirs) and taken.shape == (3, 4)
    assert cuda.as_cuda_array(theirs).buffer.address == address(theirs)
    ours = cuda.to_device(np.arange(12.0).reshape(3, 4))
    seen = tensor.asarray(ours)
    assert address(seen) == ours.buffer.address
    seen[1, 2] = -7
    seen.sycl_queue.wait()
    assert ours.copy_to_host()[1, 2] == -7
    column = tensor.asarray(ours[:, 1])
    np.testing.assert_array_equal(tensor.asnumpy(column), ours.copy_to_host()[:, 1])


def test_their_arrays_outlive_ours(queue):
    import dpnp

    a = dpnp.ones((64, 64), dtype="f4", sycl_queue=queue)
    made = [portagpu.matmul(a, a) for _ in range(8)]
    assert len({address(x) for x in made}) == 8
    assert all(float(x.sum()) == 64.0**3 for x in made)


def test_numpys_memory_is_not_given_to_them(device):
    needs_dpnp()
    if not device.capabilities.host_unified_memory:
        pytest.skip("NumPy's memory is not the device's")
    import dpnp.tensor as tensor

    host = np.ones(4096)
    shared = cuda.from_dlpack(host)
    with pytest.raises(errors.MemoryNotSharedError, match="NumPy"):
        tensor.asarray(shared)


def test_queues_are_streams(queue):
    stream = cuda.external_stream(queue)
    assert cuda.external_stream(queue) is stream
    x, y = cuda.to_device(np.arange(64.0)), cuda.to_device(np.zeros(64))
    axpy[1, 64, stream](2.0, x, y)
    np.testing.assert_array_equal(y.copy_to_host(), 2 * np.arange(64.0))
    assert cuda.external_stream(int(stream)) is not None if int(stream) else True


def test_contexts_are_the_librarys(queue):
    from portagpu.runtime.execution.context import Context

    assert Context.wrap(queue) is cuda.current_context()
    assert Context.wrap(queue.sycl_context) is cuda.current_context()
