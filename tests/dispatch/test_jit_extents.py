"""Wrong extents in `cuda.jit` and in launches: each error says what is right there."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from opencl_text import text_of

from portagpu import cuda
from portagpu.device.ideal_device import IDEAL
from portagpu.errors import LaunchConfigError, LaunchConfigTypeError, MissingCapabilityError

ITEMS = [0, -1, True, False, 2.0, float("nan"), np.float32(2), 1j, "2", b"2", None, ..., object(), (2,), np.ones(2)]
WRONG = [
    *(item for item in ITEMS if item is not None and not isinstance(item, tuple)),
    *((2, item) for item in ITEMS),
    *([item, 1, 1] for item in ITEMS),
    (),
    (1, 1, 1, 1),
    {2},
    {2: 1},
    range(1, 3),
    (n for n in (2, 1)),
    cuda.jit,
]


def said(caught, what):
    """The text: a class of its own for what is no integer, and a hint for whatever is wrong."""
    assert caught.value.hint and str(caught.value).startswith(f"{what} ")
    return caught.value.hint


@pytest.mark.parametrize("option", ["cluster", "block_dim"])
def test_options(option):
    for wrong in WRONG:
        with pytest.raises((LaunchConfigError, LaunchConfigTypeError)) as caught:
            cuda.jit(**{option: wrong})
        assert f"{option}=" in said(caught, option) and "launch when" not in caught.value.hint


@pytest.mark.parametrize("axis, what", [(0, "griddim"), (1, "blockdim")])
def test_launches(axis, what):
    @cuda.jit
    def kernel(x):
        x[0] = 1

    for wrong in WRONG:
        shape = [1, 1]
        shape[axis] = wrong
        with pytest.raises((LaunchConfigError, LaunchConfigTypeError)) as caught:
            kernel[tuple(shape)]
        hint = said(caught, what)
        assert "int" in hint or "nothing to do" in hint


def test_right_ones():
    for cluster in (1, (1,), [2, 1], (2, 2, 2), np.int32(4), np.uint8(8), (np.int64(2), 1)):
        cuda.jit(cluster=cluster)


def test_products_that_are_too_large(device):
    """Whatever the extents are, the product counts; a device without clusters runs none of them."""
    for x, y, z in itertools.product([1, 3, 8, 2**31, 2**200], [1, 2, 9], [1, 5]):
        if x * y * z == 1:
            continue

        @cuda.jit(cluster=(x, y, z))
        def kernel(a):
            a[0] = 1

        a = np.zeros(1, np.int32)
        if x * y * z > IDEAL.cluster_size:
            with pytest.raises(MissingCapabilityError, match=f"a cluster of {x * y * z} blocks") as caught:
                text_of(kernel, a, caps=IDEAL)
            assert "product is at most 8" in caught.value.hint
        if x * y * z > device.capabilities.cluster_size:
            with pytest.raises(MissingCapabilityError, match="cluster") as caught:
                kernel[1, 1](a)
            assert "cluster=" in caught.value.hint and caught.value.span.filename == __file__
