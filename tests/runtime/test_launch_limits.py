"""Launch configurations: what is refused, and what a kernel keeps of them."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pyopencl as cl
import pytest

from portagpu import cuda, errors
from portagpu.runtime.context import Context
from portagpu.runtime.creation import to_device
from portagpu.runtime.launch import CompiledKernel


@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@pytest.mark.parametrize(
    "grid, block, number",
    [
        (2**60, 8, 2**63),
        ((1, 2**63), 1, 2**63),
        ((1, 1, 2**62), (1, 1, 2), 2**63),
        ((2**31, 2**31, 2**31), 1, 2**93),
        ((2**32, 2**32), 1, 2**64),
    ],
)
def test_more_threads_than_can_be_counted(grid, block, number):
    with pytest.raises(errors.LaunchConfigError, match=str(number)) as caught:
        increment[grid, block]
    assert caught.value.hint
    increment[2**62, 1]
    increment[(2**32 - 1, 2**32), 1]


@pytest.mark.parametrize("config", [(1.0, 32), (True, 32), (1, 32.0), ((1.0, 1), 32), (1, (32, True)), (1, 32, 0, 0.0)])
def test_equal_configurations_are_checked_anew(device, config):
    x = np.zeros(3, np.float32)
    increment[1, 32](x)
    increment[(1, 1), 32](x)
    increment[1, (32, 1)](x)
    increment[1, 32, 0, 0](x)
    with pytest.raises(errors.LaunchConfigError):
        increment[config]
    increment[[1, 1], np.int64(32)](x)
    increment[1, 32, None](x)
    assert (x == 6).all()


def test_kernels_keep_no_streams(device):
    x = cuda.to_device(np.zeros(3, np.float32))
    stream = cuda.stream()
    increment[1, 32, stream](x)
    increment[1, 32, stream, 0](x)
    increment.forall(3, stream=stream)(x)
    seen = weakref.ref(stream)
    assert (x.copy_to_host() == 3).all()
    del stream
    gc.collect()
    assert seen() is None


def test_kernels_forget_closed_contexts(device):
    @cuda.jit
    def store(x):
        x[0] = 1

    own = cuda.to_device(np.zeros(4, np.float32))
    store[1, 1](own)
    for _ in range(5):
        context = Context.wrap(cl.Context([device.cl_device]))
        array = to_device(np.zeros(4, np.float32), context=context)
        store[1, 1](array)
        seen = weakref.ref(next(reversed(store._overloads.values())).compiled)
        context.close()
        gc.collect()
        assert seen() is None
    assert len(store._overloads) == 1
    with pytest.raises(errors.ClosedError):
        store[1, 1](array)
    store[1, 1](own)


def test_memory_info_counts_live_arrays(device):
    context = Context.wrap(cl.Context([device.cl_device]))
    for several in (False, True):
        if several:
            keep = context.stream()
            assert not keep.closed
        before = context.get_memory_info()
        assert 0 < before.free <= before.total
        array = to_device(np.zeros(1 << 18), context=context)
        assert before.free - context.get_memory_info().free >= array.nbytes
        view = array[1:]
        del array
        assert context.get_memory_info().free < before.free
        del view
        assert context.get_memory_info() == before
        array = to_device(np.zeros(1 << 18), context=context)
        array.close()
        assert context.get_memory_info() == before
    context.close()


def test_a_kernel_with_many_registers_is_built_for_the_block(device, monkeypatch):
    """Drivers limit the block by the registers that a kernel uses, unless the kernel names its block."""
    limit = CompiledKernel.max_threads

    def few(self):
        return limit.fget(self) if self.binary.block_dim else 16

    monkeypatch.setattr(CompiledKernel, "max_threads", property(few))
    kernel = cuda.jit(increment.py_func)
    x = np.zeros(64, np.float32)
    kernel[4, 16](x)
    kernel[2, 32](x)
    kernel[2, 32](x)
    kernel[4, 16](x)
    assert (x == 4).all()
    assert [o.binary.block_dim for o in kernel.overloads.values()] == [None, (32, 1, 1)]
    fixed = cuda.jit(block_dim=(8, 1, 1))(increment.py_func)
    with pytest.raises(errors.LaunchConfigError, match="was made for blocks"):
        fixed[1, 32](x)
