"""When device arrays are computed: what is put off sees the memory as it was, and nothing is computed twice."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import portagpu
from portagpu import cuda, errors
from portagpu.expressions import evaluation, together

pytestmark = pytest.mark.one_device

HOST = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x.ravel()[i] += 1


@pytest.fixture
def array(device):
    return cuda.to_device(HOST)


@pytest.fixture
def kernels(monkeypatch):
    """Counts launches of expressions."""
    launched = []
    run, again, several = evaluation._run, evaluation.repeat, together._run

    def counted(function):
        def call(*args):
            found = function(*args)
            if found is not False:
                launched.append(function)
            return found

        return call

    monkeypatch.setattr(evaluation, "_run", counted(run))
    monkeypatch.setattr(evaluation, "repeat", counted(again))
    monkeypatch.setattr(evaluation, "repeat_applied", counted(evaluation.repeat_applied))
    monkeypatch.setattr(together, "_run", counted(several))
    return launched


def write_by_kernel(x):
    add_one[1, 64](x)


def write_in_place(x):
    x += 1


def write_view(x):
    x[1:] = 7


def write_from_host(x):
    x.copy_to_device(np.zeros_like(HOST))


def write_product(x):
    portagpu.matmul(cuda.to_device(np.ones((3, 3), np.float32)), x.copy(), out=x)


@pytest.mark.parametrize(
    "write", [write_by_kernel, write_in_place, write_view, write_from_host, write_product], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("part", [np.s_[:], np.s_[::2, 1:], np.s_[::-1]], ids=str)
def test_what_is_put_off_sees_what_was_there(array, write, part):
    seen = array[part] * 2
    chained = np.sqrt(seen) + array[part]
    write(array)
    np.testing.assert_array_equal(seen.copy_to_host(), HOST[part] * 2)
    np.testing.assert_allclose(chained.copy_to_host(), np.sqrt(HOST[part] * 2) + HOST[part], rtol=1e-6)


def test_a_chain_is_one_kernel(array, kernels):
    result = np.sqrt(array * array + array * 2 - 1) > 3
    assert not kernels
    np.testing.assert_array_equal(result.copy_to_host(), np.sqrt(HOST * HOST + HOST * 2 - 1) > 3)
    assert len(kernels) == 1


def test_what_the_program_has_on_the_way_is_stored_by_the_same_kernel(array, kernels):
    middle = array * 3
    result = middle + 1
    assert result.buffer is not None
    assert len(kernels) == 1 and middle.deferred is None
    np.testing.assert_array_equal(middle.copy_to_host(), HOST * 3)
    np.testing.assert_array_equal(result.copy_to_host(), HOST * 3 + 1)
    assert len(kernels) == 1


def test_what_nobody_has_any_more_is_not_computed(array, kernels):
    array * 3
    gc.collect()
    cuda.synchronize()
    assert not kernels


@pytest.mark.parametrize("wait", [cuda.synchronize, lambda: cuda.event().record(), lambda: cuda.stream().synchronize()])
def test_waiting_computes(array, kernels, wait):
    result = array * 3
    wait()
    assert len(kernels) == 1 and result.deferred is None


def test_rows_are_computed_once_for_all_that_they_are_broadcast_to(array, kernels):
    result = array + np.exp(array[:1] / 12)
    np.testing.assert_allclose(result.copy_to_host(), HOST + np.exp(HOST[:1] / 12), rtol=1e-6)
    assert len(kernels) == 2


def test_long_chains_are_cut(array):
    result, expected = array, HOST
    for _ in range(100):
        result, expected = result + 1, expected + 1
    np.testing.assert_array_equal(result.copy_to_host(), expected)
    doubled, twice = array, HOST
    for _ in range(30):  # a tree with 2**30 leaves
        doubled, twice = doubled + doubled, twice + twice
    np.testing.assert_array_equal(doubled.copy_to_host(), twice)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=str)
def test_numbers_on_either_side(array, order):
    """The same kernel again, with operands in its order."""
    for number in (2, np.float32(3)):
        for _ in range(3):
            operands = [(array, HOST), (number, number)]
            (a, x), (b, y) = (operands[n] for n in order)
            np.testing.assert_array_equal((a - b).copy_to_host(), x - y)


def test_small_arrays_share_launches(device, kernels):
    hosts = [np.arange(n + 1, dtype=np.float32) for n in range(40)]
    arrays = [cuda.to_device(host) for host in hosts]
    kernels.clear()
    results = [array * 2 - 1 for array in arrays]
    single = cuda.to_device(HOST).T * 5
    cuda.synchronize()
    assert len(kernels) < len(arrays) // 4
    for host, result in zip(hosts, results, strict=True):
        np.testing.assert_array_equal(result.copy_to_host(), host * 2 - 1)
    np.testing.assert_array_equal(single.copy_to_host(), HOST.T * 5)


def test_operands_that_die(device):
    """An expression keeps what it is computed from."""
    array = cuda.to_device(HOST)
    result = array * 2
    del array
    gc.collect()
    others = [cuda.to_device(np.full_like(HOST, -1)) for _ in range(4)]
    np.testing.assert_array_equal(result.copy_to_host(), HOST * 2)
    del others


def test_threads_share_what_is_put_off(array):
    """Each computes what it needs, and writes only behind what others have put off."""
    results = [array + n for n in range(32)]
    seen = [None] * len(results)

    def read(n):
        seen[n] = results[n].copy_to_host()

    threads = [threading.Thread(target=read, args=(n,)) for n in range(len(results))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, one in enumerate(seen):
        np.testing.assert_array_equal(one, HOST + n)


def test_arrays_of_several_contexts(device):
    others = [record for record in portagpu.device.working_devices() if record is not device]
    if not others:
        pytest.skip("there is one device")
    here = cuda.to_device(HOST)
    with cuda.select_device(others[0]):
        there = cuda.to_device(HOST)
    with pytest.raises(errors.ArgumentTypeError, match="different contexts") as caught:
        here + there
    assert "copy" in caught.value.hint


def show(array):
    """Have another library know an array's memory."""
    return array.__cuda_array_interface__ if array.device.backend == "cuda" else array.to_pyopencl()


