"""Statistics of rounds, the rule that ends them, and turns."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from short_method import SHORT

from portagpu.bench.method import statistics, turns
from portagpu.bench.method.rounds import play
from portagpu.bench.method.turns import BackToBack, Call, OneByOne, take_turn

pytestmark = pytest.mark.one_device

TIMES = st.lists(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=5).map(tuple), min_size=3, max_size=8).map(tuple)


@given(TIMES)
@settings(max_examples=50)
def test_intervals_lie_around_medians_within_the_samples(samples):
    low, high = statistics.interval(samples)
    everything = statistics.all_of(samples)
    assert min(everything) <= low <= high <= max(everything)
    assert statistics.interval(samples) == (low, high)  # the same samples, the same interval
    assert statistics.relative_error(samples) >= 0


def test_intervals_hold_the_true_median_about_as_often_as_they_say():
    """Rounds differ by 2%, samples within one by 1%: intervals of single samples would be far too narrow."""
    generator = np.random.default_rng(1)
    held = 0
    for _ in range(200):
        rounds = np.exp(0.02 * generator.standard_normal((12, 1)) + 0.01 * generator.standard_normal((12, 8)))
        low, high = statistics.interval(tuple(map(tuple, rounds.tolist())))
        held += low <= 1.0 <= high
    assert 0.85 <= held / 200 <= 1.0  # a bootstrap of twelve rounds is a little too narrow


def test_few_rounds_have_no_interval():
    assert statistics.interval(((1.0, 2.0), (1.0,))) is None and statistics.relative_error(((1.0,), (2.0,))) is None
    assert statistics.median(()) is None and statistics.quartiles(()) is None
    assert statistics.quartiles(((2.0,),)) == (2.0, 2.0, 2.0)
    assert statistics.quartiles(((1.0, 2.0), (3.0, 4.0))) == pytest.approx(np.percentile([1, 2, 3, 4], [25, 50, 75]))


class Told:
    """A player of planted times, which tells who played."""

    def __init__(self, name, told, times):
        self.name, self.told, self.times = name, told, times

    def turn(self):
        self.told.append(self.name)
        return next(self.times)


def steady(value=1.0):
    while True:
        yield [value, value, value]


def noisy(seed=0):
    generator = np.random.default_rng(seed)
    while True:
        yield [float(generator.uniform(0.5, 2))]


def test_turns_change_their_order_until_all_are_known():
    told = []
    method = replace(SHORT, target=0.01, limit_seconds=60.0, least_samples=9)
    found = play([Told("a", told, steady()), Told("b", told, steady(2.0))], method)
    assert "".join(told) == "abbaab"
    assert [one.stopped for one in found] == ["the target: relative standard error 0.00% after 3 rounds"] * 2
    assert found[1].samples == ((2.0, 2.0, 2.0),) * 3


def test_noise_is_measured_longer_and_told():
    told = []
    method = replace(SHORT, target=0.001, limit_seconds=0.02, least_samples=9)
    first, second = play([Told("a", told, steady()), Told("b", told, noisy())], method)
    assert len(second.rounds) >= 9 and second.stopped.startswith("the time limit: relative standard error")
    assert len(first.rounds) == len(second.rounds) and first.stopped.startswith("the target")
    assert statistics.varies(second.samples) and not statistics.varies(first.samples)


def test_warm_up_ends_when_two_turns_are_alike():
    falling = iter([[4.0], [2.0], [1.0], [1.0], *[[1.0]] * 20])
    told = []
    (found,) = play([Told("a", told, falling)], replace(SHORT, warm_up_seconds=60.0))
    assert len(told) == 4 + len(found.rounds) and found.samples == ((1.0,),) * 3


def test_samples_are_written_in_six_digits():
    (found,) = play([Told("a", [], iter([[1 / 3]] * 3))], SHORT)
    assert found.samples == ((0.333333,),) * 3


def test_short_calls_are_timed_several_together():
    told = []
    times = take_turn(lambda: told.append(1), replace(SHORT, round_seconds=0.004))
    assert len(told) > 100 and all(0 < seconds < 1e-4 for seconds in times)
    (seconds,) = take_turn(lambda: time.sleep(0.002), SHORT)
    assert seconds >= 0.002


def test_calls_back_to_back_are_waited_for_once(monkeypatch):
    now, told = [0.0], []

    def enqueue():
        told.append("call")
        now[0] += 1e-6

    monkeypatch.setattr(turns, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    call = Call(enqueue=enqueue, wait=lambda: told.append("wait"))
    player = BackToBack(
        call, replace(SHORT, sample_seconds=0.002, round_seconds=0.001), look=lambda: told.append("look")
    )
    player.turn()
    del told[:]
    (seconds,) = player.turn()
    assert seconds == pytest.approx(1e-6) and told.count("call") == player.calls + max(1, player.calls // 8)
    assert told.count("wait") == 2 and told[-1] == "wait" and told.count("look") == 1
    assert told.index("look") == told.index("wait") - 1  # while calls that are not timed are under way


def test_batches_that_were_counted_while_calls_were_slow_are_filled_again(monkeypatch):
    """A sample has a millisecond, whatever disturbed the calls by which a batch was counted."""
    now, done = [0.0], []

    def enqueue():
        done.append(1)
        now[0] += 0.05 if len(done) < 9 else 1e-6

    monkeypatch.setattr(turns, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    player = BackToBack(Call(enqueue=enqueue), replace(SHORT, sample_seconds=0.005))
    assert player.turn() and player.turn() == pytest.approx([1e-6])
    assert player.calls * 1e-6 >= 0.001


def test_a_player_of_new_processes_needs_no_warm_up():
    told = []
    player = Told("a", told, steady())
    player.is_steady = True
    (found,) = play([player], replace(SHORT, warm_up_seconds=60.0))
    assert len(told) == len(found.rounds) == 3


def test_calls_one_by_one_are_each_waited_for():
    told = []
    call = Call(enqueue=lambda: (told.append("call"), time.sleep(0.001)), wait=lambda: told.append("wait"))
    assert len(OneByOne(call, SHORT).turn()) == 1 and told == ["call", "wait"]
