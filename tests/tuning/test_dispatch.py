"""Dispatch over classes of problems: stored, nearest, shipped, modelled; and spaces, shapes, guard zones, logs."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from types import SimpleNamespace

import numpy as np
import pytest
from planted_kernels import PICKY, PLANTED

from portagpu import cuda, tuning
from portagpu.device.families import device_class
from portagpu.errors import PortaGPUWarning, TuningError
from portagpu.settings import Settings
from portagpu.tuning import Axis, Chooser, Measured, Resources, Rule, SearchSpace, Spilled, Store, UnionSpace
from portagpu.tuning.choice import export_shipped, shipped_file
from portagpu.tuning.searches.expectation import modelled
from portagpu.tuning.store.tasks import problem_of, task_of
from portagpu.tuning.trials import trial
from portagpu.tuning.trials.guard_zones import guarded
from portagpu.tuning.trials.trial import compare, spills_in
from portagpu.tuning.tunables import outcomes, problems
from portagpu.tuning.tunables.device_rates import figures_of
from portagpu.tuning.tunables.space import point_key

pytestmark = pytest.mark.one_device

FAST, SLOW = {"fault": "none", "repeat": 1}, {"fault": "none", "repeat": 100}


@pytest.fixture
def settings(tmp_path):
    return Settings.from_environment({**os.environ, "PORTAGPU_DATA_DIR": str(tmp_path), "PORTAGPU_SHIPPED": "1"})


def win(store, n, point, device, seconds=0.5):
    store.add_winner(task_of(PICKY, {"n": n}, device.key), point, seconds)


def test_rules_in_their_order(device, tmp_path, settings):
    store, shipped = Store(tmp_path / "own.jsonl"), Store(tmp_path / "shipped.jsonl")
    chooser = Chooser(store, (shipped,))

    def choose(n):
        found = chooser.choose(PICKY, {"n": n}, device, settings)
        return found.rule, found.point

    assert choose(1024) == (Rule.DEFAULT, FAST)  # no model: the first legal point
    shipped.add_winner(task_of(PICKY, {"n": 1000}, device_class(device)), SLOW, 0.2)
    win(store, 64, SLOW, device)  # too far away; what is new in the store is seen at once
    assert choose(1024) == (Rule.SHIPPED, SLOW)
    win(store, 2048, FAST, device)
    assert choose(1024) == (Rule.SHIPPED, SLOW)  # of the same class, the own one is an octave away
    assert choose(4000) == (Rule.NEAREST, FAST)
    win(store, 1100, FAST, device)
    assert choose(1024) == (Rule.EXACT, FAST)
    text = str(chooser.choose(PICKY, {"n": 4000}, device, settings))
    assert "rule: stored result of the nearest class" in text and "0.966 octaves away, 500 ms measured" in text
    assert "tuned for: n=2048" in text and "parameters: fault=none repeat=1" in text


def test_a_default_of_the_users_own_is_no_models(device, settings):
    """Only who says that a function for the default asks the models has it called so."""
    for asks, rule in ((False, Rule.DEFAULT), (True, Rule.MODEL)):
        computed = dataclasses.replace(PLANTED, default=lambda problem, device: FAST, default_is_modelled=asks)
        assert tuning.best(computed, {"n": 64}, device=device, settings=settings).rule is rule


def test_the_model_chooses_where_nothing_is_known(device, settings):
    found = tuning.best(PLANTED, {"n": 64}, device=device, settings=settings)
    assert found.rule is Rule.MODEL and found.expected == 1e-9 and "model: 1 ns" in str(found)


@pytest.mark.parametrize(
    "nonsense",
    [
        *(float("nan"), float("-inf"), -1.0),
        Resources(threads=1, blocks=1, flops=math.nan),
        Resources(threads=1, blocks=1, flops=math.inf, peak=math.inf),
        Resources(threads=1, blocks=1, flops=1e9, efficiency=0.0),
    ],
)
def test_a_time_that_is_none_is_no_prediction(device, settings, nonsense):
    """As with samplers: what is not a number is left out, with one warning, and nobody is shown it."""
    tunable = dataclasses.replace(PICKY, model=lambda problem, point, record: 0.5 if point == SLOW else nonsense)
    message = r"the model of .* says (nan|-inf|-1|flops=nan|efficiency=0.0).*for 1 others.*no prediction"
    with pytest.warns(PortaGPUWarning, match=message) as told:
        found = modelled(tunable, {"n": 64}, device, figures_of(device, settings))
    assert len(told) == 1
    assert found.history.ranked[0] == SLOW and FAST in found.history.ranked  # the others are tried, too
    assert found.history.predicted == {point_key(SLOW): 0.5} and found.roof is None
    choice = tuning.best(dataclasses.replace(tunable, default=FAST), {"n": 64}, device=device, settings=settings)
    assert choice.expected is None and "nan" not in str(choice) and "model" not in str(choice)


@pytest.mark.parametrize("endless", [math.inf, Resources(threads=1, blocks=1, flops=math.inf)])
def test_infinity_is_what_cannot_run(device, settings, endless):
    tunable = dataclasses.replace(PICKY, model=lambda problem, point, record: 0.5 if point == SLOW else endless)
    assert modelled(tunable, {"n": 64}, device, figures_of(device, settings)).history.ranked == [SLOW]
    choice = tuning.best(dataclasses.replace(tunable, default=FAST), {"n": 64}, device=device, settings=settings)
    assert choice.expected is None and "inf" not in str(choice)


@pytest.mark.parametrize("roof", [math.nan, -1.0, 0.0])
def test_a_roof_that_is_no_time_is_none(device, settings, roof):
    tunable = dataclasses.replace(PICKY, roof=lambda problem, record: roof)
    assert modelled(tunable, {"n": 64}, device, figures_of(device, settings)).roof is None


def test_the_model_may_outweigh_shipped_results_of_another_class(device, tmp_path, settings):
    """What was best for one size can be bad for the next: the model knows that, if not how fast things are."""

    def model(problem, point, record):
        return 1.0 if point == FAST else 1.1 if problem["n"] < 3000 else 2.0

    tunable = dataclasses.replace(PICKY, model=model, default=lambda problem, record: FAST, default_is_modelled=True)
    store, shipped = Store(tmp_path / "own.jsonl"), Store(tmp_path / "shipped.jsonl")
    chooser = Chooser(store, (shipped,))
    shipped.add_winner(task_of(tunable, {"n": 2048}, device_class(device)), SLOW, 0.5)
    found = {n: chooser.choose(tunable, {"n": n}, device, settings) for n in (1100, 3100, 4000)}
    assert {n: choice.rule for n, choice in found.items()} == {1100: Rule.SHIPPED, 3100: Rule.MODEL, 4000: Rule.MODEL}
    assert {n: choice.point for n, choice in found.items()} == {1100: SLOW, 3100: FAST, 4000: FAST}
    store.add_winner(task_of(tunable, {"n": 2048}, device.key), SLOW, 0.5)  # the user's own count in any case
    assert chooser.choose(tunable, {"n": 4000}, device, settings).point == SLOW


def test_results_of_another_class_with_the_same_processors_serve_where_there_are_none(
    device, tmp_path, settings, monkeypatch
):
    store, shipped = Store(tmp_path / "own.jsonl"), Store(tmp_path / "shipped.jsonl")
    shipped.add_winner(task_of(PICKY, {"n": 1024}, "Kin"), SLOW, 0.5)
    chooser = Chooser(store, (shipped,))
    assert chooser.from_results(PICKY, {"n": 1024}, device, settings) is None
    own = device_class(device)
    monkeypatch.setattr("portagpu.tuning.choice.device_classes", lambda record: (own, "Kin"))
    found = chooser.from_results(PICKY, {"n": 1024}, device, settings)
    assert (found.rule, found.point) == (Rule.SHIPPED, SLOW)
    shipped.add_winner(task_of(PICKY, {"n": 1024}, own), FAST, 0.6)  # its own class comes first
    assert chooser.from_results(PICKY, {"n": 1024}, device, settings).point == FAST


@pytest.mark.parametrize("used", [FAST, SLOW])
def test_a_search_begins_with_what_is_used_without_it(device, tmp_path, settings, used):
    """Else a short search could find less than what was there before, and its winner would be used from then on."""
    store = Store(tmp_path / "own.jsonl")
    win(store, 2048, used, device)
    tuning.tune(PICKY, {"n": 1024}, trials=1, device=device, store=store, settings=settings)
    ((point, _),) = store.trials(task_of(PICKY, {"n": 1024}, device.key)).values()
    assert point == used


def test_illegal_and_foreign_winners_are_passed_over(device, tmp_path, settings):
    store = Store(tmp_path / "own.jsonl")
    win(store, 1024, {"fault": "none", "repeat": 7}, device, 0.1)
    win(store, 1024 * 2, SLOW, device)
    store.add_winner(task_of(dataclasses.replace(PICKY, version=2), {"n": 1024}, device.key), FAST, 0.1)
    store.add_winner(task_of(PICKY, {"n": 1024}, "another device"), FAST, 0.1)
    store.add_winner(task_of(PICKY, {"n": 1024, "layout": "F"}, device.key), FAST, 0.1)
    assert Chooser(store, ()).choose(PICKY, {"n": 1024}, device, settings).point == SLOW


def test_the_first_candidate_of_a_process_meets_a_warm_device(device, monkeypatch):
    """Else what comes first, often the default, would look slower than it is, in recordings, too."""
    runs, before = [], []
    monkeypatch.setattr(trial, "_warm", set())
    monkeypatch.setattr(trial, "repetitions", lambda launch, *others: before.append(len(runs)) or [1.0])
    counted = tuning.Tunable(
        name="counted",
        space=SearchSpace.of(x=(1, 2)),
        prepare=lambda problem: tuning.Case(outputs={"y": np.zeros(3)}, expected={"y": np.zeros(3)}),
        run=lambda data, point: runs.append(point),
    )
    with cuda.select_device(device) as context:
        bench = trial.Bench(counted, {"n": 1}, context)
        for x in (1, 2, 2):
            assert isinstance(trial._measure(bench, {"x": x}, math.inf), Measured)
        bench.release()
    assert before[0] > 1  # the checked run, and those that warm up
    assert [after - first for first, after in itertools.pairwise(before)] == [1, 1]


@pytest.mark.parametrize(("waited", "left"), [(0.0, [0.2]), (0.15, [pytest.approx(0.05)]), (0.3, [])])
def test_the_checked_run_warms_up_too(monkeypatch, waited, left):
    """Slow candidates need no further run; while the first one compiles, the device may be idle."""
    warmed = []
    monkeypatch.setattr(trial, "_warm", set())
    monkeypatch.setattr(trial, "_checked", lambda bench, point: 5.0)
    monkeypatch.setattr(trial, "warm_up", lambda launch, context, seconds=0.2: warmed.append(seconds))
    monkeypatch.setattr(trial, "repetitions", lambda *others: [1.0])
    bench = SimpleNamespace(
        waited=waited,
        context=SimpleNamespace(key=1),
        tunable=SimpleNamespace(launches_only=False),
        damage=lambda: None,
    )
    for _ in range(2):
        assert isinstance(trial._measure(bench, {"x": 1}, math.inf), Measured)
    assert warmed == left


def test_soft_traits(device, tmp_path, settings):
    soft = dataclasses.replace(PICKY, soft={"layout": 1.0})
    store = Store(tmp_path / "own.jsonl")
    store.add_winner(task_of(soft, {"n": 1024, "layout": "F"}, device.key), SLOW, 0.1)
    found = Chooser(store, ()).choose(soft, {"n": 1024, "layout": "C"}, device, settings)
    assert (found.point, found.rule, found.octaves) == (SLOW, Rule.NEAREST, 1.0)


def test_export_of_shipped_results(device, tmp_path, settings):
    store, file = Store(tmp_path / "own.jsonl"), tmp_path / "shipped" / "class.jsonl"
    with pytest.raises(TuningError, match="has no results of"):
        export_shipped(store, file, device)
    win(store, 1024, SLOW, device, 0.5)
    assert export_shipped(store, file, device) == 1
    win(store, 1024, FAST, device, 0.4)
    win(store, 4096, FAST, device)
    assert export_shipped(store, file, device) == 2
    other = dataclasses.replace(device, driver_version="of another machine")
    found = Chooser(Store(tmp_path / "none.jsonl"), (Store(file),)).choose(PICKY, {"n": 1024}, other, settings)
    assert (found.rule, found.point, found.seconds) == (Rule.SHIPPED, FAST, 0.4)
    assert shipped_file(device).suffix == ".jsonl" and " " not in shipped_file(device).name


def test_shipped_results_can_be_left_out(device, tmp_path, settings):
    shipped = Store(tmp_path / "shipped.jsonl")
    shipped.add_winner(task_of(PICKY, {"n": 1000}, device_class(device)), SLOW, 0.2)
    chosen = {
        on: Chooser(Store(tmp_path / "own.jsonl"), (shipped,)).choose(
            PICKY, {"n": 1000}, device, dataclasses.replace(settings, shipped=on)
        )
        for on in (True, False)
    }
    assert {on: choice.rule for on, choice in chosen.items()} == {True: Rule.SHIPPED, False: Rule.DEFAULT}


def test_problems_as_text():
    problem = {"n": 1 << 20, "dtype": "float32", "layout": "NT", "ratio": 0.5, "deep": True, "empty": "", "odd": "7"}
    assert problems.parse(problems.text_of(problem)) == problem
    assert problem_of(task_of(PICKY, problem, "device")) == problem
    with pytest.raises(TuningError, match="is no problem"):
        problems.parse("64x64")
    with pytest.raises(TuningError, match="cannot describe a problem"):
        problems.checked({"n": [1, 2]})


def test_classes_and_distances():
    assert problems.same_class({"n": 1000}, {"n": 1024}) and not problems.same_class({"n": 1000}, {"n": 1500})
    assert problems.distance({"m": 64, "n": 8}, {"m": 128, "n": 2}) == 2.0
    for one, other in ((True, 1.0), (1, 1.0), (1, True)):  # equal for Python
        assert (
            not problems.same_class({"t": one}, {"t": other})
            and problems.distance({"t": one}, {"t": other}) == math.inf
        )
    assert (
        problems.distance({"n": 64}, {"m": 64})
        == problems.distance({"n": 1, "t": "a"}, {"n": 1, "t": "b"})
        == float("inf")
    )
    around = problems.spread({"m": 4096, "n": 4096, "k": 128, "dtype": "float32"}, 20)
    assert len(around) == 20 and {"m": 4096, "n": 4096, "k": 256, "dtype": "float32"} in around
    assert all(p["m"] * p["n"] * p["k"] <= 2 * 4096 * 4096 * 128 for p in around)


def test_named_constraints_cut_the_product_early():
    asked = []

    def divides(tile, threads):
        asked.append((tile, threads))
        return tile % threads == 0

    space = SearchSpace.of(divides, lambda point: point["unroll"] < 3, tile=(8, 12), threads=(8, 4), unroll=(1, 2, 4))
    points = list(space)
    assert len(points) == 6 and len(asked) == 4  # once for each pair, not for each unrolling
    assert all(space.is_legal(p) for p in points)
    assert not space.is_legal({"tile": 12, "threads": 8, "unroll": 1})
    assert not space.is_legal({**points[0], "more": 1})
    with pytest.raises(TuningError, match="has no values"):
        SearchSpace.of(tile=())


def test_unions_of_spaces():
    union = UnionSpace((SearchSpace.of(kind=("a",), x=(1, 2, 4)), SearchSpace.of(kind=("b",), x=(3,), y=(True, False))))
    assert len(list(union)) == 5
    assert union.axes == (Axis("kind", ("a", "b")), Axis("x", (1, 2, 3, 4)), Axis("y", (True, False)))
    assert list(union.neighbours({"kind": "a", "x": 2})) == [{"kind": "a", "x": 4}, {"kind": "a", "x": 1}]
    assert not union.is_legal({"kind": "a", "x": 3})


def test_guard_zones(device):
    context = cuda.current_context()
    host = np.asfortranarray(np.arange(12, dtype=np.float64).reshape(3, 4))
    guard = guarded(host, context)
    np.testing.assert_array_equal(guard.array.copy_to_host(), host)
    assert guard.array.offset == 0 and guard.array.layout == "F"
    assert guard.damage() is None
    for value in (7.0, 8.0):
        guard.array.copy_to_device(np.full_like(host, value))
    assert guard.damage() is None
    guard.release()


def test_comparison_with_what_is_expected():
    case = tuning.Case(outputs={"y": np.zeros(3)}, expected={"y": np.array([1.0, 2.0, np.nan])})
    assert compare({"y": np.array([1.0, 2.0, np.nan])}, case) is None
    assert "y[1] is 3.0, not 2.0; 1 elements differ" in compare({"y": np.array([1.0, 3.0, np.nan])}, case)


def test_whole_numbers_are_compared_exactly():
    y = np.array([300_000, 2**62, 7])
    case, wrong = tuning.Case(outputs={"y": y}, expected={"y": y}), y + np.array([1, 1, 0])
    assert compare({"y": y.copy()}, case) is None
    assert "y[0] is 300001, not 300000; 2 elements differ" in compare({"y": wrong}, case)
    assert compare({"y": wrong}, tuning.Case(outputs={"y": y}, expected={"y": y}, rtol=1e-5)) is None
    flags = np.array([True, False])
    assert "1 elements differ" in compare({"y": flags}, tuning.Case(outputs={"y": flags}, expected={"y": [True, True]}))
    alone = tuning.Case(outputs={"y": np.array(5)}, expected={"y": 5})
    assert compare({"y": np.array(5)}, alone) is None and "y[] is 6, not 5" in compare({"y": np.array(6)}, alone)
    within = tuning.Case(outputs={"y": y}, expected={"y": y}, atol=1)
    assert compare({"y": wrong}, within) is None and "differ" in compare({"y": y + 2}, within)
    dates = np.array(["2024-02-29", "NaT"], "M8[D]")
    assert compare({"y": dates}, tuning.Case(outputs={"y": dates}, expected={"y": dates.copy()})) is None


def test_whole_results_may_be_expected_as_floats():
    """Where they are computed so, the last bit is not theirs."""
    y = np.full(3, 3, np.int64)
    given = tuning.Case(outputs={"y": y}, expected={"y": np.full(3, 0.1 + 0.2) * 10})
    assert compare({"y": y}, given) is None
    assert "not" in compare({"y": y + 1}, given)
    with pytest.raises(TuningError, match="masked"):
        tuning.Case(outputs={"y": y}, expected={"y": np.ma.masked_array(y, [0, 1, 0])})


def test_records_are_compared_field_by_field():
    inner = np.dtype([("n", "i8"), ("x", "f4", (2,))])
    dtype = np.dtype([("inner", inner), ("x", "f4")])
    right = np.zeros(3, dtype)
    right["inner"]["n"], right["x"] = 10**9, np.nan
    case = tuning.Case(outputs={"y": np.zeros(3, dtype)}, expected={"y": right})
    assert compare({"y": right.copy()}, case) is None
    for field, value in (("n", 10**9 + 1), ("x", 1)):
        wrong = right.copy()
        wrong["inner"][field][1:] = value
        assert "y[1] is" in compare({"y": wrong}, case) and "2 elements differ" in compare({"y": wrong}, case)
    rows = [((10**9, (0, 0)), np.nan)] * 3  # tuples become records
    assert compare({"y": right}, tuning.Case(outputs={"y": right}, expected={"y": rows})) is None


@pytest.mark.parametrize(
    ("output", "expected", "told"),
    [
        (np.zeros(3), np.zeros((3, 1)), r"what is expected of y has shape \(3, 1\), the output has \(3,\)"),
        (np.zeros(3), 0.0, r"has shape \(\)"),
        (np.zeros(2), [[1.0], [1.0, 2.0]], "what is expected of y is no array: .*inhomogeneous"),
        (np.zeros(1), ["1"], "what is expected of y is <U1, the output is float64"),
        (np.zeros(1, "i8"), [2**70], "what is expected of y is object"),
        (np.zeros(1, [("a", "f4")]), np.zeros(1, [("b", "f4")]), r"what is expected of y is \[\('b'"),
        (np.zeros(1, [("a", "f4")]), np.zeros(1), "what is expected of y is float64"),
        (np.zeros(1), np.zeros(1, [("a", "f4")]), r"what is expected of y is \[\('a'"),
    ],
)
def test_what_cannot_be_compared_is_told_at_once(output, expected, told):
    with pytest.raises(TuningError, match=told):
        tuning.Case(outputs={"y": output}, expected={"y": expected})


def test_spills_in_a_compilers_log():
    log = """ptxas info    : Compiling entry function 'multiply' for 'sm_90'
ptxas info    : Function properties for multiply
    496 bytes stack frame, 520 bytes spill stores, 700 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers"""
    assert spills_in(log) == 520
    assert spills_in(log.replace("520", "0")) == 0 == spills_in("")


def test_candidates_that_spill_are_not_timed(device, monkeypatch):
    """The driver's log is planted: this machine's compilers tell nothing."""
    monkeypatch.setattr(trial, "spilled_bytes", lambda context, key: 500)
    point = {"fault": "wrong", "repeat": 1}
    request = {"action": "measure", "tunable": "planted_kernels:PLANTED", "problem": {"n": 64}, "point": point}
    answer = trial.run({**request, "device": device.index})
    assert outcomes.from_json(answer) == Spilled(500, 128)
    assert "spills 500 bytes" in outcomes.describe(Spilled(500, 128))
