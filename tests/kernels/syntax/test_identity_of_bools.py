"""``is`` between bools of run time, as programs write ``if flag is True``."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.device import DeviceRecord
from portagpu.errors import KernelTypeError

pytestmark = pytest.mark.one_device


@cuda.jit
def which(flags, flag, number, out):
    for i in range(flags.size):
        if flags[i] is True:
            out[0, i] = 1
        if flags[i] is not True:
            out[1, i] = 1
        if False is flags[i]:
            out[2, i] = 1
        if flags[i] is flag:
            out[3, i] = 1
        if (flags[i] and flag) is False:
            out[4, i] = 1
        if number is not True:
            out[5, i] = 1
        if flags[i] is not None and (i > 0) is not None:
            out[6, i] = 1


@pytest.mark.parametrize("flag", (False, True))
def test_bools_are_the_same_if_they_are_equal(device: DeviceRecord, flag: bool) -> None:
    flags = np.array([True, False, True])
    out = np.zeros((7, 3), np.int32)
    which[1, 1](flags, flag, 1, out)
    expected = [flags, ~flags, ~flags, flags == flag, ~(flags & flag), [1, 1, 1], [1, 1, 1]]
    np.testing.assert_array_equal(out, np.array(expected))


def test_numbers_are_compared_by_their_values() -> None:
    @cuda.jit
    def same(a, b, out):
        out[0] = a is b

    with pytest.raises(KernelTypeError, match=r"`is` compares"):
        same[1, 1](1, 2, np.zeros(1))
