"""What the host side promises on every device, shared memory or not: `In` is left alone, strides are kept."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors


@pytest.mark.parametrize("size", [100, 5000])  # below and above the size from which host memory is shared
def test_in_leaves_the_host_array_alone(device, size):
    @cuda.jit
    def move(source, target):
        i = cuda.grid(1)
        if i < source.size:
            target[i] = source[i]
            source[i] = -1

    source, target = np.arange(size, dtype=np.float32), np.zeros(size, np.float32)
    move[(size + 255) // 256, 256](cuda.In(source), cuda.Out(target))
    np.testing.assert_array_equal(target, np.arange(size))
    np.testing.assert_array_equal(source, np.arange(size))


@pytest.mark.parametrize("strides", [(24, 4), (4, 12), (-16, 4), (16, -4), (-32, -8)])
def test_device_array_with_strides(device, strides):
    array = cuda.device_array((3, 4), np.float32, strides=strides)
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    array[...] = host
    assert array.strides == strides
    np.testing.assert_array_equal(array.copy_to_host(), host)


@pytest.mark.parametrize("strides", [None, (24, 4), (-16, 4), (4, 12)])
def test_pinned_array_with_strides(device, strides):
    array = cuda.pinned_array((3, 4), np.float32, strides=strides)
    array[...] = np.arange(12).reshape(3, 4)
    assert array.strides == ((16, 4) if strides is None else strides)
    np.testing.assert_array_equal(cuda.to_device(array).copy_to_host(), np.arange(12).reshape(3, 4))


@pytest.mark.parametrize("make", [cuda.device_array, cuda.pinned_array])
@pytest.mark.parametrize("strides", [(4,), (16, 4, 4), (16, 4.0)])
def test_wrong_strides_are_refused(device, make, strides):
    with pytest.raises(errors.ShapeError, match="one integer"):
        make((3, 4), np.float32, strides=strides)
