"""Fewer combinations for tests of routines with many options: all pairs of values, and some dtypes for all."""

from __future__ import annotations

from itertools import product

import pairwise
import pytest


def in_short(names, *short):
    """Names for a test: all with `--thorough`, else only the ``short`` ones, since SciPy's own tests run with all.

    Those come first, so that they meet the values of other parameters, and the others what is left.
    """
    others = [pytest.param(name, marks=pytest.mark.thorough) for name in names if name not in short]
    return [*(name for name in names if name in short), *others]


def options_of(**values):
    """Some combinations of options, as dicts: each pair of values of two options occurs."""
    every = list(product(*(range(len(found)) for found in values.values())))
    kept = pairwise.chosen([dict(zip(values, places, strict=True)) for places in every])
    return [{name: values[name][i] for name, i in zip(values, every[n], strict=True)} for n in kept]
