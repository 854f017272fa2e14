"""Philox: random blocks as a function of a counter and a key (Salmon, Moraes, Dror and Shaw, SC 2011).

Philox4x32-10 makes four words of 32 bits of a block's number, Philox4x64-10 four of 64 bits. Blocks depend on nothing
else, so that threads make any of them in any order. Both agree bit by bit with Random123, and Philox4x64 with NumPy's
`numpy.random.Philox`.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda

_HALF = np.uint64(32)
_MULTIPLY_0, _MULTIPLY_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
_MULTIPLY_0_WIDE, _MULTIPLY_1_WIDE = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_WEYL_0_WIDE, _WEYL_1_WIDE = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_ROUNDS = 10


@cuda.jit(device=True)
def philox4x32(counter, key):
    """The block of a counter, four uint32, under a key, two uint32: four uniform uint32."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in cuda.unroll(range(_ROUNDS)):
        p0 = _MULTIPLY_0 * np.uint64(c0)
        p1 = _MULTIPLY_1 * np.uint64(c2)
        c0, c1 = np.uint32(p1 >> _HALF) ^ c1 ^ k0, np.uint32(p1)
        c2, c3 = np.uint32(p0 >> _HALF) ^ c3 ^ k1, np.uint32(p0)
        k0 += _WEYL_0
        k1 += _WEYL_1
    return c0, c1, c2, c3


@cuda.jit(device=True)
def philox4x64(counter, key):
    """The block of a counter, four uint64, under a key, two uint64: four uniform uint64."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in cuda.unroll(range(_ROUNDS)):
        high_0 = cuda.libdevice.umul64hi(_MULTIPLY_0_WIDE, c0)
        high_1 = cuda.libdevice.umul64hi(_MULTIPLY_1_WIDE, c2)
        low_0, low_1 = _MULTIPLY_0_WIDE * c0, _MULTIPLY_1_WIDE * c2
        c0, c1 = high_1 ^ c1 ^ k0, low_1
        c2, c3 = high_0 ^ c3 ^ k1, low_0
        k0 += _WEYL_0_WIDE
        k1 += _WEYL_1_WIDE
    return c0, c1, c2, c3


@cuda.jit(device=True)
def block_at(place, stream, attempt, key):
    """Four words of 32 bits: block ``place`` (64 bits) of a stream, for the ``attempt``-th time."""
    return philox4x32((np.uint32(place), np.uint32(place >> _HALF), stream, np.uint32(attempt)), key)
