"""States of xoroshiro128+ that lie 2**64 steps apart.

A step is linear over the bits of the state (shifts and exclusive ors), and so is a jump of any length. A jump is kept
as what it makes of each byte of the state, which applies it to many states at once; k jumps are found by squaring.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError

_Words = np.ndarray[Any, np.dtype[np.uint64]]
_JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)
_MASK = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear map of states; ``s0`` and ``s1`` say what becomes of each value of each of the state's 16 bytes."""

    s0: _Words  # 16 x 256
    s1: _Words

    def __call__(self, s0: _Words, s1: _Words) -> tuple[_Words, _Words]:
        """The images of states, given and returned as two arrays of words."""
        result = np.zeros_like(s0), np.zeros_like(s1)
        for byte in range(16):
            value = ((s0 if byte < 8 else s1) >> np.uint64(8 * (byte % 8))).astype(np.uint8)
            result[0][...] ^= self.s0[byte, value]
            result[1][...] ^= self.s1[byte, value]
        return result

    def squared(self) -> Linear:
        """This map applied twice."""
        return Linear(*self(self.s0, self.s1))


def _steps(s0: _Words, s1: _Words) -> tuple[_Words, _Words]:
    s1 = s1 ^ s0
    rotated = (s0 << np.uint64(55)) | (s0 >> np.uint64(9))
    return rotated ^ s1 ^ (s1 << np.uint64(14)), (s1 << np.uint64(36)) | (s1 >> np.uint64(28))


@lru_cache(maxsize=1)
def jump() -> Linear:
    """The map of 2**64 steps."""
    values = np.arange(256, dtype=np.uint64)
    s0, s1 = np.zeros((16, 256), np.uint64), np.zeros((16, 256), np.uint64)
    for byte in range(16):
        (s0 if byte < 8 else s1)[byte] = values << np.uint64(8 * (byte % 8))
    result = np.zeros_like(s0), np.zeros_like(s1)
    for word in _JUMP:
        for bit in range(64):
            if word >> bit & 1:
                result[0][...] ^= s0
                result[1][...] ^= s1
            s0, s1 = _steps(s0, s1)
    return Linear(*result)


def first_state(seed: Any) -> tuple[int, int]:
    """The state of a seed: SplitMix64's first number, twice. Raises `ArgumentTypeError` for what is no integer."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise ArgumentTypeError(f"a seed is an integer, not {seed!r}")
    z = (int(seed) + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31), z ^ (z >> 31)


def spaced_states(n: int, start: tuple[int, int], skip: int) -> tuple[_Words, _Words]:
    """``n`` states, one jump apart, the first ``skip`` jumps from ``start``; their words as two arrays."""
    s0, s1 = np.empty(n, np.uint64), np.empty(n, np.uint64)
    if n == 0:
        return s0, s1
    first = np.array([start[0]], np.uint64), np.array([start[1]], np.uint64)
    power = jump()
    while skip:
        if skip & 1:
            first = power(*first)
        skip >>= 1
        power = power.squared()
    s0[0], s1[0] = first[0][0], first[1][0]
    power, done = jump(), 1
    while done < n:  # as many more, from those that are there
        more = min(done, n - done)
        s0[done : done + more], s1[done : done + more] = power(s0[:more], s1[:more])
        power, done = power.squared(), done + more
    return s0, s1
