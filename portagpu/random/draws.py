"""Distributions of which a block of random words makes a fixed count of numbers: four narrow ones, or two wide ones."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import math
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.random import conversions as bits
from portagpu.random.elementary import exp32, exp64, log32, log64, turn32, turn64


class Source(Enum):
    """What the numbers of a distribution are made of."""

    WORDS = "words"  # each of one word, wide ones of two
    NORMALS = "normals"  # each of a normal number
    ACCEPTED = "accepted"  # each of one word that is accepted, or that was drawn again


class Draw(NamedTuple):
    """A distribution. ``one(low, high, parameters, plan)`` makes a number of a word: of ``high``, or of both where
    ``wide``; of a normal number it is ``one(x, x, ...)``. ``accepts(low, high, parameters, plan)``: whether it may.
    """

    one: Any
    dtype: Any = np.float32
    wide: bool = False
    source: Source = Source.WORDS
    accepts: Any = None
    vector: Any = None  # the type of a block's numbers as a vector, where they are stored at once

    @property
    def width(self) -> int:
        """Numbers of a block."""
        return 2 if self.wide else 4


@cuda.jit(device=True)
def numbers_of(words, parameters, plan):
    """A block's numbers, as a tuple."""
    w0, w1, w2, w3 = words
    if plan.source is Source.NORMALS:
        if plan.wide:
            x, y = bits.normal_float64(w0, w1, w2, w3)
            return plan.one(x, x, parameters, plan), plan.one(y, y, parameters, plan)
        x, y = bits.normal_float32(w0, w1)
        z, t = bits.normal_float32(w2, w3)
        return (
            plan.one(x, x, parameters, plan),
            plan.one(y, y, parameters, plan),
            plan.one(z, z, parameters, plan),
            plan.one(t, t, parameters, plan),
        )
    if plan.wide:
        return plan.one(w0, w1, parameters, plan), plan.one(w2, w3, parameters, plan)
    return (
        plan.one(w0, w0, parameters, plan),
        plan.one(w1, w1, parameters, plan),
        plan.one(w2, w2, parameters, plan),
        plan.one(w3, w3, parameters, plan),
    )


@cuda.jit(device=True)
def scaled(value, _, parameters, plan):
    """``parameters[0] + parameters[1] * value``."""
    return parameters[0] + parameters[1] * value


@cuda.jit(device=True)
def scaled_exponent(value, _, parameters, plan):
    """Its exponential: log-normal numbers of normal ones."""
    return exponential_of(parameters[0] + parameters[1] * value, plan)


@cuda.jit(device=True)
def unit(low, high, parameters, plan):
    """Uniform in [0, 1)."""
    if plan.wide:
        return bits.uniform_float64(low, high)
    return bits.uniform_float32(high)


@cuda.jit(device=True)
def uniform(low, high, parameters, plan):
    """Uniform from ``parameters[0]`` on, as far as ``parameters[1]``."""
    return parameters[0] + parameters[1] * unit(low, high, parameters, plan)


@cuda.jit(device=True)
def standard_exponential(low, high, plan):
    """Exponential with mean 1, never 0."""
    if plan.wide:
        return bits.exponential_float64(low, high)
    return bits.exponential_float32(high)


@cuda.jit(device=True)
def half(low, high, plan):
    """Uniform in (0, 1/2], of the bits below the highest."""
    if plan.wide:
        return bits.half_float64(low, high)
    return bits.half_float32(high)


@cuda.jit(device=True)
def logarithm(x, plan):
    """The natural logarithm of a positive number."""
    if plan.wide:
        return log64(x)
    return log32(x)


@cuda.jit(device=True)
def exponential_of(x, plan):
    """The exponential of a number."""
    if plan.wide:
        return exp64(x)
    return exp32(x)


@cuda.jit(device=True)
def exponential(low, high, parameters, plan):
    """Exponential with mean ``parameters[1]``."""
    return parameters[1] * standard_exponential(low, high, plan)


@cuda.jit(device=True)
def laplace(low, high, parameters, plan):
    """Both sides exponential, around ``parameters[0]``."""
    away = parameters[1] * logarithm(2 * half(low, high, plan), plan)
    return parameters[0] + bits.signed(high, away)


@cuda.jit(device=True)
def logistic(low, high, parameters, plan):
    """The logit of a uniform number, of its smaller side."""
    v = half(low, high, plan)
    return parameters[0] + bits.signed(high, parameters[1] * logarithm(v / (1 - v), plan))


@cuda.jit(device=True)
def gumbel(low, high, parameters, plan):
    """``parameters[0] - parameters[1] * log(E)`` of an exponential number."""
    return parameters[0] - parameters[1] * logarithm(standard_exponential(low, high, plan), plan)


@cuda.jit(device=True)
def cauchy(low, high, parameters, plan):
    """A random direction's cotangent; odd words are never along the axis."""
    if plan.wide:
        x, y = turn64(high, low | np.uint32(1))
        return parameters[0] + parameters[1] * (x / y)
    x, y = turn32(high | np.uint32(1))
    return parameters[0] + parameters[1] * (x / y)


@cuda.jit(device=True)
def exponential_power(low, high, parameters, plan):
    """``parameters[0] * E**parameters[1]`` of an exponential number: Weibull's, and Rayleigh's."""
    return parameters[0] * exponential_of(parameters[1] * logarithm(standard_exponential(low, high, plan), plan), plan)


@cuda.jit(device=True)
def pareto(low, high, parameters, plan):
    """``exp(parameters[1] * E) - 1``: Lomax's, which NumPy calls Pareto's."""
    return math.expm1(parameters[1] * standard_exponential(low, high, plan))


@cuda.jit(device=True)
def power(low, high, parameters, plan):
    """``exp(-parameters[1] * E)``: a uniform number's power."""
    return exponential_of(-parameters[1] * standard_exponential(low, high, plan), plan)


@cuda.jit(device=True)
def word(low, high):
    """64 random bits."""
    return np.uint64(high) << np.uint64(32) | np.uint64(low)


@cuda.jit(device=True)
def bounded(low, high, parameters, plan):
    """``parameters[0]`` and an integer below ``parameters[1]``: the upper half of a product with random bits."""
    if plan.wide:
        return parameters[0] + cuda.libdevice.umul64hi(word(low, high), parameters[1])
    return parameters[0] + (np.uint64(high) * np.uint64(parameters[1]) >> np.uint64(32))


@cuda.jit(device=True)
def is_fair(low, high, parameters, plan):
    """Whether all integers get as many words: the product's lower half is at least ``parameters[2]`` (Lemire 2019)."""
    if plan.wide:
        return word(low, high) * parameters[1] >= parameters[2]
    return np.uint32(high * parameters[1]) >= parameters[2]


@cuda.jit(device=True)
def raw(low, high, parameters, plan):
    """``parameters[0]`` and all bits of a word."""
    if plan.wide:
        return parameters[0] + word(low, high)
    return parameters[0] + np.uint64(high)
