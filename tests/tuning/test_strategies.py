"""Strategies on recorded measurements: always legal and new, better than chance, and the same each time."""

from __future__ import annotations

import functools
import importlib.util
import math
import random
import shutil

import numpy as np
import pytest

from portagpu import tuning
from portagpu.bench import strategies as bench
from portagpu.errors import TuningError
from portagpu.settings import Settings
from portagpu.tuning import (
    CompileFailed,
    Measured,
    Recording,
    SearchSpace,
    Store,
    TaskKey,
    make_strategy,
    replay,
    strategy_names,
)
from portagpu.tuning.searches.expectation import modelled
from portagpu.tuning.searches.optuna_strategies import LibrarySampler
from portagpu.tuning.searches.ranking import rank
from portagpu.tuning.searches.search import Budget, search
from portagpu.tuning.tunables.space import point_key

pytestmark = pytest.mark.one_device

TASK = TaskKey(device="d", kernel="recorded", kernel_version=1, dtype="float32", shape_class="n=1")
OPTUNA = pytest.mark.skipif(not LibrarySampler.is_installed(), reason="pip install 'portagpu[tune]'")
TPE = pytest.param("tpe", marks=OPTUNA)


def seconds(kind, tile_m, tile_n, unroll):
    """A bowl around (64, 32, 4) with ripples; the other kind is slower everywhere."""
    away = abs(math.log2(tile_m / 64)) + 0.7 * abs(math.log2(tile_n / 32)) + 0.2 * abs(math.log2(unroll / 4))
    ripple = 0.05 * ((tile_m + 3 * tile_n + unroll) % 7)
    return 1e-3 * (1 + 0.3 * away + ripple) * (2 if kind == "other" else 1)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("recorded") / "store.jsonl")
    generator = random.Random(1)
    sizes = (8, 16, 32, 64, 128, 256)
    points = [
        {"kind": kind, "tile_m": m, "tile_n": n, "unroll": u}
        for kind in ("tile", "other")
        for m in sizes
        for n in sizes
        for u in (1, 2, 4, 8)
        if m * n >= 256
    ]
    for point in points:
        time = seconds(**point)
        outcome = CompileFailed("too large") if point["tile_m"] * point["tile_n"] > 16384 else Measured(time)
        predicted = time * generator.uniform(0.5, 2.0)  # a model that is right on average
        store.add_trial(TASK, point, outcome, predicted=predicted, cost=2.0)
    return store.path


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", ["model", "random", "neighbours", TPE])
def test_every_point_is_proposed_once(path, name):
    recording = Recording.load(path)
    done = replay(name, recording, budget=10_000)
    assert len(done.steps) == len(recording.records)
    assert done.share() == 1.0
    assert done.winner["kind"] == "tile"


@pytest.mark.parametrize("name", ["neighbours", TPE, "default"])
def test_searches_find_what_chance_does_not(path, name):
    recording = Recording.load(path)
    shares = [replay(name, recording, budget=40, seed=seed).share() for seed in range(5)]
    chance = [replay("random", recording, budget=40, seed=seed).share() for seed in range(5)]
    assert sorted(shares)[2] >= 0.96
    assert sum(shares) > sum(chance)


@pytest.mark.parametrize("name", ["random", "neighbours", TPE])
def test_the_same_seed_is_the_same_search(path, name):
    recording = Recording.load(path)
    one, other = (replay(name, recording, budget=30, seed=7).steps for _ in range(2))
    assert [s.point for s in one] == [s.point for s in other]


def test_model_order_begins_every_search(path):
    recording = Recording.load(path)
    first = [s.point for s in replay("model", recording, budget=16).steps]
    assert [s.point for s in replay("default", recording, budget=16).steps] == first
    assert first[0] == min(recording.records.values(), key=lambda r: r.predicted).point


def test_budgets_in_seconds_count_recorded_costs(path):
    done = replay("random", Recording.load(path), budget="21s")
    assert len(done.steps) == 11 and done.steps[-1].elapsed == 22.0
    assert done.share(0) == 0.0 and done.share(3) <= done.share(11)


@pytest.mark.parametrize("budget", [-1, "soon", None, -0.5], ids=str)
def test_budgets_that_make_no_sense(path, budget):
    with pytest.raises(TuningError, match="is no"):
        replay("random", Recording.load(path), budget=budget)


def test_numbers_of_numpy_are_numbers(path):
    recording = Recording.load(str(path))
    assert len(replay("random", recording, budget=np.int64(5), seed=np.int64(1)).steps) == 5
    assert len(replay("random", recording, budget=np.float32(21)).steps) == 11


