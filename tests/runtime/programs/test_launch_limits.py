"""Launch configurations: what is refused, and what a kernel keeps of them."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
from own_contexts import native_context

from portagpu import cuda, errors
from portagpu.device import DeviceType
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context
from portagpu.runtime.programs.launch import CompiledKernel
from portagpu.runtime.programs.launch_shape import LaunchShape, check_shape


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
    if cuda.current_context().driver.shares_addresses:
        pytest.skip("a card has one context, which all libraries use")

    @cuda.jit
    def store(x):
        x[0] = 1

    own = cuda.to_device(np.zeros(4, np.float32))
    store[1, 1](own)
    for _ in range(5):
        context = Context.wrap(native_context(device))
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
    context = Context.wrap(native_context(device))
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
        return limit.fget(self) if self.kernel_source.block_dim else 16

    monkeypatch.setattr(CompiledKernel, "max_threads", property(few))
    kernel = cuda.jit(increment.py_func)
    x = np.zeros(64, np.float32)
    kernel[4, 16](x)
    kernel[2, 32](x)
    kernel[2, 32](x)
    kernel[4, 16](x)
    assert (x == 4).all()
    assert [o.kernel_source.block_dim for o in kernel.overloads.values()] == [None, (32, 1, 1)]
    fixed = cuda.jit(block_dim=(8, 1, 1))(increment.py_func)
    with pytest.raises(errors.LaunchConfigError, match="was made for blocks"):
        fixed[1, 32](x)


@cuda.jit
def last_thread(places, columns, rows):
    """What the last thread along x and y knows of itself and of the grid, and how often there is one of its numbers."""
    x, y = cuda.grid(2)
    if x == columns - 1 and y == rows - 1:
        cuda.atomic.add(places, 0, 1)
        places[1] = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        places[2] = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
        places[3] = cuda.gridDim.x * cuda.blockDim.x
        places[4] = cuda.gridDim.y * cuda.blockDim.y
        step_x, step_y = cuda.gridsize(2)
        places[5] = step_x
        places[6] = step_y


@pytest.mark.thorough
def test_threads_beyond_32_bits(device):
    """A thread's own numbers and those of all are exact where there are more than 2^32."""
    if device.platform == "Oclgrind":
        pytest.skip("a simulator takes minutes for so many threads")
    block = min(1024, *device.capabilities.max_work_item_sizes[:2], device.capabilities.max_work_group_size)
    blocks = 2**32 // block + 1
    many = blocks * block
    shapes = ((blocks, 1), (block, 1)), ((1, blocks), (1, block))
    for shape in shapes if device.device_type is DeviceType.GPU else shapes[:1]:  # a CPU takes long along y
        places = np.zeros(7, np.int64)
        x, y = (many, 1) if shape[0][0] > 1 else (1, many)
        try:
            last_thread[shape](places, x, y)
        except errors.LaunchConfigError as error:  # GPUs have few blocks along y
            assert shape[0][0] == 1 and error.hint
            continue
        assert places.tolist() == [1, x - 1, y - 1, x, y, x, y]


@pytest.mark.parametrize("grid", [2**32, (1, 2**33), (2**16, 2**16), (2**11, 2**11, 2**11)])
def test_more_blocks_than_a_device_counts(device, grid, monkeypatch):
    """One driver counts blocks in 32 bits, which ended the process; another those of an axis in 31: ids were wrong.

    A device without limits gets them here.
    """
    context = Context.for_device(device)
    limits = {"max_blocks": 2**32 - 1, "max_blocks_of_axis": 2**31 - 1}
    others = {"max_blocks_of_later_axes": 2**63 - 1}
    x = np.zeros(3, np.float32)
    for name, limit in limits.items():
        if limit >= max(grid if isinstance(grid, tuple) else (grid,)) and name == "max_blocks_of_axis":
            continue
        other = {n: 2**63 - 1 for n in limits if n != name} | others
        capabilities = replace(context.capabilities, **{name: limit}, **other)
        monkeypatch.setattr(context, "capabilities", capabilities)
        with pytest.raises(errors.LaunchConfigError, match=f"blocks; .* at most {limit}") as caught:
            increment[grid, 1](x)
        assert caught.value.hint and not x.any()


def test_real_limits_of_blocks(device):
    """What a device does not count is refused, what it counts is not (nothing is launched)."""
    caps = device.capabilities
    x, y = min(caps.max_blocks, caps.max_blocks_of_axis), 1
    check_shape(LaunchShape((x, y, 1), (1, 1, 1), 0), caps, device.name)
    for grid in ((x + 1, 1, 1), (1, x + 1, 1), (1, 1, x + 1)):
        with pytest.raises(errors.LaunchConfigError, match=str(x + 1)):
            check_shape(LaunchShape(grid, (1, 1, 1), 0), caps, device.name)
