"""A mistake of the user's is one error: no frames of the compiler, no chain of its own exceptions."""

from __future__ import annotations

import os
import traceback

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import PortaGPUError

pytestmark = pytest.mark.one_device

PACKAGE = os.sep + "portagpu" + os.sep


def misspelt(x):
    x[0] = cuda.treadIdx.x


def outside_of_a_tuple(x):
    x[0] = (1, 2)[5]


def refused_while_folding(x):
    x[0] = float("nothing")


@cuda.jit
def fill(x):
    x[0] = 1


CALLS = {
    "attribute": lambda: cuda.jit(misspelt)[1, 1](np.zeros(1)),
    "item": lambda: cuda.jit(outside_of_a_tuple)[1, 1](np.zeros(1)),
    "fold": lambda: cuda.jit(refused_while_folding)[1, 1](np.zeros(1)),
    "arguments": lambda: fill[1, 1](np.zeros(1), 2),
    "an argument": lambda: fill[1, 1](object()),
    "a block": lambda: fill[1, 2**20](np.zeros(1)),
}


def caught(call):
    with pytest.raises(PortaGPUError) as found:
        call()
    return found.value


@pytest.mark.parametrize("name", CALLS)
def test_nothing_but_the_error_is_shown(device, name):
    error = caught(CALLS[name])
    shown = traceback.TracebackException.from_exception(error)
    assert shown.__cause__ is None
    assert shown.__context__ is None or shown.__suppress_context__
    inner = [frame for frame in traceback.extract_tb(error.__traceback__) if PACKAGE in frame.filename]
    assert len(inner) <= 1, inner


def test_all_of_it_is_shown_to_who_asks(device, monkeypatch):
    monkeypatch.setenv("PORTAGPU_TRACEBACK", "1")
    error = caught(CALLS["an argument"])
    inner = [frame for frame in traceback.extract_tb(error.__traceback__) if PACKAGE in frame.filename]
    assert len(inner) > 2
