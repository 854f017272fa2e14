"""Arrays of two contexts never meet in one call: drivers crash on a foreign buffer."""

from __future__ import annotations

import numpy as np
import pytest
from own_contexts import native_context

from portagpu import cuda, errors
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context


@cuda.jit
def copy(x, y):
    i = cuda.grid(1)
    if i < x.shape[0]:
        y[i] = x[i]


@pytest.fixture
def foreign(device):
    context = Context.wrap(native_context(device))
    yield to_device(np.ones(8, np.float32), context=context)
    context.close()


@pytest.mark.parametrize("wrap", [lambda x: x, cuda.In], ids=["plain", "In"])
def test_kernels_refuse_foreign_arrays(device, foreign, wrap):
    if cuda.current_context().driver.shares_addresses:
        pytest.skip("a card has one context, which all libraries use")
    own = cuda.to_device(np.zeros(8, np.float32))
    with pytest.raises(errors.ArgumentTypeError, match=r"`y` is on .* another context"):
        copy[1, 8](own, wrap(foreign))
    with pytest.raises(errors.ArgumentTypeError, match=r"`y` is on .* another context"):
        copy[1, 8, foreign.context.default_stream](foreign, own)
    copy[1, 8](foreign, foreign)


def test_copies_between_contexts(device, foreign):
    own = cuda.to_device(np.zeros(8, np.float32))
    own[::2] = foreign[::2]
    np.testing.assert_array_equal(own.copy_to_host(), [1, 0] * 4)
    foreign.copy_to_device(own)
    np.testing.assert_array_equal(foreign.copy_to_host(), [1, 0] * 4)
    own.copy_to_device(foreign[::-1], stream=cuda.stream())
    np.testing.assert_array_equal(own.copy_to_host(), [0, 1] * 4)


def test_contexts_that_share_a_drivers_are_closed_alone(device):
    current = cuda.current_context()
    Context(device, current.cl_context, current.settings).close()
    assert Context.wrap(current.cl_context) is current
