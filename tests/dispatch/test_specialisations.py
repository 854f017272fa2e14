"""Compiled specialisations are bounded in number; those that are dropped are made again, and results stay right."""

from __future__ import annotations

import gc
import sys
import weakref
from dataclasses import replace

import numpy as np
import pytest
from own_contexts import native_context

from portagpu import cuda, errors
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings

MOST = 3


@pytest.fixture
def context(device):
    settings = replace(Settings.from_environment(), specialisations=MOST)
    made = Context(device, native_context(device), settings)
    yield made
    made.close()


def kernel():
    @cuda.jit
    def add(x, n: cuda.constexpr):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += n

    return add


def kept(add):
    return sorted(key[1][1][1] for key in add._overloads)


def test_many_specialisations(context):
    add, x = kernel(), to_device(np.zeros(8, np.int64), context=context)
    seen = []
    for n in (*range(7), *range(7)):
        add[1, 8](x, n)
        seen.append(weakref.ref(next(reversed(add._overloads.values())).compiled))
        assert len(add._overloads) <= MOST
        assert len(context.specialisations) <= MOST and len(context.programs) <= MOST
    gc.collect()
    assert sum(found() is not None for found in seen) == MOST
    assert (x.copy_to_host() == 2 * sum(range(7))).all()


def test_what_is_used_stays(context):
    add, x = kernel(), to_device(np.zeros(8, np.int64), context=context)
    for n in range(8):
        for _ in range(3):  # the second and third time by a plan, which asks no dictionary
            add[1, 8](x, 100)
        add[1, 8](x, n)
    assert 100 in kept(add) and len(kept(add)) == MOST
    assert (x.copy_to_host() == 8 * 300 + sum(range(8))).all()


def test_what_is_in_flight_is_done(context):
    """Long enough that later launches, and the end of the kernel object, come before its end."""

    @cuda.jit
    def fill(x, n: cuda.constexpr):
        total = 0
        for k in range(100_000):
            total += (k * n) & 1
        x[cuda.grid(1)] = total + n

    arrays = [to_device(np.zeros(64, np.int64), context=context) for _ in range(3 * MOST)]
    for n, x in enumerate(arrays):
        fill[1, 64](x, n)
    assert len(fill._overloads) == MOST
    for n, x in enumerate(arrays):
        assert (x.copy_to_host() == 50_000 * (n % 2) + n).all()


def test_kernels_of_several_functions_count_together(context):
    x = to_device(np.zeros(8, np.int64), context=context)
    functions = [kernel() for _ in range(MOST + 2)]
    for turn in range(2):
        for n, add in enumerate(functions):
            add[1, 8](x, 10 * n + turn)
    assert sum(len(add._overloads) for add in functions) == MOST
    del functions, add
    gc.collect()
    last = kernel()
    last[1, 8](x, 1)
    assert len(last._overloads) == 1


def test_the_setting():
    assert Settings.from_environment({}).specialisations == 512
    assert Settings.from_environment({"PORTAGPU_SPECIALISATIONS": "0"}).specialisations == 0
    for wrong in ("-1", "many", "1.5"):
        with pytest.raises(errors.SettingsError, match="PORTAGPU_SPECIALISATIONS"):
            Settings.from_environment({"PORTAGPU_SPECIALISATIONS": wrong})


FACTOR = 2


@pytest.mark.parametrize("cache", [False, True])
def test_a_kernel_is_compiled_anew(device, monkeypatch, cache):
    addend, less = 3, 0

    @cuda.jit(device=True)
    def scaled(x):
        return x * FACTOR - less

    @cuda.jit(cache=cache)
    def kernel(x):
        x[0] = scaled(x[0]) + addend

    def run():
        x = cuda.to_device(np.full(1, 10))
        kernel[1, 1](x)
        return int(x.copy_to_host()[0])

    assert [run(), run()] == [23, 23]
    addend, less = 4, 1
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 5)
    assert [run(), run()] == [23, 23]  # as it was when it was compiled
    kernel.recompile()
    assert [run(), run()] == [54, 54]
    scaled.recompile()
    kernel.recompile()
    assert [run(), run()] == [53, 53]
    assert len(kernel.signatures) == 1
