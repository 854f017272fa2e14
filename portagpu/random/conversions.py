"""Random words as numbers: uniform, exponential and normal ones."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import math

import numpy as np

from portagpu import cuda
from portagpu.random.elementary import log32, log64, turn32, turn64

_SIGN = np.uint32(0x80000000)


@cuda.jit(device=True)
def uniform_float32(word):
    """A multiple of 2**-24 in [0, 1) of 32 random bits."""
    return np.float32(np.int32(word >> np.uint32(8))) * np.float32(2.0**-24)


@cuda.jit(device=True)
def uniform_float64(low, high):
    """A multiple of 2**-53 in [0, 1) of two words of 32 random bits."""
    upper = np.float64(np.int32(high >> np.uint32(6))) * 2.0**-26
    return upper + np.float64(np.int32((high & np.uint32(63)) << np.uint32(21) | low >> np.uint32(11))) * 2.0**-53


@cuda.jit(device=True)
def positive_float32(word):
    """A float32 in (0, 1], close to 0 as fine as 2**-32."""
    return np.float32(word) * np.float32(2.0**-32) + np.float32(2.0**-33)


@cuda.jit(device=True)
def positive_float64(low, high):
    """A float64 in (0, 1), an odd multiple of 2**-53."""
    upper = np.float64(np.int32(high >> np.uint32(6))) * 2.0**-26
    bits = (high & np.uint32(63)) << np.uint32(20) | low >> np.uint32(12)
    return upper + (np.float64(np.int32(bits)) * 2.0**-52 + 2.0**-53)


@cuda.jit(device=True)
def exponential_float32(word):
    """A float32, exponentially distributed with mean 1, at least 2**-33: exact also where it is small."""
    rest = positive_float32(~word)  # 1 less the uniform number, which may have been rounded to 1
    series = rest * (1 + rest * (np.float32(1 / 2) + rest * (np.float32(1 / 3) + rest * np.float32(1 / 4))))
    return cuda.selp(rest < np.float32(2.0**-7), series, -log32(positive_float32(word)))


@cuda.jit(device=True)
def exponential_float64(low, high):
    """A float64, exponentially distributed with mean 1, at least 2**-53."""
    return -log64(positive_float64(low, high))


@cuda.jit(device=True)
def normal_float32(word_0, word_1):
    """Two independent float32, normally distributed: Box and Muller's transform of two words."""
    radius = math.sqrt(np.float32(-2) * log32(positive_float32(word_0)))
    x, y = turn32(word_1)
    return radius * x, radius * y


@cuda.jit(device=True)
def normal_float64(word_0, word_1, word_2, word_3):
    """Two independent float64, normally distributed: Box and Muller's transform of four words."""
    radius = math.sqrt(-2 * log64(positive_float64(word_0, word_1)))
    x, y = turn64(word_3, word_2)
    return radius * x, radius * y


@cuda.jit(device=True)
def half_float32(word):
    """A float32 in (0, 1/2] of 31 bits."""
    return np.float32(word & ~_SIGN) * np.float32(2.0**-32) + np.float32(2.0**-33)


@cuda.jit(device=True)
def half_float64(low, high):
    """A float64 in (0, 1/2) of the bits below the highest."""
    return positive_float64(low << np.uint32(1), high << np.uint32(1) | low >> np.uint32(31)) * 0.5


@cuda.jit(device=True)
def signed(word, value):
    """A number with the sign that the highest bit of a word tells."""
    return cuda.selp((word & _SIGN) != 0, -value, value)