def test_strategies_of_ones_own(path):
    class Backwards:
        def propose(self, history):
            return history.first_new(reversed(history.ranked))

    assert len(replay(Backwards(), Recording.load(path), budget=5).steps) == 5

    class Stubborn:
        def propose(self, history):
            return history.ranked[0]

    with pytest.raises(TuningError, match="which is old"):
        replay(Stubborn(), Recording.load(path), budget=5)


def test_names():
    assert {"model", "random", "tpe", "default"} <= set(strategy_names())
    with pytest.raises(TuningError, match="there is no strategy 'best'"):
        make_strategy("best")


@pytest.mark.parametrize("name", ["model", "random", "neighbours"])
def test_what_the_model_excludes_is_not_proposed(device, name):
    """Also by strategies that look for points themselves."""
    space = tuning.SearchSpace.of(block=tuple(range(40)))
    tunable = tuning.Parameters(
        name="excluding", space=space, model=lambda problem, point, device: None if point["block"] >= 30 else 1.0
    )
    history = modelled(tunable, {"n": 1}, device, tuning.figures_of(device, Settings.from_environment())).history
    strategy, found = make_strategy(name), []
    while (point := strategy.propose(history)) is not None:
        found.append(point["block"])
        history.tried[point_key(point)] = (point, Measured(1.0 / (1 + point["block"])))
    assert sorted(found) == list(range(30))


def test_without_the_library_neighbours_serve(path, monkeypatch):
    inner = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "optuna" else inner(name))
    with pytest.raises(TuningError, match="needs optuna"):
        make_strategy("tpe")
    recording = Recording.load(path)
    one, other = (replay(name, recording, budget=40).steps for name in ("default", "neighbours"))
    assert [s.point for s in one] == [s.point for s in other]


def test_recordings_that_say_nothing(tmp_path):
    with pytest.raises(TuningError, match="there is no file"):
        Recording.load(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(TuningError, match="has no trials"):
        Recording.load(tmp_path / "empty.jsonl")
    store = Store(tmp_path / "store.jsonl")
    store.add_trial(TASK, {"x": 1}, CompileFailed("no"))
    with pytest.raises(TuningError, match="no measured trial"):
        Recording.load(store)


def test_the_comparison(path, capsys):
    rows = bench.compare(bench.recordings_in(path), ["model", "random"], trials=(8, 32), seeds=3)
    assert [row.strategy for row in rows] == ["model", "random"]
    assert all(0 < row.shares[0] <= row.shares[1] <= 1 for row in rows)
    table = bench.markdown(rows, (8, 32))
    assert "| recorded float32 n=1 |" in table and "after 32" in table
    bench.main([str(path), "--strategy", "model", "--seeds", "1"], standalone_mode=False)
    assert "| model |" in capsys.readouterr().out


def searched(chosen, file, trials):
    """The points that a search measures, in their order."""
    order = []
    space = SearchSpace.of(
        lambda b, a: a * b <= 512, mode=("y", "x", "w"), b=(1, 2, 4, 8, 64), a=(1, 2, 8, 32, 64), wide=(True, False)
    )

    def evaluate(point, limit):
        order.append(point)
        return Measured(1e-3 * (1 + abs(point["a"] - 8) + abs(point["b"] - 4) + len(point["mode"] * point["wide"])))

    history = rank(space, lambda point: 1e-3 * (point["a"] // 8 + 1))
    budget = Budget(seconds=60, trials=trials)
    search(history, make_strategy(chosen, 3), evaluate, lambda p: None, store=Store(file), task=TASK, budget=budget)
    return order


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The file of a search of everything by a strategy."""

    @functools.cache
    def made(strategy):
        path = tmp_path_factory.mktemp("recorded") / "all.jsonl"
        searched(strategy, path, None)
        return path

    return made


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", ["model", "random", "default", "tpe", "cmaes", "neighbours"])
@pytest.mark.parametrize("recorded_by", ["model", "random"])
@pytest.mark.parametrize("copied", ["", "compact", "export", "merge"])
def test_a_replay_goes_the_way_of_the_search(tmp_path, recorded, name, recorded_by, copied):
    """Whatever the order of axes and values, and that of measuring."""
    if name in ("tpe", "cmaes"):
        pytest.importorskip("optuna")
    if name == "cmaes":
        pytest.importorskip("cmaes")
    shutil.copy(recorded(recorded_by), tmp_path / "all.jsonl")
    store, copy = Store(tmp_path / "all.jsonl"), Store(tmp_path / "copy.jsonl")
    if copied == "compact":
        store.compact()
    elif copied:
        store.export(copy.path) if copied == "export" else copy.merge(store.path)
        store = Store(copy.path)
    live = searched(name, tmp_path / "live.jsonl", 40)
    found = replay(name, Recording.load(store), budget=40, seed=3)
    assert [step.point for step in found.steps] == live
