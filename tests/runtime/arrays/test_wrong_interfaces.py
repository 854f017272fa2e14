"""Wrong descriptions of arrays, by the CUDA Array Interface: each ends in an error of ours that says what is right."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import PortaGPUError


class NOTHING:
    """In place of an entry that is missing; nothing that describes an array either."""


WRONG = {
    "shape": [NOTHING, None, 4, "ab", (-1,), (4.0,), (None,), (400,), ("4",)],
    "typestr": [NOTHING, None, 5, "zz", "<f3", "|O", b"<f4"],
    "data": [NOTHING, None, 5, (1,), ("a", False), (1.5, False), (12345, False), (-1, False), (2**70, False)],
    "strides": [5, "a", ("a",), (4, 4), (1.5,), (2**40,)],
    "version": [NOTHING, None, "x", 99, -1, 1.5],
    "descr": [5, [("a", "zz"), ("b", "<f4")]],
}
CASES = [(key, value) for key, values in WRONG.items() for value in values]


class Described:
    def __init__(self, description):
        self.__cuda_array_interface__ = description


@cuda.jit
def first(x):
    x[0] = 1


def refused(description):
    for use in (cuda.as_cuda_array, cuda.to_device, lambda x: first[1, 1](x)):
        with pytest.raises(PortaGPUError) as caught:
            use(Described(description))
        assert caught.value.hint, caught.value


@pytest.mark.one_device
@pytest.mark.parametrize("key, value", CASES, ids=lambda part: str(part)[:20])
def test_one_wrong_entry(device, key, value):
    right = dict(cuda.to_device(np.zeros(4, np.float32)).__cuda_array_interface__)
    wrong = {**right, key: value}
    if value is NOTHING:
        del wrong[key]
    refused(wrong)


@pytest.mark.one_device
@pytest.mark.parametrize("wrong", [None, 1, "text", [], {}, [("shape", (4,))], NOTHING], ids=str)
def test_no_description_at_all(device, wrong):
    refused(wrong)
