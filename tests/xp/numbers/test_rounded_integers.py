"""`numpy.round` of integers to tens, hundreds and so on: Python's results, which wrap around beyond the dtype."""

import numpy as np
import pytest

from portagpu import cuda

pytestmark = pytest.mark.one_device


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_rounded_integers(device, dtype):
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    for digits in (1, 2, 3, 5, 9, 10, 18, 19, 20, 25):
        step = 10**digits
        near = [n * step + step // 2 + one for n in (-2, -1, 0, 1, 2, high // step) for one in (-1, 0, 1)]
        numbers = [low, low + 5, high, high - 5, 0, 1, *(n for n in near if low <= n <= high)]
        expected = [(round(n, -digits) - low) % 2**limits.bits + low for n in numbers]
        x = cuda.to_device(np.array(numbers, dtype).reshape(1, -1))
        found = np.round(x, -digits)
        assert found.dtype == dtype
        assert found.copy_to_host().tolist() == [expected]