def test_memory_that_others_were_shown_is_read_at_once(array, kernels):
    shared = show(array)
    result = array * 2
    assert result.deferred is None and len(kernels) == 1
    del shared


@pytest.mark.one_device(fast=True)
def test_memory_that_others_were_shown_is_forgotten_with_its_arrays(device):
    known = cuda.current_context().shown
    array = cuda.to_device(HOST)
    before = len(known)
    for part in (array[1:], array[1:].T, array):
        show(part)
    assert array.allocation_key in known and len(known) == before + 1
    rest = array[2:]
    del array, part
    assert (rest + 1).deferred is None  # the memory is that of a view yet
    del rest
    gc.collect()
    assert len(known) == before


@pytest.mark.parametrize("part", [np.s_[:], np.s_[1:, ::2]], ids=str)
def test_memory_that_others_share_through_dlpack_is_not_read_later(array, part):
    """What reads it is enqueued at once, as a kernel would be: nobody tells when the other library writes there."""
    try:
        host = np.from_dlpack(array)
    except BufferError:  # NumPy's own of memory of cards
        pytest.skip("the device has memory of its own")
    result = array[part] * 2
    assert result.deferred is None
    cuda.synchronize()  # NumPy knows no streams
    host[:] = -1
    np.testing.assert_array_equal(result.copy_to_host(), HOST[part] * 2)


def test_closed_arrays(array):
    result = array * 2
    result.close()
    with pytest.raises(errors.ClosedError):
        result.copy_to_host()
    other = array + 1
    array.close()
    with pytest.raises(errors.ClosedError):
        other.copy_to_host()


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("exponent", [2, 2.0, np.float32(2)], ids=repr)
def test_squares(device, dtype, exponent):
    """They are products, with the dtypes of powers."""
    host = np.array([0, 1, 3, 7, 100], dtype)
    expected = host**exponent
    found = cuda.to_device(host) ** exponent
    assert found.dtype == expected.dtype
    assert np.allclose(found.copy_to_host(), expected)
    if expected.dtype == host.dtype:
        x = cuda.to_device(host)
        x **= exponent
        assert np.allclose(x.copy_to_host(), expected)
