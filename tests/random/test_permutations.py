"""Permutations, shuffles and choices: each element once, each order as likely."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from portagpu import cuda
from portagpu.errors import ArgumentTypeError, ArgumentValueError, ShapeError
from portagpu.random import default_rng

LEVEL = 1e-4


@pytest.mark.parametrize("count", [0, 1, 2, 511, 512, 513, 1000, 4096, 70_001])
def test_a_permutation_has_each_place_once(device, count):
    found = default_rng(1).permutation(count).copy_to_host()
    assert found.dtype == np.int64
    assert (np.sort(found) == np.arange(count)).all()


def test_all_orders_of_four_are_as_likely(device):
    rows = np.tile(np.arange(4), (24_000, 1))
    found = default_rng(2).permuted(rows, axis=1).copy_to_host()
    codes = {order: k for k, order in enumerate(itertools.permutations(range(4)))}
    seen = np.bincount([codes[tuple(row)] for row in found], minlength=24)
    assert stats.chisquare(seen).pvalue > LEVEL


def test_bijections_put_every_element_everywhere(device):
    """Where the first, a middle and the last element of 600 go, and pairs of neighbours, over 6000 bijections."""
    rows = np.tile(np.arange(600), (6000, 1)).astype(np.int32)
    found = default_rng(3).permuted(rows, axis=1).copy_to_host()
    assert (np.sort(found[:50], axis=1) == np.arange(600)).all()
    for place in (0, 1, 299, 598, 599):
        assert stats.chisquare(np.bincount(found[:, place] // 20, minlength=30)).pvalue > LEVEL
    for first, other in ((0, 1), (0, 599), (31, 32), (1, 33)):
        table, _, _ = np.histogram2d(found[:, first], found[:, other], bins=10, range=[[0, 600], [0, 600]])
        assert stats.chisquare(table.ravel()).pvalue > LEVEL
    ascents = (np.diff(found.astype(int), axis=1) > 0).sum(axis=1)  # of mean 599 / 2 and variance 601 / 12
    assert abs(ascents.mean() - 599 / 2) < stats.norm.isf(LEVEL / 2) * np.sqrt(601 / 12 / 6000)
    assert 0.9 < ascents.var() / (601 / 12) < 1.1


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_slices_are_moved_together_or_each_line_alone(device, axis):
    x = np.arange(5 * 7 * 3).reshape(5, 7, 3).astype(np.float32)
    together = default_rng(4).permutation(x, axis).copy_to_host()
    assert {s.tobytes() for s in np.moveaxis(together, axis, 0)} == {s.tobytes() for s in np.moveaxis(x, axis, 0)}
    alone = default_rng(4).permuted(x, axis).copy_to_host()
    assert (np.sort(alone, axis) == x).all() and not (alone == x).all()
    lines = np.moveaxis(alone, axis, 0).reshape(x.shape[axis], -1)
    assert len({tuple(line.argsort()) for line in lines.T}) > 1


def test_shuffles_are_in_place(device):
    x = cuda.to_device(np.arange(2000, dtype=np.int16).reshape(1000, 2))
    later = x + 1
    default_rng(5).shuffle(x)
    found = x.copy_to_host()
    assert (np.sort(found[:, 0]) == np.arange(0, 2000, 2)).all() and (found[:, 1] == found[:, 0] + 1).all()
    assert (later.copy_to_host() == np.arange(1, 2001).reshape(1000, 2)).all()
    view = x.T[:, ::2]
    rows = {row.tobytes() for row in view.copy_to_host()}
    default_rng(6).shuffle(view)
    assert {row.tobytes() for row in view.copy_to_host()} == rows


def test_choices(device):
    rng = default_rng(7)
    values = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
    assert rng.choice(5).shape == ()
    assert set(rng.choice(5, 200).copy_to_host()) == set(range(5))
    found = rng.choice(values, (4, 2), axis=1).copy_to_host()
    assert found.shape == (2, 4, 2) and (found[1] == found[0] + 3).all()
    few = rng.choice(10**9, 1000, replace=False).copy_to_host()
    assert len(set(few)) == 1000 and few.max() < 10**9 and abs(few.mean() / 1e9 - 0.5) < 0.05
    assert (np.sort(rng.choice(values.ravel(), 6, replace=False).copy_to_host()) == values.ravel()).all()


def test_choices_of_probabilities(device):
    p = np.array([0.1, 0, 0.5, 0.4])
    numbers = default_rng(8).choice(4, 20_000, p=p).copy_to_host()
    seen = np.bincount(numbers, minlength=4)
    assert seen[1] == 0
    assert stats.chisquare(seen[p > 0], p[p > 0] * numbers.size).pvalue > LEVEL
    rng = default_rng(9)
    first = np.array([rng.choice(4, 3, replace=False, p=p).copy_to_host() for _ in range(60)])
    assert (np.sort(first, axis=1) == [0, 2, 3]).all()


@pytest.mark.one_device
def test_wrong_arguments_are_refused(device):
    rng = default_rng(10)
    with pytest.raises(ArgumentValueError, match="without replacement"):
        rng.choice(3, 4, replace=False)
    with pytest.raises(ArgumentValueError, match="sum up to 1"):
        rng.choice(2, 4, p=[0.5, 0.4])
    with pytest.raises(ArgumentValueError, match="not negative"):
        rng.choice(2, 4, p=[1.5, -0.5])
    with pytest.raises(ShapeError, match="2 elements"):
        rng.choice(2, 4, p=[1.0])
    with pytest.raises(ArgumentValueError, match="nothing to choose from"):
        rng.choice(0, 4)
    with pytest.raises(ArgumentTypeError, match="makes a copy"):
        rng.shuffle(np.arange(3))
    with pytest.raises(ShapeError, match="axis 2"):
        rng.permutation(np.zeros((2, 2)), axis=2)
    with pytest.raises(ArgumentTypeError):
        rng.permutation(1.5)
