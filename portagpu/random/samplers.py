"""Distributions whose numbers take as many random words as chance has it: each element has attempts of its own.

Element ``i`` of an array takes blocks of place ``start + i`` only, their attempts one after the other, so that it
depends on no other element.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.random import conversions as bits
from portagpu.random.draws import exponential_of, logarithm, standard_exponential, word
from portagpu.random.philox import block_at

_BOOST = np.uint32(0x40000000)  # attempts from here on are for other numbers of the same element
_SECOND = np.uint32(0x80000000)
_SMALL_MEAN = 10  # below it numbers are counted up from 0
_MOST_COUNTED = 256  # a mean below 10 does not get there
_LARGEST = 2.0**63 - 1024  # of float64 below 2**63
# what Stirling's formula lacks of log(k!), for k below 10
_TAILS = np.array(
    [math.lgamma(k + 1) - (k + 0.5) * math.log(k + 1) + k + 1 - math.log(2 * math.pi) / 2 for k in range(10)]
)


class Sampler(NamedTuple):
    """``one(block, place, a, b, plan)``: the number of an element, of two parameters, which are arrays if ``arrays``.

    ``quick(block, place, a, b, plan)``: whether the first attempt is taken, and its number, without branches; or None.
    ``real``: what it computes with, float64 where ``wide``.
    """

    one: Any
    dtype: Any
    quick: Any = None
    real: Any = np.float64
    wide: bool = True
    arrays: bool = False


@cuda.jit(device=True)
def uniforms(block, attempt, place, plan):
    """Four numbers in (0, 1] of an attempt."""
    if plan.wide:
        w0, w1, w2, w3 = block_at(block, place.stream, 2 * attempt, place.key)
        w4, w5, w6, w7 = block_at(block, place.stream, 2 * attempt + np.uint32(1), place.key)
        return (
            bits.positive_float64(w0, w1),
            bits.positive_float64(w2, w3),
            bits.positive_float64(w4, w5),
            bits.positive_float64(w6, w7),
        )
    w0, w1, w2, w3 = block_at(block, place.stream, attempt, place.key)
    return (
        bits.positive_float32(w0),
        bits.positive_float32(w1),
        bits.positive_float32(w2),
        bits.positive_float32(w3),
    )


@cuda.jit(device=True)
def candidates(block, attempt, place, plan):
    """Two normal numbers and two in (0, 1] of an attempt."""
    if plan.wide:
        w0, w1, w2, w3 = block_at(block, place.stream, 2 * attempt, place.key)
        w4, w5, w6, w7 = block_at(block, place.stream, 2 * attempt + np.uint32(1), place.key)
        x, y = bits.normal_float64(w0, w1, w2, w3)
        return x, y, bits.positive_float64(w4, w5), bits.positive_float64(w6, w7)
    w0, w1, w2, w3 = block_at(block, place.stream, attempt, place.key)
    x, y = bits.normal_float32(w0, w1)
    return x, y, bits.positive_float32(w2), bits.positive_float32(w3)


@cuda.jit(device=True)
def _is_gamma(x, u, d, c, plan):
    """Marsaglia and Tsang's test (2000), and the logarithm of the number over ``d``.

    With ``y = c * x`` their bound, ``x**2 / 2 + d * (1 - (1 + y)**3 + 3 * log(1 + y))``, is 3 d times what the
    logarithm has more than its first three terms: near 0 the following ones, since the whole cancels out.
    """
    y = c * x
    t = 1 + y
    log_t = logarithm(max(t, plan.real(2.0**-60)), plan)
    direct = log_t - y * (1 - y * (plan.real(0.5) - y * plan.real(1 / 3)))
    ninth = plan.real(1 / 9) - y * (plan.real(1 / 10) - y * (plan.real(1 / 11) - y * plan.real(1 / 12)))
    fifth = plan.real(1 / 5) - y * (plan.real(1 / 6) - y * (plan.real(1 / 7) - y * (plan.real(1 / 8) - y * ninth)))
    square = y * y
    more = cuda.selp(abs(y) < plan.real(0.125), square * square * (y * fifth - plan.real(0.25)), direct)
    return t > 0 and logarithm(u, plan) < 3 * d * more, 3 * log_t


@cuda.jit(device=True)
def _first_gamma(block, first, place, shape, plan):
    """What `log_gamma_number` gives if its first attempt is taken, and whether that is."""
    raised = shape + (1 if shape < 1 else 0)
    d = raised - plan.real(1 / 3)
    x, _, u, _ = candidates(block, first, place, plan)
    taken, value = _is_gamma(x, u, d, 1 / math.sqrt(9 * d), plan)
    value += logarithm(d, plan)
    if shape < 1:
        value -= _boost(block, first, place, shape, plan)
    return taken, value


@cuda.jit(device=True)
def _boost(block, first, place, shape, plan):
    """How much a shape below 1 lowers the logarithm of the number of shape + 1: by a uniform number's power."""
    w0, w1, _, _ = block_at(block, place.stream, 2 * first + _BOOST, place.key)
    return standard_exponential(w0, w1, plan) / shape


