"""Wrong descriptions of arrays, by the USM array interface: errors of ours, where kernels would end the process."""

from __future__ import annotations

import numpy as np
import pytest
from sycl_devices import WORKING, needs_sycl

import portagpu
from portagpu import cuda
from portagpu.errors import PortaGPUError

dpctl = pytest.importorskip("dpctl")
pytestmark = needs_sycl
DEVICES = WORKING


class NOTHING:
    """In place of an entry that is missing; nothing that describes an array either."""


WRONG = {
    "shape": [NOTHING, None, 4, "ab", (-1,), (4.5,), (10**30,), (2**45,)],
    "typestr": [NOTHING, None, 5, "zz", "|O"],
    "data": [
        NOTHING,
        None,
        5,
        (1,),
        ("a", False),
        (1.5, False),
        (12345, False),
        (0, False),
        (-1, False),
        (2**70, False),
    ],
    "strides": [5, "a", ("a",), (1, 1), (2**45,)],
    "offset": ["a", 1.5, None, 2**45],
    "syclobj": [NOTHING, None, 5, "cpu", type("Other", (), {})],
}
CASES = [(key, value) for key, values in WRONG.items() for value in values]


class Described:
    """Of dpctl's kind: the class has the name."""

    def __init__(self, description):
        self._description = description

    @property
    def __sycl_usm_array_interface__(self):
        return self._description


@cuda.jit
def first(x):
    x[0] = 1


@pytest.fixture
def right(device):
    """A right description, and what keeps its memory."""
    tensors = pytest.importorskip("dpnp.tensor")
    array = tensors.zeros(4, dtype="f4")
    first[1, 1](Described(array.__sycl_usm_array_interface__))
    assert tensors.asnumpy(array)[0] == 1
    return dict(array.__sycl_usm_array_interface__), array


def refused(description):
    for use in (lambda x: first[1, 1](x), lambda x: portagpu.matmul(x, x)):
        with pytest.raises(PortaGPUError) as caught:
            use(Described(description))
        assert caught.value.hint, caught.value


@pytest.mark.parametrize("key, value", CASES, ids=lambda part: str(part)[:20])
def test_one_wrong_entry(right, key, value):
    wrong = {**right[0], key: value}
    if value is NOTHING:
        del wrong[key]
    refused(wrong)


@pytest.mark.parametrize("wrong", [None, 1, "text", [], {}, NOTHING], ids=str)
def test_no_description_at_all(device, wrong):
    refused(wrong)


def test_arrays_without_elements_have_no_address(right):
    first.specialize(cuda.device_array(4, np.float32))
    cuda.as_cuda_array(cuda.device_array(0, np.float32))
    touch = cuda.jit(lambda x: None)
    touch[1, 1](Described({**right[0], "shape": (0,), "data": (0, False)}))


def test_parts_of_devices(device):
    """Queues of them are not listed, and the error says what is."""
    tensors = pytest.importorskip("dpnp.tensor")
    try:
        part = dpctl.SyclDevice("cpu").create_sub_devices(partition=1)[0]
    except dpctl.SyclSubDeviceCreationError:
        pytest.skip("the device has no parts")
    array = tensors.zeros(4, dtype="f4", sycl_queue=dpctl.SyclQueue(part))
    with pytest.raises(PortaGPUError, match="does not list") as caught:
        first[1, 1](array)
    assert "whole device" in caught.value.hint
