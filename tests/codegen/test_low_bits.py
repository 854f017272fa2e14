"""64-bit variables of which only the lower 32 bits are stored have 32; all others keep theirs."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import INT32, INT64
from portagpu.ir.types import ArrayType, Layout, Scalar

NUMBERS = ArrayType(Scalar(INT32), 1, Layout.C)
LONGS = ArrayType(Scalar(INT64), 1, Layout.C)


@cuda.jit
def counted(a, out):
    i = cuda.grid(1)
    if i < out.size:
        hits = 0
        for j in range(a.size):
            if a[j] > a[i]:
                hits += 1
        out[i] = hits


@cuda.jit
def mixed(a, out):
    """All operations whose lower bits depend on lower bits, far beyond 32 and 64 bits."""
    i = cuda.grid(1)
    if i < out.size:
        h = i
        other = 0
        for j in range(a.size):
            h = (h * 1000003 - a[j]) ^ (other & 0xFFFFFFFFFF)
            other = -h if a[j] > 0 else ~(h | other)
        out[i] = h + other


@cuda.jit
def compared(a, out):
    i = cuda.grid(1)
    if i < out.size:
        total = 0
        for _ in range(a.size):
            total += 2000000000
        out[i] = total if total > 4000000000 else 1


@cuda.jit
def divided(a, out):
    i = cuda.grid(1)
    if i < out.size:
        total = 0
        for _ in range(a.size):
            total += 2000000000
        out[i] = total // 3


@cuda.jit
def walked(a, out):
    """A subscript is compared and used as it is."""
    i = cuda.grid(1)
    if i < out.size:
        place = 0
        total = 0
        while place < a.size:
            total += a[place]
            place += 2
        out[i] = total


def text(kernel, kind):
    return generate(lower_kernel(kernel.source, (NUMBERS, kind), IDEAL), IDEAL).source


def test_a_counter_that_is_stored_has_the_array_s_width():
    assert "long" not in text(counted, NUMBERS)
    assert "long hits_" in text(counted, LONGS)


@pytest.mark.parametrize("kernel", [compared, divided], ids=lambda k: k.__name__)
def test_what_is_read_whole_keeps_its_width(kernel):
    assert "long total_" in text(kernel, NUMBERS)


def test_subscripts_stay_signed():
    assert "uint place" not in text(walked, NUMBERS)


def test_results_are_those_of_64_bits(device):
    a = np.array([5, -3, 2**31 - 1, -(2**31), 0, 7], np.int32)
    for kernel in (counted, mixed, compared, divided, walked):
        short, whole = np.zeros(6, np.int32), np.zeros(6, np.int64)
        kernel[1, 8](a, short)
        kernel[1, 8](a, whole)
        assert short.tolist() == whole.astype(np.int32).tolist(), kernel.__name__
