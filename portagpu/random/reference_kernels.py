"""Kernels of NumPy's stream of `numpy.random.Philox`: words, uniform numbers, and which words Lemire's method takes."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.random import conversions as bits
from portagpu.random.philox import philox4x64
from portagpu.random.thread_shares import share_of_thread


class Numbers(NamedTuple):
    """What words become: themselves, or uniform numbers; ``per_word`` of each."""

    dtype: Any
    per_word: int
    chunked: bool = False


@cuda.jit
def fill_from_reference(out, counter, key, skipped, plan: cuda.constexpr):
    """Numbers of the words behind the first ``skipped`` numbers of a block; a thread has a block or neighbouring ones.

    ``counter``: four uint64 of the first block, whose lowest words do not overflow into the fourth.
    """
    width = 4 * plan.per_word
    blocks = (out.size + skipped + width - 1) // width
    first, end = share_of_thread(blocks, plan.chunked)
    for block in range(first, end):
        c0 = counter[0] + np.uint64(block)
        c1 = counter[1] + (np.uint64(1) if c0 < counter[0] else np.uint64(0))
        c2 = counter[2] + (np.uint64(1) if c1 < counter[1] else np.uint64(0))
        c3 = counter[3] + (np.uint64(1) if c2 < counter[2] else np.uint64(0))
        words = philox4x64((c0, c1, c2, c3), key)
        for k in cuda.unroll(range(4)):
            low, high = np.uint32(words[k]), np.uint32(words[k] >> np.uint64(32))
            for half in cuda.unroll(range(plan.per_word)):
                at = np.int64(block) * width + (k * plan.per_word + half) - skipped
                if at >= 0 and at < out.size:
                    if plan.dtype is np.uint32:
                        out[at] = low if half == 0 else high
                    elif plan.per_word == 2:
                        out[at] = bits.uniform_float32(low if half == 0 else high)
                    elif plan.dtype is np.float64:
                        out[at] = bits.uniform_float64(low, high)
                    else:
                        out[at] = words[k]


@cache
def judging_kernel(width: int) -> Dispatcher[..., Any]:
    """Of words of ``width`` bits the numbers below ``span`` that Lemire's method makes, and whether it takes them.

    ``out`` gets ``offset`` and the upper half of the product, ``taken`` whether the lower half is no less than
    ``least``. Source: D. Lemire, "Fast random integer generation in an interval", 2019.
    """
    shift, mask = np.uint64(width % 64), np.uint64(2**width - 1)

    def judge(words, out, taken, offset, span, least):
        i = cuda.grid(1)
        if i < out.size:
            word = np.uint64(words[i])
            low = word * span
            if width == 64:
                high = word if span == np.uint64(0) else cuda.libdevice.umul64hi(word, span)  # 0 is 2**64
            else:
                high = low >> shift
                low = low & mask
            out[i] = offset + high
            taken[i] = low >= least

    return cuda.jit(judge, cache=True)
