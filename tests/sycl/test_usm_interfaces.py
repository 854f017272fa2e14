"""Any object may have ``__sycl_usm_array_interface__``, and say anything by it: what makes no sense is our error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sycl_devices import WORKING, needs_dpnp, needs_sycl

import portagpu
from portagpu import cuda, errors
from portagpu.backends.sycl.usm_interface import INTERFACE, interface, layout

pytestmark = [needs_sycl, pytest.mark.one_device]
DEVICES = WORKING
_ADDRESS, _EXTENTS = 2**32, (3, 4)


class Array:
    """An array of nobody's."""

    def __init__(self, facts):
        self._facts = facts

    @property
    def __sycl_usm_array_interface__(self):
        if isinstance(self._facts, Exception):
            raise self._facts
        return self._facts


def valid(**changed):
    facts = {"data": (_ADDRESS, False), "shape": _EXTENTS, "strides": None, "typestr": "<f4", "offset": 0}
    return {**facts, "version": 1, "syclobj": None, **changed}


_NUMBERS = st.one_of(
    st.integers(-3, 7), st.integers(), st.sampled_from([2**31, 2**63 - 1, 2**63, 2**64, True, 1.5, None])
)
_TUPLES = st.one_of(st.none(), st.lists(_NUMBERS, max_size=4).map(tuple), st.lists(_NUMBERS, max_size=3), _NUMBERS)
_TYPES = st.sampled_from(
    ["<f4", ">f4", "|b1", "<c16", "<i8", "|O", "|V8", "<U3", "<M8[ns]", "", "f", "f4,f4", "(2,)f4", 7, None]
)
_VALUES = {
    "data": st.one_of(st.tuples(_NUMBERS, st.booleans()), _TUPLES, st.text(max_size=3)),
    "shape": st.one_of(st.lists(st.integers(0, 4), max_size=3).map(tuple), _TUPLES),
    "strides": st.one_of(st.lists(st.integers(-9, 9), max_size=3).map(tuple), _TUPLES),
    "typestr": st.one_of(_TYPES, st.text(max_size=4)),
    "offset": _NUMBERS,
}


@given(
    changed=st.fixed_dictionaries({}, optional=_VALUES), missing=st.sets(st.sampled_from(sorted(valid())), max_size=1)
)
def test_what_is_accepted_is_where_it_says(changed, missing):
    facts = {name: value for name, value in valid(**changed).items() if name not in missing}
    array = Array(facts)
    try:
        found = layout(array, interface(array))
    except errors.PortaGPUError as error:
        assert error.hint and "Array" in error.message
        return
    shape, step = tuple(facts["shape"]), np.dtype(facts["typestr"]).itemsize
    assert found.shape == shape and found.dtype == np.dtype(facts["typestr"]) and found.readonly == facts["data"][1]
    assert found.size > 0 and found.address >= 0 and len(found.strides) == len(shape)
    if not all(shape):
        return
    steps = facts.get("strides")
    steps = tuple(math.prod(shape[n + 1 :]) for n in range(len(shape))) if steps is None else steps
    assert found.strides == tuple(n * step for n in steps)
    start = facts["data"][0] + facts.get("offset", 0) * step
    assert found.address + found.offset == start
    corners = [
        sum((extent - 1) * n for extent, n in zip(shape, found.strides, strict=True) if n * sign > 0)
        for sign in (1, -1)
    ]
    assert found.address <= start + corners[1] and start + corners[0] + step <= found.address + found.size


@pytest.mark.parametrize(
    "facts",
    [
        None,
        7,
        {},
        ValueError("no memory"),
        AttributeError("not now"),
        valid(typestr=">f4"),
        valid(typestr="[('x', 'f4')]"),
        valid(typestr="__import__('os')"),
        valid(shape=(3, -4)),
        valid(strides=(1,)),
        valid(strides=()),
        valid(shape=(2**40, 2**40)),
        valid(strides=(2**62, 1)),
        valid(offset=-(2**40)),
        valid(data=(0, False)),
        valid(data=(-5, False)),
        valid(data=(2**64, False)),
        valid(data=7),
        valid(shape=(1,) * 65),
        valid(syclobj=None),
        valid(syclobj="opencl:cpu:0"),
    ],
    ids=lambda facts: str(facts)[:60],
)
def test_senseless_arrays_are_no_arguments(device, facts):
    @cuda.jit
    def touch(x):
        x[0] = 1

    for use in (cuda.as_cuda_array, touch[1, 1], lambda x: portagpu.matmul(x, x)):
        with pytest.raises(errors.PortaGPUError):
            use(Array(facts))


@pytest.fixture
def theirs(device):
    """An array of dpnp's on the device, and what it says."""
    needs_dpnp()
    import dpctl
    import dpnp

    cuda.current_context()
    found = next(d for d in dpctl.get_devices() if d.sycl_platform.name == device.platform)
    array = dpnp.arange(12, dtype="f4", sycl_queue=dpctl.SyclQueue(found))
    return array, getattr(array, INTERFACE)


def test_lists_and_elements_before_the_address(theirs):
    _, facts = theirs
    address = facts["data"][0]
    backwards = Array({**facts, "data": [address + 44, True], "shape": [6], "strides": [-2], "offset": -1})
    found = cuda.as_cuda_array(backwards)
    np.testing.assert_array_equal(found.copy_to_host(), np.arange(12)[10::-2])
    assert found.readonly


def test_memory_of_other_contexts(theirs):
    import dpctl
    import dpctl.memory

    array, facts = theirs
    device = array.sycl_device
    other = dpctl.SyclQueue(dpctl.SyclContext([device]), device)
    foreign = dpctl.memory.MemoryUSMDevice(64, queue=other)
    named = {**facts, "data": (foreign._pointer, False)}
    with pytest.raises(errors.MemoryNotSharedError, match="context that it names"):
        cuda.as_cuda_array(Array(named))
    assert cuda.as_cuda_array(Array({**named, "syclobj": other})).shape == (12,)
    with pytest.raises(errors.MemoryNotSharedError):
        cuda.as_cuda_array(Array({**named, "syclobj": other.sycl_context, "shape": (2**20,)}))


def test_memory_of_nobody(theirs):
    host = np.ones(12, "f4")
    for address in (host.ctypes.data, 4096):
        with pytest.raises(errors.MemoryNotSharedError):
            cuda.as_cuda_array(Array({**theirs[1], "data": (address, False)}))


def test_a_context_in_place_of_a_queue(theirs):
    array, facts = theirs
    found = cuda.as_cuda_array(Array({**facts, "syclobj": array.sycl_queue.sycl_context}))
    np.testing.assert_array_equal(found.copy_to_host(), np.arange(12))


def test_arrays_without_elements_need_no_memory(theirs):
    found = cuda.as_cuda_array(Array({**theirs[1], "data": (0, False), "shape": (0, 5)}))
    assert found.shape == (0, 5) and found.copy_to_host().shape == (0, 5)
