"""Contractions as products of matrices, against NumPy: every kind of label, ellipses, lists, sizes."""

from __future__ import annotations

import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portagpu.accelerate.einsum import contraction, parse, sizes_of


@st.composite
def contractions(draw):
    """Labels of two operands and of the result, and a size for each."""
    kinds = draw(st.lists(st.sampled_from(["batch", "rows", "columns", "inner", "left", "right"]), max_size=6))
    letters = draw(st.permutations(string.ascii_letters))[: len(kinds) + 1]
    of = dict(zip(letters, [*kinds, "inner"], strict=True))
    left = [label for label in letters if of[label] in ("batch", "rows", "inner", "left")]
    right = [label for label in letters if of[label] in ("batch", "columns", "inner", "right")]
    out = [label for label in letters if of[label] in ("batch", "rows", "columns")]
    labels = ["".join(draw(st.permutations(group))) for group in (left, right, out)]
    return labels, {label: draw(st.integers(0, 4)) for label in letters}


@settings(max_examples=200)
@given(contractions(), st.integers(0, 2**32 - 1))
def test_contractions_are_what_numpy_computes(case, seed):
    (left, right, out), sizes = case
    generator = np.random.default_rng(seed)
    a, b = (generator.integers(-9, 9, [sizes[label] for label in labels]).astype(float) for labels in (left, right))
    text = f"{left},{right}->{out}"
    assert parse(text, (a, b)) == (left, right, out)
    found = contraction(left, right, out)
    assert found is not None and sizes_of((left, right), (a, b)) == sizes
    calls = []

    def multiply(x, y):
        calls.append((x.shape, y.shape))
        return x @ y

    np.testing.assert_array_equal(found.apply(a, b, multiply), np.einsum(text, a, b))
    batch, m, n, k = found.extents(sizes)
    leading = (batch,) if found.batch else ()
    assert calls == [((*leading, m, k), (*leading, k, n))]


PARSED = [
    ("ij,jk", (2, 2), ("ij", "jk", "ik")),
    ("kj, ji", (2, 2), ("kj", "ji", "ik")),
    ("ji,j", (2, 1), ("ji", "j", "i")),
    ("...ij,...jk->...ik", (4, 4), ("abij", "abjk", "abik")),
    ("...ij,jk", (3, 2), ("aij", "jk", "aik")),
    ("...ij,...jk", (4, 3), ("abij", "bjk", "abik")),
    ("i...,i...->...", (1, 1), ("i", "i", "")),
    (([0, 1], [1, 2]), (2, 2), ("ab", "bc", "ac")),
    (([0, 1], [1, 2], [2, 0]), (2, 2), ("ab", "bc", "ca")),
    (([Ellipsis, 0], [0, 1], [Ellipsis, 1]), (2, 2), ("ca", "ab", "cb")),
]


@pytest.mark.parametrize(("subscripts", "axes", "labels"), PARSED)
def test_labels(subscripts, axes, labels):
    arrays = [np.zeros((2,) * n) for n in axes]
    assert parse(subscripts, arrays) == labels


@pytest.mark.parametrize(
    "subscripts",
    [
        "ij",
        "ij,jk,kl",
        "ij,jk->..i..",
        "i1,1k->ik",
        "ijk,jk->ik",
        "i..j,jk",
        "...i...,ij",
        ([0, 1],),
        ([0, 99], [1]),
        (3, 4),
    ],
)
def test_what_is_not_well_formed_is_numpys(subscripts):
    assert parse(subscripts, [np.zeros((2, 2)), np.zeros((2, 2))]) is None


@pytest.mark.parametrize(
    "labels", [("ii", "ij", "j"), ("ij", "kl", "ijkl"), ("ij", "ij", "ij"), ("ij", "jk", "im"), ("ij", "jk", "ii")]
)
def test_what_is_no_product_of_matrices(labels):
    assert contraction(*labels) is None
