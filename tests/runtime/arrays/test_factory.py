"""Arrays made after a pattern: all that is known of an array is either the pattern's or its own."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.factory import ArrayFactory
from portagpu.runtime.arrays.facts import FACTS

_OWN = {"deferred", "__weakref__", "_buffer", "allocation_key", "base", "stream", "token"}


def test_each_attribute_is_the_patterns_or_its_own():
    assert {*FACTS} | _OWN == {*DeviceNDArray.__slots__} and not {*FACTS} & _OWN


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, [("x", "i4"), ("y", "f8")]])
def test_a_new_array_is_like_its_pattern(device, dtype):
    pattern = cuda.device_array((3, 5), dtype)
    made = ArrayFactory(pattern).array()
    for name in FACTS:
        assert getattr(made, name) == getattr(pattern, name), name
    assert made.token is not pattern.token and made.allocation_key != pattern.allocation_key
    assert made.buffer is not pattern.buffer and made.base is None


def test_a_view_lies_where_its_pattern_does(device):
    whole, other = np.arange(24.0).reshape(4, 6), np.arange(24.0).reshape(4, 6) + 100
    pattern = cuda.to_device(whole)[1:3, ::2]
    owner = cuda.to_device(other)
    view = ArrayFactory(pattern).view(owner)
    assert view.base is owner and view.allocation_key == owner.allocation_key
    np.testing.assert_array_equal(view.copy_to_host(), other[1:3, ::2])
