"""Distributions, by the tests of Kolmogorov and Smirnov, and of Pearson, at fixed seeds.

A correct one fails with a chance of `LEVEL` for each test and seed: seeds are fixed, so that it passes always or never.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from portagpu.random import default_rng

LEVEL = 1e-4
COUNT = 40_000

REAL = {
    "random": ((), stats.uniform()),
    "uniform": ((-2.0, 5.0), stats.uniform(-2, 7)),
    "standard_normal": ((), stats.norm()),
    "normal": ((3.0, 2.0), stats.norm(3, 2)),
    "lognormal": ((0.5, 0.7), stats.lognorm(0.7, scale=np.exp(0.5))),
    "standard_exponential": ((), stats.expon()),
    "exponential": ((3.0,), stats.expon(scale=3)),
    "laplace": ((1.0, 2.0), stats.laplace(1, 2)),
    "logistic": ((1.0, 2.0), stats.logistic(1, 2)),
    "gumbel": ((1.0, 2.0), stats.gumbel_r(1, 2)),
    "cauchy": ((1.0, 2.0), stats.cauchy(1, 2)),
    "standard_cauchy": ((), stats.cauchy()),
    "rayleigh": ((2.0,), stats.rayleigh(scale=2)),
    "weibull": ((1.7,), stats.weibull_min(1.7)),
    "pareto": ((2.5,), stats.lomax(2.5)),
    "power": ((2.5,), stats.powerlaw(2.5)),
    "standard_gamma": ((2.5,), stats.gamma(2.5)),
    "gamma": ((0.3, 2.0), stats.gamma(0.3, scale=2)),
    "chisquare": ((3.0,), stats.chi2(3)),
    "beta": ((0.4, 1.5), stats.beta(0.4, 1.5)),
    "standard_t": ((4.0,), stats.t(4)),
}

WHOLE = {
    "poisson-few": ("poisson", (2.5,), stats.poisson(2.5)),
    "poisson-border": ("poisson", (10.0,), stats.poisson(10)),
    "poisson-many": ("poisson", (3000.0,), stats.poisson(3000)),
    "binomial-few": ("binomial", (30, 0.1), stats.binom(30, 0.1)),
    "binomial-border": ("binomial", (40, 0.75), stats.binom(40, 0.75)),
    "binomial-many": ("binomial", (100_000, 0.4), stats.binom(100_000, 0.4)),
    "geometric": ("geometric", (0.15,), stats.geom(0.15)),
    "negative_binomial": ("negative_binomial", (5.0, 0.3), stats.nbinom(5, 0.3)),
}


LARGE = {  # the distributions are normal ones there
    "poisson": ((1e14,), 1e14, 1e7),
    "poisson-most": ((1e18,), 1e18, 1e9),
    "binomial": ((10**17, 0.2), 2e16, np.sqrt(0.16e17)),
    "binomial-most": ((2**62, 0.5), 2.0**61, 2.0**30),
    "negative_binomial": ((1e14, 0.3), 7 / 3 * 1e14, np.sqrt(7 / 9 * 1e15)),
    "standard_gamma": ((1e16,), 1e16, 1e8),
    "beta": ((1e15, 3e15), 0.25, np.sqrt(3 / 64e15)),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", REAL)
def test_real_numbers_follow_their_distribution(device, name, dtype):
    if dtype is np.float64 and not device.capabilities.fp64:
        pytest.skip("no float64")
    parameters, distribution = REAL[name]
    numbers = getattr(default_rng(11), name)(*parameters, COUNT, dtype=dtype).copy_to_host()
    assert numbers.dtype == dtype
    assert np.isfinite(numbers).all()
    assert stats.kstest(numbers.astype(np.float64), distribution.cdf).pvalue > LEVEL
    assert abs(np.corrcoef(numbers[:-1].argsort().argsort(), numbers[1:].argsort().argsort())[0, 1]) < _correlation(
        COUNT
    )


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", WHOLE)
def test_counts_follow_their_distribution(device, name):
    method, parameters, distribution = WHOLE[name]
    numbers = getattr(default_rng(12), method)(*parameters, COUNT).copy_to_host()
    assert numbers.dtype == np.int64
    assert _pearson(numbers, distribution) > LEVEL


@pytest.mark.one_device
@pytest.mark.parametrize("name", LARGE)
def test_large_parameters(device, name):
    """The chance of a number is a difference of large ones, which must not cancel out."""
    if not device.capabilities.fp64:
        pytest.skip("no float64")
    parameters, mean, deviation = LARGE[name]
    numbers = getattr(default_rng(11), name.partition("-")[0])(*parameters, COUNT).copy_to_host()
    normal = (numbers - mean) / deviation
    assert stats.kstest(normal, stats.norm.cdf).pvalue > LEVEL
    assert abs(stats.kurtosis(normal)) < 0.12  # its deviation is 0.025


def test_parameters_may_be_arrays(device):
    """Each element follows its own distribution; the first row of each has the number of a small parameter."""
    shape = np.array([[0.5], [4.0]])
    rng = default_rng(13)
    dtype = np.float32
    gammas = rng.gamma(shape, 1.0, (2, COUNT), dtype).copy_to_host().astype(float)
    normals = rng.normal(shape, [[1.0], [3.0]], (2, COUNT), dtype).copy_to_host().astype(float)
    for k, value in enumerate(shape[:, 0]):
        assert stats.kstest(gammas[k], stats.gamma(value).cdf).pvalue > LEVEL
        assert stats.kstest(normals[k], stats.norm(value, 1 + 2 * k).cdf).pvalue > LEVEL
    counts = rng.poisson(shape * 10, (2, COUNT)).copy_to_host()
    for k, value in enumerate(shape[:, 0]):
        assert _pearson(counts[k], stats.poisson(value * 10)) > LEVEL


@pytest.mark.one_device
def test_tails_are_as_heavy_as_they_should_be(device):
    """How many of a million numbers are beyond 4 deviations, which a mean or a test of all does not see."""
    count = 1_000_000
    numbers = default_rng(14).standard_normal(count, np.float32).copy_to_host()
    beyond = stats.binom(count, 2 * stats.norm.sf(4))
    found = int((np.abs(numbers) > 4).sum())
    assert beyond.ppf(LEVEL / 2) <= found <= beyond.isf(LEVEL / 2)


@pytest.mark.one_device
def test_streams_are_independent(device):
    """Pairs of numbers of two streams, of two keys, and of neighbours fill the square evenly."""
    rng = default_rng(15)
    first, other = rng.random(COUNT, np.float32).copy_to_host(), rng.random(COUNT, np.float32).copy_to_host()
    jumped = default_rng(default_rng(15).bit_generator.jumped()).random(COUNT, np.float32).copy_to_host()
    child = default_rng(15).spawn(1)[0].random(COUNT, np.float32).copy_to_host()
    for x, y in ((first, other), (first, jumped), (first, child), (first[:-1], first[1:]), (first[:-4], first[4:])):
        table, _, _ = np.histogram2d(x, y, bins=20, range=[[0, 1], [0, 1]])
        assert stats.chisquare(table.ravel()).pvalue > LEVEL


def _correlation(count):
    """What ranks of independent numbers correlate at most: about normal, of deviation 1 / sqrt(count)."""
    return stats.norm.isf(LEVEL / 2) / np.sqrt(count)


def _pearson(numbers, distribution):
    """The chance of counts as far from the expected ones, in cells of which each expects 10 at least."""
    low, high = distribution.ppf([1e-3, 1 - 1e-3])
    edges = np.arange(low, high, max(1, (high - low) // 40)) + 0.5
    found = np.histogram(numbers, [-np.inf, *edges, np.inf])[0]
    chances = np.diff([0, *distribution.cdf(edges), 1])
    enough = chances * numbers.size >= 10
    expected = np.append(chances[enough], chances[~enough].sum()) * numbers.size
    seen = np.append(found[enough], found[~enough].sum())
    if expected[-1] < 1e-9:
        expected, seen = expected[:-1], seen[:-1]
    return stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), expected.size - 1)
