"""Which combinations of parameters are left out."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from pathlib import Path
from types import SimpleNamespace

import pairwise
import pytest
from hypothesis import given
from hypothesis import strategies as st

ROWS = st.lists(st.fixed_dictionaries({name: st.integers(0, 3) for name in ("a", "b", "device")}), max_size=40)


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


def test_devices_share_many_values():
    rows = [{"device": device, "a": n, "b": m} for device in range(2) for n in range(30) for m in range(2)]
    kept = [rows[place] for place in pairwise.chosen(rows)]
    assert pairs_of([{"a": r["a"], "b": r["b"]} for r in kept]) == {
        (("a", n), ("b", m)) for n in range(30) for m in (0, 1)
    }
    assert len(kept) == 60 and set(Counter(r["device"] for r in kept).values()) == {30}
    assert {(r["device"], r["b"]) for r in kept} == set(product(range(2), repeat=2))


def test_devices_share_the_values_of_a_single_parameter():
    rows = [{"device": device, "a": n} for device in range(2) for n in range(3)]
    kept = [rows[place] for place in pairwise.chosen(rows)]
    assert sorted(r["a"] for r in kept) == [0, 1, 2] and {r["device"] for r in kept} == {0, 1}


def test_a_device_that_compiles_slowly_has_a_thirteenth():
    rows = [{"device": device, "a": n} for device in range(2) for n in range(42)]
    counts = Counter(rows[place]["device"] for place in pairwise.chosen(rows, frozenset({0})))
    assert sum(counts.values()) == 42 and 2 <= counts[0] <= 4


class Collected:
    """A collected test."""

    def __init__(self, name, marked, mark=pytest.mark.one_device, **values):
        self.nodeid = f"{name}[{'-'.join(map(str, values.values()))}]"
        self.callspec = SimpleNamespace(params=values, indices=values)
        self.mark = mark.mark if marked else None

    def get_closest_marker(self, name):
        return self.mark if self.mark and self.mark.name == name else None


def test_marked_tests_run_on_one_device():
    """All combinations of what they have besides, and each device has its share."""
    tests = [Collected(f"test_{n}", n < 20, device=d, a=a) for n in range(21) for d in range(2) for a in range(2)]
    spared = pairwise.on_others(tests)
    kept = [test for test in tests if test.nodeid not in spared]
    assert len({test.nodeid for test in kept}) == 20 * 2 + 4
    for n in range(20):
        assert sorted(t.callspec.params["a"] for t in kept if t.nodeid.startswith(f"test_{n}[")) == [0, 1]
        assert {t.callspec.params["device"] for t in kept if t.nodeid.startswith(f"test_{n}[")} == {0, 1}
    alone = [Collected(f"test_{n}", True, device=d) for n in range(100) for d in range(2)]
    spared = pairwise.on_others(alone)
    assert len(spared) == 100 and 30 < sum("[0]" in name for name in spared) < 70
    assert pairwise.left_out(alone) == spared


def test_some_marked_tests_run_where_compilers_are_slow():
    alone = [Collected(f"test_{n}", True, device=d) for n in range(100) for d in (7, 8, 9)]
    spared = pairwise.on_others(alone, frozenset({id(7)}))
    kept = Counter(test.callspec.params["device"] for test in alone if test.nodeid not in spared)
    assert kept.total() == 100 and 1 < kept[7] < 10 and kept[8] > 25 and kept[9] > 25


def test_tests_that_compile_much_are_spared_slow_compilers():
    marked = [
        Collected(f"test_{n}", True, pytest.mark.one_device(fast=True), device=d) for n in range(50) for d in (7, 8)
    ]
    spared = pairwise.on_others(marked, frozenset({id(7)}))
    assert Counter(test.callspec.params["device"] for test in marked if test.nodeid not in spared) == {8: 50}
    alone = [Collected("test", True, pytest.mark.one_device(fast=True), device=7)]
    assert not pairwise.on_others(alone, frozenset({id(7)}))


def test_slow_compilers_have_a_sixteenth_of_what_runs_everywhere():
    tests = [Collected(f"test_{n}", False, device=d) for n in range(100) for d in (7, 8, 9)]
    spared = pairwise.left_out(tests, frozenset({id(7)}))
    kept = Counter(test.callspec.params["device"] for test in tests if test.nodeid not in spared)
    assert kept[8] == kept[9] == 100 and 2 < kept[7] < 15
    alone = [Collected(f"test_{n}", False, device=7) for n in range(20)]
    assert not pairwise.left_out(alone, frozenset({id(7)}))
    assert not pairwise.left_out(tests, frozenset({id(7)}), thorough=True)


def test_values_are_met_in_turn_where_kernels_are_large():
    """A function has a share of what covers all values, and its neighbours have others; all with ``--thorough``."""
    rows = [dict(zip(("device", *"abc"), v, strict=True)) for v in product(range(2), range(6), range(5), range(3))]
    met = []
    for n in range(40):
        tests = [Collected(f"test_{n}", True, pytest.mark.each_value, **row) for row in rows]
        spared = pairwise.left_out(tests)
        kept = [test.callspec.params for test in tests if test.nodeid not in spared]
        assert 1 <= len(kept) <= 2
        met += kept
    assert all({row[name] for row in met} == {row[name] for row in rows} for name in rows[0])
    marked = pairwise.left_out(tests, thorough=True)
    assert marked == pairwise.left_out([Collected("test_39", False, **row) for row in rows], thorough=True)


def test_pairs_are_met_where_no_device_compiles():
    """Or in thorough runs."""
    rows = [dict(zip("abc", v, strict=True)) for v in product(range(4), range(5), range(3))]
    for extra, thorough, count in (({}, False, 20), ({"device": 7}, False, 5), ({"device": 7}, True, 20)):
        tests = [Collected("test", False, **extra, **row) for row in rows]
        kept = len(tests) - len(pairwise.left_out(tests, thorough=thorough))
        assert count <= kept <= count * 1.3


def test_values_are_met_by_thorough_runs_where_kernels_are_larger_yet():
    rows = [dict(zip("abc", v, strict=True)) for v in product(range(6), range(5), range(3))]
    tests = [Collected("test", True, pytest.mark.each_value(thorough=True), **row) for row in rows]
    spared = pairwise.left_out(tests, thorough=True)
    kept = [test.callspec.params for test in tests if test.nodeid not in spared]
    assert len(kept) == 6 and all({row[name] for row in kept} == {row[name] for row in rows} for name in "abc")
    assert len(tests) - len(pairwise.left_out(tests)) in (1, 2)


def test_functions_take_turns():
    kept = []
    for n in range(40):
        tests = [Collected(f"test_{n}", True, pytest.mark.in_turn(3), a=a) for a in range(7)]
        spared = pairwise.left_out(tests)
        kept.append([test.callspec.params["a"] for test in tests if test.nodeid not in spared])
        assert not pairwise.left_out(tests, thorough=True)
    assert {a for found in kept for a in found} == {*range(7)}
    assert all(2 <= len(found) <= 3 and found[0] < 3 <= found[1] < 6 for found in kept)
    for values in (1, 2):  # no function is without tests
        tests = [Collected("test", True, pytest.mark.in_turn(3), a=a) for a in range(values)]
        assert len(pairwise.left_out(tests)) == values - 1


def test_turns_meet_more_than_one_value_of_each_parameter():
    """Also where they are as many as the values of the parameter that varies fastest."""
    rows = [{"a": a, "b": b} for a in range(12) for b in range(4)]
    for n in range(20):
        tests = [Collected(f"test_{n}", True, pytest.mark.in_turn(4), **row) for row in rows]
        spared = pairwise.left_out(tests)
        kept = [test.callspec.params for test in tests if test.nodeid not in spared]
        assert len(kept) == 12 and len({row["a"] for row in kept}) == 12 and len({row["b"] for row in kept}) > 1


def test_thorough_runs_meet_all_pairs_on_each_device():
    rows = [dict(zip(("device", *"abc"), v, strict=True)) for v in product(range(2), range(6), range(6), range(3))]
    tests = [Collected("test", False, **row) for row in rows]
    spared = pairwise.left_out(tests, thorough=True)
    kept = [test.callspec.params for test in tests if test.nodeid not in spared]
    for device in range(2):
        assert pairs_of([row for row in kept if row["device"] == device]) == pairs_of(
            [row for row in rows if row["device"] == device]
        )
    assert len(kept) < len(rows)


def test_slow_compilers_are_spared_pairs_in_thorough_runs_if_others_meet_them():
    rows = [dict(zip(("device", *"abc"), v, strict=True)) for v in product((7, 8), range(6), range(6), range(3))]
    for slow, alone in ((7, False), (7, True)):
        tests = [Collected("test", False, **row) for row in rows if not alone or row["device"] == slow]
        spared = pairwise.left_out(tests, frozenset({id(slow)}), thorough=True)
        kept = Counter(test.callspec.params["device"] for test in tests if test.nodeid not in spared)
        assert kept[slow] == 6 if not alone else kept[slow] >= 36
        assert alone or kept[8] >= 36


def test_marked_tests_meet_all_pairs_on_some_device_in_thorough_runs():
    for mark in (pytest.mark.one_device, pytest.mark.one_device(fast=True)):
        met = Counter()
        rows = [dict(zip(("device", *"abc"), v, strict=True)) for v in product((7, 8), range(6), range(6), range(3))]
        for slow in (frozenset(), frozenset({id(7)})):
            tests = [Collected("test", True, mark, **row) for row in rows]
            spared = pairwise.left_out(tests, slow, thorough=True)
            kept = [test.callspec.params for test in tests if test.nodeid not in spared]
            values = [{name: row[name] for name in "abc"} for row in kept]
            assert pairs_of(values) == pairs_of([{name: row[name] for name in "abc"} for row in rows])
            assert len({tuple(row.values()) for row in values}) == len(values) < 60
            met += Counter(row["device"] for row in kept)
        assert min(met[7], met[8]) > 10 and met[8] > met[7]
        alone = [Collected(f"test_{n}", True, mark, device=d) for n in range(100) for d in (7, 8)]
        spared = pairwise.left_out(alone, frozenset({id(7)}), thorough=True)
        kept = Counter(test.callspec.params["device"] for test in alone if test.nodeid not in spared)
        assert kept.total() == 100 and 8 < kept[7] < 27
        assert not pairwise.left_out(alone[::2], frozenset({id(7)}), thorough=True)  # no other device is there


def test_targets_are_shared_among_tests():
    tests = [Collected(f"test_{n}", False, target=t) for n in range(3) for t in range(20)]
    kept = [test for test in tests if test.nodeid not in pairwise.left_out(tests)]
    assert sorted(test.callspec.params["target"] for test in kept) == list(range(20))
    assert not pairwise.left_out(tests, thorough=True)
    few = [Collected(f"test_{n}", False, target=t) for n in range(9) for t in range(n % 3 + 1)]
    kept = [test for test in few if test.nodeid not in pairwise.left_out(few)]
    assert len(kept) == 9 == len({test.nodeid.partition("[")[0] for test in kept})


def test_one_parameter_is_left_alone():
    assert pairwise.chosen([{"a": n} for n in range(5)]) == list(range(5))
    assert pairwise.chosen([]) == []


def test_long_tests_of_the_whole_suite_take_turns():
    names = pairwise.LONG.read_text().split()
    assert names == sorted(set(names))
    items = [SimpleNamespace(nodeid=f"{name}[{n}]") for name in names for n in range(2)]
    turns = [{i.nodeid for i in items} - pairwise.of_other_turns(items, turn) for turn in range(pairwise.RUNS)]
    assert sum(map(len, turns)) == len(set.union(*turns)) == len(items)
    assert all(len(items) // 7 < len(turn) < len(items) // 4 for turn in turns)
    assert not pairwise.of_other_turns([SimpleNamespace(nodeid="tests/test_pairwise.py::test_no_pair_is_lost")], 1)


def test_long_tests_are_there():
    root = Path(__file__).parent.parent
    gone = {name for name in pairwise.LONG.read_text().split() if not (root / name.split("::")[0]).is_file()}
    assert not gone, "run python -m tools.long_tests"
