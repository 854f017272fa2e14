"""The search with candidates that are compiled ahead, by a planted pool of compilers: order, ends, verification."""

from __future__ import annotations

import itertools
import time

import pytest

from portagpu.errors import TuningError
from portagpu.tuning import Axis, Budget, Measured, SearchSpace, Store, TaskKey, WrongResult, make_strategy
from portagpu.tuning.searches.compile_ahead import Ahead
from portagpu.tuning.searches.optuna_strategies import LibrarySampler
from portagpu.tuning.searches.ranking import rank
from portagpu.tuning.searches.search import search
from portagpu.tuning.trials.compilers import Compilation

TASK = TaskKey(device="d", kernel="k", kernel_version=1, dtype="float32", shape_class="1x1x1")
SPACE = SearchSpace((Axis("x", tuple(range(1, 13))), Axis("y", (1, 2, 3))))
OPTUNA = pytest.mark.skipif(not LibrarySampler.is_installed(), reason="pip install 'portagpu[tune]'")


class Pool:
    """Compilations end while they are waited for: ``choose`` takes one of those that wait, or None."""

    def __init__(self, choose, count=3):
        self.count, self.choose = count, choose
        self.waiting, self.asked, self.numbers = [], [], itertools.count()

    def ask(self, request, *, urgent=False):
        made = Compilation((not urgent, next(self.numbers)), request)
        self.waiting.append(made)
        self.asked.append((request["action"], request["point"]["x"], request["point"]["y"]))
        return made

    def wait(self, compilations, seconds):
        watched = list(compilations)
        while not any(c.is_done for c in watched) and seconds > 0:
            chosen = self.choose(self.waiting)
            if chosen is None:
                time.sleep(seconds)
                return
            self.waiting.remove(chosen)
            chosen.is_done = True

    def drop(self, compilations):
        orders = {c.order for c in compilations}
        self.waiting = [c for c in self.waiting if c.order not in orders]


def first(waiting):
    return waiting[0]


def last(waiting):
    return waiting[-1]


def took(x, y):
    return 0.1 + abs(x - 7) / 100 + y / 1000


def searched(
    path, pool, strategy="model", verify=lambda point: None, verifies=False, during=lambda point: None, **budget
):
    measured = []

    def evaluate(point, limit):
        measured.append((point["x"], point["y"]))
        during(point)
        return Measured(took(**point))

    history = rank(SPACE, lambda point: point["x"] + point["y"] / 10)
    options = {"store": Store(path), "task": TASK, "budget": Budget(**{"seconds": 20.0, **budget}), "trial_limit": 0.3}
    ahead = Ahead(pool, {}, verifies=verifies)
    made = make_strategy(strategy)
    result = search(history, made, evaluate, verify, ahead=ahead, **options)
    assert not history.pending and not pool.waiting
    return result, measured


def test_what_is_compiled_first_is_measured_first(tmp_path):
    pool = Pool(last)
    _, measured = searched(tmp_path / "s.jsonl", pool, trials=6)
    proposed = [point for _, *point in pool.asked]
    # the first one is not compiled ahead; then three are under way, and two wait
    assert proposed == [[1, 2], [1, 3], [2, 1], [2, 2], [2, 3]]
    assert measured[0] == (1, 1) and measured[1:] == [(2, 3), (2, 2), (2, 1), (1, 3), (1, 2)]
    assert searched(tmp_path / "t.jsonl", Pool(first), trials=6)[1][1:] == [(x, y) for x, y in proposed]


@pytest.mark.parametrize("choose", [first, last])
@pytest.mark.parametrize("name", ["model", "random", "neighbours", pytest.param("tpe", marks=OPTUNA)])
def test_every_point_is_measured_once(tmp_path, name, choose):
    result, measured = searched(tmp_path / "s.jsonl", Pool(choose), name, trials=100)
    assert len(measured) == len(set(measured)) == 36
    assert result.winner == {"x": 7, "y": 1}


def test_a_search_that_raises_leaves_nothing_to_the_compilers(tmp_path):
    pool = Pool(first)

    def faulty(point):
        raise TuningError("a check that raised")

    with pytest.raises(TuningError, match="a check that raised"):
        searched(tmp_path / "s.jsonl", pool, during=faulty)
    assert pool.asked and not pool.waiting


def test_a_strategy_that_looks_at_outcomes_only_is_waited_for(tmp_path):
    class Blind:
        def propose(self, history):
            return next((p for p in history.ranked if tuple(p.items()) not in history.tried), None)

    _, measured = searched(tmp_path / "s.jsonl", Pool(first), Blind(), trials=100)
    assert len(measured) == len(set(measured)) == 36


def test_compilers_that_never_end_end_with_the_budget(tmp_path):
    begin = time.monotonic()
    result, measured = searched(tmp_path / "s.jsonl", Pool(lambda waiting: None), seconds=0.5)
    assert measured == [(1, 1)] and result.winner == {"x": 1, "y": 1}
    assert time.monotonic() - begin < 5


def test_what_another_process_measured_is_passed_over(tmp_path):
    path = tmp_path / "s.jsonl"

    def during(point):
        if point == {"x": 1, "y": 1}:
            Store(path).add_trial(TASK, {"x": 1, "y": 3}, Measured(took(1, 3)))

    _, measured = searched(path, Pool(first), during=during, trials=100)
    assert (1, 3) not in measured and len(measured) == 35


def test_a_verification_is_compiled_while_others_are_measured(tmp_path):
    """The compilers take that of the first point only after four others; one at a time."""
    taken = []

    def choose(waiting):
        taken.append(min(waiting) if len(taken) >= 4 else next(c for c in waiting if c.request["action"] == "measure"))
        return taken[-1]

    order = []

    def verify(point):
        order.append(("verified", point["x"]))
        return "planted" if point["x"] == 1 else None

    result, measured = searched(
        *(tmp_path / "s.jsonl", pool := Pool(choose)),
        verify=verify,
        verifies=True,
        during=lambda point: order.append(("measured", point["x"])),
        trials=20,
    )
    assert order[:7] == [*(("measured", x) for x in (1, 1, 1, 2, 2, 2)), ("verified", 1)]
    assert result.winner == {"x": 7, "y": 1} and len(measured) == 20
    assert result.failures == (({"x": 1, "y": 1}, WrongResult("planted")),)
    verified = [tuple(point) for kind, *point in pool.asked if kind == "verify"]
    assert len(verified) == len(set(verified)) and verified[0] == (1, 1) and (7, 1) in verified


def test_a_winner_is_verified_though_its_programs_never_come(tmp_path):
    pool = Pool(lambda waiting: next((c for c in waiting if c.request["action"] == "measure"), None))
    result, _ = searched(tmp_path / "s.jsonl", pool, verifies=True, trials=5)
    assert result.winner is not None
