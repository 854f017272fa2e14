"""64-bit numbers that are made of a thread's place: as NumPy computes them, also cut to fewer bits.

Intel's CPU runtime computes such numbers in 32 bits where it vectorises (docs/driver-quirks.md).
"""

from __future__ import annotations

import linecache
import random

import numpy as np
import pytest

from portagpu import cuda

THREADS, BLOCKS, NUMBERS = 64, 3, 12
TEXT = """
@cuda.jit
def kernel(others, found, row):
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    other = others[i]
"""


def expression(draw):
    """A number of two to four operations, in int64 or uint64."""
    text, kind = draw.choice(
        [("np.int64(tid)", "int64"), ("np.int64(np.uint32(tid))", "int64"), ("np.uint64(tid)", "uint64")]
    )
    for _ in range(draw.randint(2, 4)):
        shift, factor = draw.choice([1, 2, 3, 7, 17, 29, 31, 32, 38]), draw.choice([2, 8, 3, 24, 4097, 1 << 33])
        step = draw.choice(
            [
                f"({text} << np.{kind}({shift}))",
                f"({text} << np.{kind}({shift}))",
                f"({text} >> np.{kind}({shift}))",
                f"({text} * np.{kind}({factor}))",
                f"({text} + np.{kind}({factor}))",
                f"(np.{kind}({100 + factor}) - {text})",
                f"({text} // np.{kind}({factor}))",
                f"({text} ^ np.{kind}({factor}))",
                f"(~{text})",
                f"np.{kind}(np.int32({text}))",
                f"np.{kind}(np.{draw.choice(['uint32', 'int16', 'uint8'])}({text}))",
            ]
        )
        text = step
    return f"np.int64({text})"


@pytest.mark.parametrize("seed", range(6))
def test_numbers_of_threads(device, seed):
    draw = random.Random(seed)
    numbers = [expression(draw) for _ in range(NUMBERS)]
    lines = [
        f"    v = {text}\n"
        f"    found[{2 * n}, i] = 1 if v <= row else other\n"
        f"    cut = np.int64(np.int32(v))\n"
        f"    found[{2 * n + 1}, i] = cut + cut if cut > other else v ^ other\n"
        for n, text in enumerate(numbers)
    ]
    text, file = TEXT + "".join(lines), f"<numbers of threads {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {"np": np, "cuda": cuda, "__name__": "drawn"}
    exec(compile(text, file, "exec"), names)
    others = np.arange(THREADS * BLOCKS) * 37 % 101
    found = cuda.to_device(np.zeros((2 * NUMBERS, others.size), np.int64))
    names["kernel"][BLOCKS, THREADS](others, found, 30)
    tid = np.tile(np.arange(THREADS, dtype=np.int32), BLOCKS)
    for n, (number, pair) in enumerate(zip(numbers, found.copy_to_host().reshape(NUMBERS, 2, -1), strict=True)):
        with np.errstate(all="ignore"):
            value = eval(number, {"np": np, "tid": tid})
        cut = value.astype(np.int32).astype(np.int64)
        np.testing.assert_array_equal(pair[0], np.where(value <= 30, 1, others), err_msg=number)
        np.testing.assert_array_equal(pair[1], np.where(cut > others, 2 * cut, value ^ others), err_msg=f"{n} {number}")
