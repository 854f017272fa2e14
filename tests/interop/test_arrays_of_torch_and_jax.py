"""Arrays of torch and JAX beside device arrays: dtypes, layouts, memory that is shared, and who sees what when."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda, errors, xp
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.dlpack import shares_with_host

SIZE = 1 << 21
LAYOUTS = {
    "contiguous": lambda a: a,
    "strided": lambda a: a[::2, 1::3],
    "transposed": lambda a: a.T,
    "offset": lambda a: a[3:, 5:],
    "0-d": lambda a: a[1, 2],
    "empty": lambda a: a[:0],
    "broadcast": lambda a: a[:1].expand(7, 9),
}
DTYPES = "bool uint8 int8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128 bfloat16"


def _torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def _jax():
    return pytest.importorskip("jax", reason="JAX is not installed")


def _needs_the_hosts_memory(device):
    if not shares_with_host(device.capabilities):
        pytest.skip("the device has memory of its own")


def _numbers(tensor):
    torch = _torch()
    if tensor.dtype == torch.bfloat16:
        return tensor.float().numpy()
    return tensor.numpy()


@pytest.mark.in_turn(3)
@given(st.sampled_from(DTYPES.split()), st.sampled_from(sorted(LAYOUTS)))
def test_torchs_dtypes_and_layouts_both_ways(device, dtype, layout):
    _needs_the_hosts_memory(device)
    torch = _torch()
    kind = getattr(torch, dtype)
    whole = (torch.arange(63).reshape(7, 9) % (2 if dtype == "bool" else 50)).to(kind)
    tensor = LAYOUTS[layout](whole)
    x = xp.from_dlpack(tensor)
    assert (x.shape, x.dtype.name) == (tuple(tensor.shape), dtype)
    np.testing.assert_array_equal(x.copy_to_host().astype(_numbers(tensor).dtype), _numbers(tensor))
    copied = xp.asarray(tensor)  # never of the same memory
    if tensor.numel():
        x[...] = 1
        assert (tensor == 1).all()
        assert (copied.copy_to_host().astype(np.float64) != 1).any() or layout == "0-d" or dtype == "bool"
    back = torch.from_dlpack(x)
    assert back.dtype == kind and tuple(back.shape) == x.shape
    assert not x.size or back.data_ptr() == tensor.data_ptr()


@pytest.mark.one_device
def test_torch_in_expressions(device):
    torch = _torch()
    x = cuda.to_device(np.arange(4, dtype=np.float32))
    tensor = torch.arange(4.0)
    for found in (x + tensor, tensor + x, xp.multiply(tensor, 2), np.add(tensor, x), xp.concat([tensor])):
        assert isinstance(found, DeviceNDArray) and found.dtype == np.float32
    put_off = x + tensor
    tensor.zero_()
    np.testing.assert_array_equal(put_off.copy_to_host(), 2 * np.arange(4))
    assert (x + torch.ones(4, dtype=torch.float64)).dtype == np.float64
    np.testing.assert_array_equal(x[torch.tensor([True, False, True, False])].copy_to_host(), [0, 2])
    np.testing.assert_array_equal(x[torch.tensor([3, 0])].copy_to_host(), [3, 0])
    x[:] = torch.ones(4)
    np.testing.assert_array_equal(x.copy_to_host(), 1)


@pytest.mark.one_device
def test_tensors_that_are_more_than_memory(device):
    torch = _torch()
    x = cuda.to_device(np.ones(4, np.float32))
    with pytest.raises(errors.ArgumentTypeError, match=r"gradient(.|\n)*hint: pass x.detach"):
        x + torch.ones(4, requires_grad=True)
    with pytest.raises(errors.MemoryNotSharedError, match=r"gradient(.|\n)*hint: pass x.detach"):
        xp.from_dlpack(torch.ones(4, requires_grad=True))
    with pytest.raises(errors.ArgumentTypeError, match=r"hint: pass x.resolve_conj"):
        x + torch.ones(4, dtype=torch.complex64).conj()
    with pytest.raises(errors.ArgumentTypeError, match=r"hint: pass x.to_dense"):
        x + torch.ones(4).to_sparse()
    with pytest.raises(errors.PortaGPUError, match="hint: "):
        x + torch.ones(4, device="meta")


@pytest.mark.one_device
def test_order_and_life_of_torchs_memory(device):
    _needs_the_hosts_memory(device)
    torch = _torch()
    tensor = torch.ones(SIZE)
    x = xp.from_dlpack(tensor)
    found, total = x * 2 + 1, x.sum()
    tensor.zero_()
    assert (found.copy_to_host() == 3).all() and total.item() == SIZE
    x += 4
    assert bool((tensor == 4).all())
    y = xp.ones(SIZE, dtype=xp.float32) * 3
    theirs = torch.from_dlpack(y)
    before = y + 1
    theirs.zero_()
    assert (before.copy_to_host() == 4).all() and (y.copy_to_host() == 0).all()
    theirs = torch.from_dlpack(xp.ones(SIZE, dtype=xp.float32) * 5)
    x = xp.from_dlpack(torch.ones(SIZE) * 6)
    gc.collect()
    assert [(xp.zeros(SIZE) + n).sum().item() for n in range(2)] == [0, SIZE]
    assert bool((theirs == 5).all()) and (x.copy_to_host() == 6).all()


@pytest.mark.one_device
def test_jax(device):
    _needs_the_hosts_memory(device)
    jax = _jax()
    theirs = jax.numpy.arange(6.0).reshape(2, 3)
    x = xp.from_dlpack(theirs)
    np.testing.assert_array_equal((x + 1).copy_to_host(), np.asarray(theirs) + 1)
    with pytest.raises(errors.ArgumentTypeError, match="read-only"):
        x += 1  # its arrays never change
    with pytest.raises(BufferError, match=r"read-only|readonly(.|\n)*hint: share a copy"):
        jax.dlpack.from_dlpack(x)
    put_off = x * 2
    for back in (jax.dlpack.from_dlpack(put_off), jax.numpy.from_dlpack((x + 0).T)):
        np.testing.assert_array_equal(np.asarray(back), back)
    np.testing.assert_array_equal(np.asarray(jax.dlpack.from_dlpack(put_off)), 2 * np.asarray(theirs))
    for found in (x + theirs, theirs + x, xp.sum(theirs), np.add(theirs, x)):
        assert isinstance(found, DeviceNDArray)
    half = jax.numpy.ones(3, jax.numpy.bfloat16)
    assert xp.from_dlpack(half).dtype.name == xp.asarray(half).dtype.name == "bfloat16"
    assert xp.asarray(jax.numpy.array([True, False])).dtype == bool
    assert xp.asarray(jax.numpy.zeros((0, 2))).shape == (0, 2)