@cuda.jit(device=True)
def first_gamma(block, place, a, b, plan):
    """See `gamma`."""
    taken, value = _first_gamma(block, np.uint32(0), place, max(a, plan.real(2.0**-60)), plan)
    return taken and a > 0, b * exponential_of(value, plan)


@cuda.jit(device=True)
def first_beta(block, place, a, b, plan):
    """See `beta`."""
    is_x, x = _first_gamma(block, np.uint32(0), place, a, plan)
    is_y, y = _first_gamma(block, _BOOST >> np.uint32(2), place, b, plan)
    return is_x and is_y, 1 / (1 + exponential_of(y - x, plan))


@cuda.jit(device=True)
def first_poisson(block, place, a, b, plan):
    """See `poisson_from`: what is taken at once."""
    root = math.sqrt(a)
    spread = plan.real(0.931) + plan.real(2.53) * root
    slope = plan.real(-0.059) + plan.real(0.02483) * spread
    quick = plan.real(0.9277) - plan.real(3.6224) / (spread - 2)
    u, v = _first_two(block, place, plan)
    u -= plan.real(0.5)
    rest = plan.real(0.5) - abs(u)
    k = (2 * slope / max(rest, plan.real(0.07)) + spread) * u + a + plan.real(0.43)
    return rest >= plan.real(0.07) and v <= quick and a >= _SMALL_MEAN, np.int64(k)


@cuda.jit(device=True)
def _first_two(block, place, plan):
    """The first two of an element's first four uniform numbers."""
    w0, w1, w2, w3 = block_at(block, place.stream, np.uint32(0), place.key)
    if plan.wide:
        return bits.positive_float64(w0, w1), bits.positive_float64(w2, w3)
    return bits.positive_float32(w0), bits.positive_float32(w1)


@cuda.jit(device=True)
def log_gamma_number(block, first, place, shape, plan):
    """The logarithm of a gamma number of a positive shape; attempts from ``first`` on."""
    raised = shape + 1 if shape < 1 else shape
    d = raised - plan.real(1 / 3)
    c = 1 / math.sqrt(9 * d)
    attempt = first
    while True:
        x, y, u, v = candidates(block, attempt, place, plan)
        taken, value = _is_gamma(x, u, d, c, plan)
        if taken:
            break
        taken, value = _is_gamma(y, v, d, c, plan)
        if taken:
            break
        attempt += np.uint32(1)
    value += logarithm(d, plan)
    if shape < 1:  # the number of shape + 1 times a uniform number's power
        value -= _boost(block, first, place, shape, plan)
    return value


@cuda.jit(device=True)
def gamma(block, place, a, b, plan):
    """A gamma number of shape ``a`` and scale ``b``."""
    if a <= 0:
        return plan.real(0)
    return b * exponential_of(log_gamma_number(block, np.uint32(0), place, a, plan), plan)


@cuda.jit(device=True)
def beta(block, place, a, b, plan):
    """A beta number: the first gamma number's share of two."""
    x = log_gamma_number(block, np.uint32(0), place, a, plan)
    y = log_gamma_number(block, _BOOST >> np.uint32(2), place, b, plan)
    return 1 / (1 + exponential_of(y - x, plan))


