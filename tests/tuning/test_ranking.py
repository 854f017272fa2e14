"""A model is asked as long as there is time: the same order wherever it suffices, else a sample of the whole space."""

from __future__ import annotations

import dataclasses
import logging
import math
import warnings
from types import SimpleNamespace

import pytest
from planted_kernels import PLANTED

from portagpu import tuning
from portagpu.settings import Settings
from portagpu.tuning import Budget, Prediction, SearchSpace, Session, Store
from portagpu.tuning import choice as choice_module
from portagpu.tuning import session as session_module
from portagpu.tuning.searches.expectation import modelled
from portagpu.tuning.searches.ranking import rank
from portagpu.tuning.searches.report import SearchResult
from portagpu.tuning.tunables.device_rates import figures_of
from portagpu.tuning.tunables.roofline import Limit
from portagpu.tuning.tunables.space import point_key

pytestmark = pytest.mark.one_device

LARGE = SearchSpace.of(x=range(100), y=range(100))


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until somebody adds to its ``now``."""
    fake = SimpleNamespace(now=0.0)
    monkeypatch.setattr("portagpu.tuning.searches.ranking.time", SimpleNamespace(monotonic=lambda: fake.now))
    return fake


def asking(clock, cost, says=lambda point: abs(point["x"] - 60) + point["y"] / 1000 + 1):
    """A model that takes its time, and the points that it was asked about."""
    asked = []

    def predict(point):
        clock.now += cost(len(asked)) if callable(cost) else cost
        asked.append(point)
        return says(point)

    return predict, asked


def test_where_the_time_suffices_the_order_is_that_of_the_predictions(clock):
    whole = rank(LARGE, asking(clock, 0.0)[0])
    assert whole.ranked[0] == {"x": 60, "y": 0} and len(whole.predicted) == 10_000
    for cost in (0.01, lambda count: 90.0 if count == 0 else 1e-4):  # also where it seems not to suffice at first
        predict, asked = asking(clock, cost)
        found = rank(LARGE, predict, 110.0)
        assert (found.ranked, found.predicted) == (whole.ranked, whole.predicted) and len(asked) == 10_000


def test_a_slow_model_is_asked_about_some_points_of_the_whole_space(clock):
    predict, asked = asking(clock, 1.0)
    found = rank(LARGE, predict, 400.0)
    assert len(asked) == len(found.predicted) == 400 and clock.now == 400
    assert len({point["x"] for point in asked}) > 90 and len({point["y"] for point in asked}) > 90
    assert len(found.ranked) == 10_000 and found.ranked[0]["x"] == 60
    known, others = found.ranked[:400], found.ranked[400:]
    assert [found.predicted[point_key(p)] for p in known] == sorted(found.predicted.values())
    assert others == [point for point in LARGE if point_key(point) not in found.predicted]  # in the space's order
    clock.now = 0.0
    assert rank(LARGE, asking(clock, 1.0)[0], 400.0).ranked == found.ranked


def test_a_model_that_slows_down_is_not_asked_about_a_corner_only(clock):
    predict, asked = asking(clock, lambda count: 0.001 if count < 1000 else 1.0)
    rank(LARGE, predict, 400.0)
    assert len(asked) < 1500 and len({point["x"] for point in asked[1010:]}) > 80


def test_it_is_asked_for_longer_where_nothing_can_run(clock):
    """Who takes the best of what is known would otherwise get what the model never saw."""
    predict, asked = asking(clock, 1.0, lambda point: 5.0 if len(asked) == 250 else math.inf)
    found = rank(LARGE, predict, 100.0)
    assert len(asked) == 250 and min(found.predicted.values()) == 5.0
    for nothing, count in ((math.inf, 400), (math.nan, 100)):
        predict, asked = asking(clock, 1.0, lambda point, nothing=nothing: nothing)
        assert len(rank(LARGE, predict, 100.0).ranked) == 10_000 and len(asked) == count


def test_without_a_model_points_come_in_the_spaces_order(clock):
    def slow(point):
        clock.now += 1.0
        return True

    space = SearchSpace.of(slow, x=range(30), y=range(30))
    assert rank(space, None, 0.1).ranked == [{"x": x, "y": y} for x in range(30) for y in range(30)]


def slow_tunable(clock):
    def says(point):
        terms = dict.fromkeys(Limit, 0.0)
        return Prediction(
            seconds=1.0 + point["x"],
            limit=Limit.COMPUTE,
            bound=0.5,
            resident=1,
            occupancy=1.0,
            waves=1.0,
            utilisation=1.0,
            terms=terms,
        )

    predict, asked = asking(clock, 1.0, says)
    tunable = dataclasses.replace(
        PLANTED, space=LARGE, model=lambda problem, point, device: predict(point), default=None
    )
    return tunable, asked


def test_what_was_not_asked_about_is_told_in_the_log_and_has_no_warning(clock, device, caplog):
    figures = figures_of(device, Settings.from_environment())
    tunable, _ = slow_tunable(clock)
    with caplog.at_level(logging.INFO, "portagpu.tuning"), warnings.catch_warnings():
        warnings.simplefilter("error")
        some = modelled(tunable, {"n": 64}, device, figures, 100.0)
        assert "was asked about 100 of 10000 points for n=64" in caplog.text
        caplog.clear()
        assert modelled(tunable, {"n": 64}, device, figures).roof == 0.5 and not caplog.text
    assert some.roof is None and len(some.history.ranked) == 10_000 and not some.history.excluded


def test_an_untuned_choice_waits_two_seconds_for_the_model(clock, device, tmp_path):
    tunable, asked = slow_tunable(clock)
    settings = dataclasses.replace(Settings.from_environment(), data_dir=tmp_path)
    found = tuning.best(tunable, {"n": 64}, device=device, settings=settings)
    assert len(asked) == 3  # the last one says what is expected of the choice
    assert found.point == {"x": 0, "y": 0} and found.expected.seconds == 1.0
    assert choice_module._MODELLING == 2.0


def test_a_search_gives_the_model_a_part_of_its_budget(device, tmp_path, monkeypatch):
    limits, times = [], []

    def observed(tunable, problem, record, figures, limit):
        limits.append(limit)
        return modelled(tunable, problem, record, figures, limit)

    monkeypatch.setattr(session_module, "modelled", observed)
    store = Store(tmp_path / "store.jsonl")
    with Session(PLANTED, device, Settings.from_environment(), store, compilers=0) as session:
        for seconds in (600.0, 0.1):
            options = {"progress": lambda state: times.append(state.elapsed)}
            result = session.search({"n": 64}, Budget(seconds=seconds, trials=1), "model", **options)
            assert 0 < result.modelling < times[-1] <= result.elapsed
    assert 140 < limits[0] <= 150 and limits[1] == 0.2  # for one trial of a point that is worth it


def test_no_time_is_left_for_other_classes(device, tmp_path):
    session = Session(PLANTED, device, Settings.from_environment(), Store(tmp_path / "store.jsonl"))
    assert session.retime({"n": 64}, [{"n": 128}, {"n": 256}], -1.0) == []  # nor is a process started


def test_the_model_is_named_where_it_took_the_time():
    result = SearchResult(winner={"x": 1}, seconds=1.0, trials=1, failures=(), elapsed=6.0, modelling=1.5)
    assert "nothing else was tried, and the model took 1.5 s of the budget: a larger" in str(result)
    assert "the model took" not in str(dataclasses.replace(result, modelling=0.1))
    assert "nothing else was tried: a larger" in str(dataclasses.replace(result, elapsed=0.0, modelling=0.0))
