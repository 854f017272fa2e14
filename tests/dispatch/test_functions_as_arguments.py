"""Device functions as arguments of kernels: each has a program, and is told from what is no device function."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import ArgumentTypeError

pytestmark = pytest.mark.one_device


class Change(NamedTuple):
    function: Any
    step: Any


@cuda.jit(device=True)
def more(value, step):
    return value + step


@cuda.jit(device=True)
def times(value, step):
    return value * step


@cuda.jit
def change(x, by):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = by.function(x[i], by.step)


def test_device_functions_are_arguments(device):
    """A kernel is compiled for each, also inside tuples; launches with one that was there take the short way."""
    x, launch, found = cuda.to_device(np.zeros(8)), change[1, 8], 0.0
    for function, step in ((more, 3.0), (times, 4.0), (more, 1.0), (times, 2.0)):
        launch(x, Change(function, step))
        assert launch._plan is not None
        found = function.py_func(found, step)
        assert (x.copy_to_host() == found).all()
    assert len(change.overloads) == 2
    with pytest.raises(ArgumentTypeError, match="`by\\[0\\]` is a function"):
        launch(x, Change(lambda value, step: value, 1.0))
    with pytest.raises(ArgumentTypeError, match="`by\\[0\\]` is a Dispatcher"):
        launch(x, Change(change, 1.0))
