"""Comparisons of Python integers in 32 bits, where those suffice and where they do not."""

from __future__ import annotations

import dataclasses

import numpy as np

from portagpu import cuda
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.device import DeviceType
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import FLOAT32, INT32, UINT64
from portagpu.ir.types import ArrayType, Layout, Scalar

PLANE = ArrayType(Scalar(FLOAT32), 2, Layout.C)
NUMBERS = ArrayType(Scalar(INT32), 1, Layout.C)


@cuda.jit
def inside(a):
    x, y = cuda.grid(2)
    rows, columns = a.shape
    if 0 < y < rows - 1 and x < columns - 1 and x != columns - 2:
        a[y, x] = 1


@cuda.jit
def compared(numbers, found):
    """Sums of numbers that have 32 bits, at the ends of what those hold."""
    i = cuda.grid(1)
    if i < numbers.size - 1:
        n = len(numbers)
        low, high = int(numbers[i]), int(numbers[i + 1])
        found[i, 0] = low + 1 > high
        found[i, 1] = low - 1 < high
        found[i, 2] = low * 2 > high
        found[i, 3] = i - n < 0
        found[i, 4] = i + 2147483647 > n
        found[i, 5] = n - 2147483647 - i * 4 < low
        found[i, 6] = low & 255 < high & 127
        found[i, 7] = (low & 255) - 255 <= -(high & 3)


def text(kernel, types, **changes):
    caps = dataclasses.replace(IDEAL, **changes)
    return generate(lower_kernel(kernel.source, types, caps), caps).source


def test_extents_and_ids_need_no_64_bits():
    assert "(long)" not in text(inside, (PLANE,))
    guarded = text(inside, (PLANE,), compares_ids=False)
    assert "(long)y" not in guarded and "get_work_dim() != 0u" in guarded


def test_what_may_overflow_keeps_64_bits(device):
    edge = np.iinfo(np.int32)
    numbers = np.array([edge.max, edge.min, 0, -1, edge.max, edge.max - 1, 1 << 30, -(1 << 30), 255, 127], np.int32)
    found = np.zeros((numbers.size - 1, 8), np.int32)
    compared[1, 16](numbers, found)
    n = numbers.size
    for i in range(n - 1):
        low, high = int(numbers[i]), int(numbers[i + 1])
        expected = (
            *(low + 1 > high, low - 1 < high, low * 2 > high, i - n < 0, i + 2147483647 > n),
            *(n - 2147483647 - i * 4 < low, low & 255 < high & 127, (low & 255) - 255 <= -(high & 3)),
        )
        assert found[i].astype(bool).tolist() == list(expected), i


def test_wide_code_compares_in_64_bits():
    caps = IDEAL
    program = lower_kernel(inside.source, (PLANE,), caps, wide_index=True)
    assert "(long)get_group_id(0)" in generate(program, caps).source


@cuda.jit
def copied(target, source, shift, count):
    for i in range(np.uint64(0), count):
        target[i] = source[i + shift]


def test_subscripts_of_64_bits_keep_them_on_cpus_alone():
    """The vectors of CPUs' compilers are made from counters that are not truncated."""
    flat, wide = ArrayType(Scalar(FLOAT32), 1, Layout.C), Scalar(UINT64)
    cpu = text(copied, (flat, flat, wide, wide), device_type=DeviceType.CPU)
    assert "(int)i" not in cpu and "(long)(i" in cpu
    gpu = text(copied, (flat, flat, wide, wide), device_type=DeviceType.GPU)
    assert "(long)" not in gpu


@cuda.jit
def shifted(target, source, first, back, count):
    for i in range(count):
        target[i] = source[first - back + i + back]


def test_differences_of_unsigned_subscripts(device):
    """Sums are modulo 2**64: what is below zero on the way is not at the end."""
    source, target = np.arange(100, dtype=np.float32), np.zeros(60, np.float32)
    shifted[1, 1](target, source, np.uint64(3), np.uint64(5), np.uint64(60))
    assert (target == source[3:63]).all()
