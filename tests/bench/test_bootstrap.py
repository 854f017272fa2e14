"""The bootstrap of medians, against one that draws rounds and takes medians as its definition says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portagpu.bench.method.bootstrap import DRAWS, resampled_medians
from portagpu.bench.method.statistics import CONFIDENCE, interval, middle

pytestmark = pytest.mark.one_device

TIMES = st.lists(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=7).map(tuple), min_size=2, max_size=12).map(tuple)


@given(TIMES, st.integers(0, 3))
@settings(max_examples=25)
def test_medians_are_those_of_drawn_rounds(samples, seed):
    chosen = np.random.default_rng(seed).integers(len(samples), size=(DRAWS, len(samples)))
    expected = [np.median(np.concatenate([samples[one] for one in drawing])) for drawing in chosen]
    assert np.array_equal(resampled_medians(samples, seed), expected)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50).map(np.asarray))
def test_the_middle_is_that_of_numpy(values):
    expected = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    assert middle(values) == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("shape", [(9, 40_000), (60_000, 3), (3, 1), (300, 1)], ids=str)
def test_very_many_samples_have_about_the_interval_of_few(shape):
    """A file may have so many; the memory that an interval takes stays small."""
    rounds, each = shape
    generator = np.random.default_rng(rounds)
    luck = generator.normal(0, 0.01, (rounds, 1))
    samples = tuple(map(tuple, np.exp(luck + generator.normal(0, 0.01, (rounds, each))).tolist()))
    low, high = interval(samples)
    assert low <= 1.02 and high >= 0.98
    width = 2 * 1.96 * 1.2533 * 0.01 * np.sqrt(1 / rounds + 1 / (rounds * each))
    assert (high - low) == pytest.approx(width, rel=0.6) or rounds == 3