@cuda.jit(device=True)
def student(block, place, a, b, plan):
    """Student's t of ``a`` degrees of freedom: a normal number over the root of a mean square."""
    w0, w1, w2, w3 = block_at(block, place.stream, _SECOND, place.key)
    if plan.wide:
        x, _ = bits.normal_float64(w0, w1, w2, w3)
    else:
        x, _ = bits.normal_float32(w0, w1)
    halved = a / 2
    log_mean = log_gamma_number(block, np.uint32(0), place, halved, plan) - logarithm(halved, plan)
    return x * exponential_of(-log_mean / 2, plan)


@cuda.jit(device=True)
def _counted_up(u, p, ratio, fall, most):
    """How many probabilities, the first ``p``, the next ``ratio / k - fall`` times that, sum up to ``u``."""
    k = 0
    while u > p and k < most:
        u -= p
        k += 1
        p *= ratio / k - fall
    return k


@cuda.jit(device=True)
def _tail(k, plan):
    """What Stirling's formula lacks of log(k!)."""
    if k < 10:
        return plan.real(_TAILS[int(k)])
    over = 1 / ((k + 1) * (k + 1))
    third = plan.real(1 / 1260) - over * plan.real(1 / 1680)
    return (plan.real(1 / 12) - (plan.real(1 / 360) - third * over) * over) / (k + 1)


@cuda.jit(device=True)
def _deviance(x, mean, plan):
    """``x * log(x / mean) + mean - x``, by Loader's series (2000) where ``x`` is near the mean and that cancels out."""
    v = (x - mean) / (x + mean)
    if abs(v) > plan.real(0.1):
        return x * logarithm(x / mean, plan) + mean - x
    rest = plan.real(0)
    for n in range(17, 2, -2):
        rest = plan.real(1 / n) + v * v * rest
    return (x - mean) * v + 2 * x * v * (v * v * rest)


@cuda.jit(device=True)
def poisson(block, place, a, b, plan):
    """A Poisson number of mean ``a``."""
    return poisson_from(block, np.uint32(0), place, a, plan)


@cuda.jit(device=True)
def negative_binomial(block, place, a, b, plan):
    """Failures before success ``a`` of probability ``b``: a Poisson number whose mean is a gamma number."""
    mean = exponential_of(log_gamma_number(block, np.uint32(0), place, a, plan), plan) * ((1 - b) / b)
    return poisson_from(block, _BOOST >> np.uint32(2), place, mean, plan)


@cuda.jit(device=True)
def poisson_from(block, first, place, a, plan):
    """A Poisson number, attempts from ``first`` on: from a mean of 10 Hörmann's transformed rejection (PTRS, 1993)."""
    if a < _SMALL_MEAN:
        u, _, _, _ = uniforms(block, first, place, plan)
        return _counted_up(u, math.exp(-a), a, plan.real(0), _MOST_COUNTED)
    root = math.sqrt(a)
    spread = plan.real(0.931) + plan.real(2.53) * root
    slope = plan.real(-0.059) + plan.real(0.02483) * spread
    over = plan.real(1.1239) + plan.real(1.1328) / (spread - plan.real(3.4))
    quick = plan.real(0.9277) - plan.real(3.6224) / (spread - 2)
    log_mean = logarithm(a, plan)
    attempt = first
    while True:
        u0, v0, u1, v1 = uniforms(block, attempt, place, plan)
        for turn in range(2):
            u = (u0 if turn == 0 else u1) - plan.real(0.5)
            v = v0 if turn == 0 else v1
            rest = plan.real(0.5) - abs(u)
            k = math.floor((2 * slope / rest + spread) * u + a + plan.real(0.43)) if rest > 0 else plan.real(-1)
            if rest >= plan.real(0.07) and v <= quick:
                return np.int64(k)
            if k < 0 or (rest < plan.real(0.013) and v > rest):
                continue
            chance = logarithm(v * over / (slope / (rest * rest) + spread), plan)
            # k * log(a) - a - log(k!), by Stirling's formula
            lacking = plan.real(0.5 * math.log(2 * math.pi)) + _tail(k, plan)
            more = plan.real(0.5) * logarithm(k + 1, plan) - log_mean - lacking
            if chance <= more - _deviance(k + 1, a, plan):
                return np.int64(min(k, plan.real(_LARGEST)))
        attempt += np.uint32(1)


