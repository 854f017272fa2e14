"""Which combinations of parameters are left out."""

from __future__ import annotations

from itertools import combinations, product

import pairwise
from hypothesis import given
from hypothesis import strategies as st

ROWS = st.lists(st.fixed_dictionaries({name: st.integers(0, 3) for name in "abc"}), max_size=40)


def pairs_of(rows):
    return {pair for row in rows for pair in combinations(sorted(row.items()), 2)}


@given(ROWS)
def test_no_pair_is_lost(rows):
    kept = pairwise.chosen(rows)
    assert kept == sorted(set(kept)) and set(kept) <= set(range(len(rows)))
    assert pairs_of([rows[n] for n in kept]) == pairs_of(rows)


def test_a_product_of_many_becomes_small():
    rows = [dict(zip("abcd", values, strict=True)) for values in product(range(2), range(2), range(4), range(11))]
    assert 44 <= len(pairwise.chosen(rows)) <= 52


def test_one_parameter_is_left_alone():
    assert pairwise.chosen([{"a": n} for n in range(5)]) == list(range(5))
