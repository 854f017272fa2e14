"""Filters of workloads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portagpu.bench.running.selection import matches

PART = st.text("abz019,-.x", min_size=1, max_size=6)
PATH = st.lists(PART, min_size=1, max_size=5)
many = settings(max_examples=200)


@pytest.mark.parametrize(
    "pattern, meant",
    [
        ("float32/4096", True),
        ("gemm", True),
        ("/gemm/", True),
        ("float32/40", False),
        ("float", False),
        ("matmul/4096", False),
        ("float*/4096", True),
        ("gemm/*", True),
        ("*/float?2/*", True),
        ("gemm/m*l", False),
        ("4[0-9]96", True),
        ("GEMM", False),
        ("", False),
    ],
)
def test_patterns_mean_parts_or_wildcards(pattern, meant):
    assert matches("gemm/matmul/float32/4096", [pattern]) is meant


@many
@given(PATH, st.data())
def test_parts_that_follow_each_other_are_meant(parts, data):
    begin = data.draw(st.integers(0, len(parts) - 1))
    end = data.draw(st.integers(begin + 1, len(parts)))
    pattern = "/".join(parts[begin:end])
    assert matches("/".join(parts), [pattern]) and matches("/".join(parts), [f"/{pattern}/"])


@many
@given(PATH, PATH)
def test_a_pattern_without_wildcards_means_nothing_else(parts, wanted):
    runs = [parts[begin : begin + len(wanted)] for begin in range(len(parts))]
    assert matches("/".join(parts), ["/".join(wanted)]) == (wanted in runs)


@many
@given(PATH, st.lists(PATH, min_size=1, max_size=4))
def test_one_of_several_patterns_is_enough_and_none_means_all(parts, wanted):
    path, patterns = "/".join(parts), ["/".join(one) for one in wanted]
    assert matches(path, patterns) == any(matches(path, [pattern]) for pattern in patterns)
    assert matches(path, []) and matches(path, iter(patterns)) == matches(path, patterns)


@many
@given(PATH, st.data())
def test_wildcards_mean_the_end_behind_a_slash(parts, data):
    begin = data.draw(st.integers(0, len(parts) - 1))
    assert matches("/".join(parts), ["/".join(parts[begin:])[:-1] + "?"])
    assert matches("/".join(parts), ["*"])