@cuda.jit(device=True)
def binomial(block, place, a, b, plan):
    """Successes of ``a`` trials of probability ``b``: from a mean of 10 on by Hörmann's rejection (BTRS, 1993)."""
    p = min(b, 1 - b)
    n = a
    found = _successes(block, place, n, p, plan)
    return np.int64(n - found) if b > plan.real(0.5) else np.int64(found)


@cuda.jit(device=True)
def _log_chance(k, n, p, plan):
    """The logarithm of the probability of ``k`` successes of ``n``, but for a constant, by Stirling's formula."""
    yes, no = k + 1, n - k + 1
    found = plan.real(0.5) * (logarithm(yes, plan) + logarithm(no, plan)) - _tail(k, plan) - _tail(n - k, plan)
    return found - _deviance(yes, (n + 2) * p, plan) - _deviance(no, (n + 2) * (1 - p), plan)


@cuda.jit(device=True)
def _successes(block, place, n, p, plan):
    """The same for a probability of at most 1/2."""
    odds = p / (1 - p)
    if n * p < _SMALL_MEAN:
        u, _, _, _ = uniforms(block, np.uint32(0), place, plan)
        none = math.exp(n * math.log1p(-p))
        return plan.real(_counted_up(u, none, (n + 1) * odds, odds, min(n, plan.real(_MOST_COUNTED))))
    deviation = math.sqrt(n * p * (1 - p))
    spread = plan.real(1.15) + plan.real(2.53) * deviation
    slope = plan.real(-0.0873) + plan.real(0.0248) * spread + plan.real(0.01) * p
    middle = n * p + plan.real(0.5)
    quick = plan.real(0.92) - plan.real(4.2) / spread
    alpha = (plan.real(2.83) + plan.real(5.1) / spread) * deviation
    mode = math.floor((n + 1) * p)
    at_mode = _log_chance(mode, n, p, plan)
    attempt = np.uint32(0)
    while True:
        u0, v0, u1, v1 = uniforms(block, attempt, place, plan)
        for turn in range(2):
            u = (u0 if turn == 0 else u1) - plan.real(0.5)
            v = v0 if turn == 0 else v1
            rest = plan.real(0.5) - abs(u)
            k = math.floor((2 * slope / rest + spread) * u + middle) if rest > 0 else plan.real(-1)
            if k < 0 or k > n:
                continue
            if rest >= plan.real(0.07) and v <= quick:
                return k
            chance = logarithm(v * alpha / (slope / (rest * rest) + spread), plan)
            if chance <= _log_chance(k, n, p, plan) - at_mode:
                return k
        attempt += np.uint32(1)


@cuda.jit(device=True)
def geometric(block, place, a, b, plan):
    """Trials of probability ``a`` up to the first success: an exponential number rounded up."""
    w0, w1, _, _ = block_at(block, place.stream, np.uint32(0), place.key)
    trials = math.ceil(standard_exponential(w0, w1, plan) / -math.log1p(-a)) if a < 1 else plan.real(1)
    return np.int64(min(max(trials, plan.real(1)), plan.real(_LARGEST)))


@cuda.jit(device=True)
def bounded_by_arrays(block, place, a, b, plan):
    """``a`` and an integer below ``b``, uint64; 0 stands for 2**64."""
    attempt = np.uint32(0)
    unfair = (np.uint64(0) - b) % b if b != 0 else np.uint64(0)
    while True:
        w0, w1, w2, w3 = block_at(block, place.stream, attempt, place.key)
        x, y = word(w0, w1), word(w2, w3)
        if b == 0:
            return a + x
        if x * b >= unfair:
            return a + cuda.libdevice.umul64hi(x, b)
        if y * b >= unfair:
            return a + cuda.libdevice.umul64hi(y, b)
        attempt += np.uint32(1)


QUICK = {gamma: first_gamma, beta: first_beta, poisson: first_poisson}
"""What is tried first for all elements, of those samplers that have it."""
