"""A context that only builds: launches make their programs, and enqueue nothing."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.runtime.replay.replay import recorded


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@cuda.jit
def add_two(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 2


@cuda.jit(debug=True)
def add_checked(x):
    x[cuda.grid(1)] += 1


@pytest.fixture
def only_builds(device):
    context = cuda.current_context()
    context.only_builds = True
    yield context
    context.only_builds = False


def test_launches_build_and_do_nothing(only_builds):
    x = cuda.to_device(np.zeros(64, np.int32))  # copies from and to the host are made
    add_two[1, 64](x)
    before = set(only_builds.programs)
    for _ in range(3):  # the first one, and those that follow its plan
        add_one[1, 64](x)
    add_checked[2, 64](x)  # out of bounds, if it ran
    assert set(only_builds.programs) - before
    assert not x.copy_to_host().any()
    only_builds.only_builds = False
    programs = set(only_builds.programs)
    add_one[1, 64](x)
    assert (x.copy_to_host() == 1).all()
    assert set(only_builds.programs) == programs


def test_recordings_and_copies_do_nothing(device, only_builds):
    x, y = cuda.to_device(np.zeros((8, 8), np.float32)), cuda.to_device(np.ones((8, 8), np.float32))
    only_builds.only_builds = False
    flat = x.reshape(64)
    replay = recorded(lambda: add_one[1, 64](flat), [flat])
    only_builds.only_builds = True
    assert replay.launch(None)
    x.copy_to_device(y)
    before = set(only_builds.programs)
    x.copy_to_device(y.T)
    x[:, ::2].copy_to_device(y[:, ::2])
    assert set(only_builds.programs) - before or before
    only_builds.only_builds = False
    assert (x.copy_to_host() == 1).all()
