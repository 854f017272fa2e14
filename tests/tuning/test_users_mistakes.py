"""Functions of users' tunables that raise or return nonsense: told with the line that is to blame."""

from __future__ import annotations

import enum
import json
from dataclasses import replace

import numpy as np
import pytest

from portagpu import cuda, tuning
from portagpu.errors import BuildError, DeviceError, TuningError
from portagpu.tuning import session
from portagpu.tuning.store.tasks import task_of
from portagpu.tuning.tunables.outcomes import Measured, WrongResult
from portagpu.tuning.tunables.tunable import resolve
from portagpu.tuning.tunables.user_faults import CheckFault, finding, raised

pytestmark = pytest.mark.one_device(fast=True)

SCRIPT = """
import sys
import time
import numpy as np
from portagpu import cuda, tuning

@cuda.jit
def twice_kernel(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]

def prepare(problem):
    x = np.arange(problem["n"], dtype=np.float32)
    return tuning.Case(inputs={"x": x}, outputs={"y": np.zeros_like(x)}, expected={"y": (2 * x).tolist()})

def run(data, point):
    twice_kernel[-(-data["x"].size // point["block"]), point["block"]](data["x"], data["y"])

def broken(*arguments):
    return {}["here"]  # the line to blame

def nothing(*arguments):
    return None

def check(case, results):
    return broken(case)

def verify(problem, point):
    return broken(problem)

def asserts(case, results):
    assert results["y"][1] == 3, "never right"

def slow_prepare(problem):
    time.sleep(3.5)
    return prepare(problem)

def wrong_with_32(data, point):
    if point["block"] != 32:
        run(data, point)

def check_200(case, results):
    return broken(case) if results["y"].size == 200 else None

def prepare_strided(problem):
    matrix = np.arange(2.0 * problem["n"], dtype=np.float32).reshape(problem["n"], 2)
    x, y = matrix[::-1, 1], np.zeros(2 * problem["n"], np.float32)[::2]
    return tuning.Case(inputs={"x": x}, outputs={"y": y}, expected={"y": 2 * x})

class Mute(Exception):
    def __str__(self):
        raise ValueError("no words")

def check_mute(case, results):
    raise Mute("1")

def up_to(problem, device):
    return tuning.SearchSpace.of(block=tuple(b for b in (32, 64) if b <= problem["n"]))

def constrained(problem, device):
    return tuning.SearchSpace.of(lambda block: block <= problem["n"], block=(32, 64))

def needs(first, second):
    pass

def prepare_nested(problem):
    case = prepare(problem)
    return tuning.Case(inputs=case.inputs, outputs=dict(case.outputs, r=np.zeros(1, [("a", [("x", "f4")])])),
                       expected={"r": np.zeros(1, [("a", [("y", "f4")])])})

def prepare_odd(problem):
    case = prepare(problem)
    return tuning.Case(inputs=case.inputs, outputs=case.outputs, expected={"y": case.expected["y"][:problem.get("m")]})

def prepare_or_end(problem):
    return prepare(problem) if problem["n"] == 100 else sys.exit("no such problem")

SPACE = tuning.SearchSpace.of(block=(32, 64))
PLAIN = dict(name="mistaken", space=SPACE, prepare=prepare, run=run)
GOOD = tuning.Tunable(**PLAIN)
SPACE_RAISES = tuning.Tunable(**{**PLAIN, "space": broken})
SPACE_IS_NONE = tuning.Tunable(**{**PLAIN, "space": nothing})
DEFAULT_RAISES = tuning.Tunable(**PLAIN, default=broken)
PREPARE_RAISES = tuning.Tunable(**{**PLAIN, "prepare": broken})
DEFAULT_BY_FUNCTION = tuning.Tunable(**{**PLAIN, "space": up_to}, default=lambda problem, device: {"block": 64})
SPACE_BY_FUNCTION = tuning.Tunable(**{**PLAIN, "space": up_to}, default={"block": 64})
PREPARE_IS_SLOW = tuning.Tunable(**{**PLAIN, "prepare": slow_prepare, "run": wrong_with_32})
CHECK_FAILS_FOR_200 = tuning.Tunable(**PLAIN, check=check_200)
DEFAULT_FOR_100 = tuning.Tunable(**PLAIN, default=lambda problem, device: {"block": 64 if problem["n"] == 100 else 99})
STRIDED = tuning.Tunable(**{**PLAIN, "prepare": prepare_strided})
ROOF_IS_TOO_LARGE = tuning.Tunable(**PLAIN, model=lambda problem, point, device: 1.0, roof=lambda p, device: 10**400)
ROOF_IS_A_TEXT = tuning.Tunable(**PLAIN, model=lambda problem, point, device: 1.0, roof=lambda problem, device: "soon")
DEFAULT_BY_TYPE = tuning.Tunable(
    **{**PLAIN, "space": tuning.SearchSpace.of(block=(64, 128, 256))},
    default=lambda problem, device: {"block": {int: 64, float: 128, bool: 256}[type(problem["n"])]},
)
ROOF_RAISES = tuning.Tunable(**PLAIN, model=lambda problem, point, device: 1.0, roof=broken)
DESCRIBE_RAISES = tuning.Tunable(**PLAIN, describe=broken)
FROM_32 = tuning.Tunable(**{**PLAIN, "space": constrained})
CHECK_SAYS_NOTHING = tuning.Tunable(**PLAIN, check=check_mute)
PREPARE_HANGS = tuning.Tunable(**{**PLAIN, "prepare": lambda problem: time.sleep(600)})
CHECK_RAISES = tuning.Tunable(**PLAIN, check=check)
CHECK_IS_FALSE = tuning.Tunable(**PLAIN, check=lambda case, results: False)
CHECK_ASSERTS = tuning.Tunable(**PLAIN, check=asserts)
VERIFY_RAISES = tuning.Tunable(**PLAIN, verify=verify)
@tuning.tuned(GOOD, problem=lambda n=100: {"n": n})
def decorated(point, n=100):
    pass

VERIFY_ON_LACKS_N = tuning.Tunable(**PLAIN, verify_on=({"n": 50}, {"m": 50}))
VERIFY_ON_IS_ODD = tuning.Tunable(**{**PLAIN, "prepare": prepare_odd}, verify_on=[{"n": 50, "m": 3}])
VERIFY_ON_ENDS = tuning.Tunable(**{**PLAIN, "prepare": prepare_or_end}, verify_on=[{"n": 50}])
MODEL_RAISES = tuning.Tunable(**PLAIN, model=broken)
MODEL_ENDS = tuning.Tunable(**PLAIN, model=lambda problem, point, device: sys.exit("no model"))
UNDECIDED = tuning.SearchSpace.of(broken, block=(1, 2))
CONSTRAINT_RAISES = tuning.Tunable(**{**PLAIN, "space": lambda problem, device: UNDECIDED})
def check_long(case, results):
    return np.arange(900.0)

CHECK_IS_LONG = tuning.Tunable(**PLAIN, check=check_long)
NOT_COMPARABLE = tuning.Tunable(**{**PLAIN, "prepare": prepare_nested})
"""
LINE = next(number for number, line in enumerate(SCRIPT.splitlines(), 1) if "to blame" in line)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "mistaken.py"
    path.write_text(SCRIPT)
    return path


def tunable(script, name):
    reference = f"{script}:{name}"
    return replace(resolve(reference), reference=reference)


def compile_first(script, device, folder):
    """What the trials launch is in the program cache afterwards: a short limit is not spent on compiling."""
    tuning.tune(tunable(script, "GOOD"), {"n": 100}, device=device, budget=60, trials=2, store=folder / "first.jsonl")


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("compilers", [0, 1])
def test_arrays_with_gaps_or_backwards_are_arguments_like_others(device, script, tmp_path, compilers):
    strided, store = tunable(script, "STRIDED"), tmp_path / "store.jsonl"
    options = {"device": device, "budget": 60, "trials": 2, "store": store, "compilers": compilers}
    result = tuning.tune(strided, {"n": 100}, **options)
    assert result.winner is not None and not result.skipped


def test_a_budget_that_a_cold_start_takes_brings_one_trial(device, script, tmp_path):
    result = tuning.tune(tunable(script, "GOOD"), {"n": 100}, device=device, budget=1e-3, store=tmp_path / "s.jsonl")
    assert result.trials == 1 and result.winner is not None


def test_a_roof_and_a_description_that_raise(device, script, tmp_path):
    roof, store = tunable(script, "ROOF_RAISES"), tuning.Store(tmp_path / "store.jsonl")
    with pytest.raises(TuningError, match=rf"the roof of mistaken raised KeyError.*mistaken.py:{LINE}"):
        tuning.tune(roof, {"n": 100}, device=device, budget=20, store=store)
    described = tunable(script, "DESCRIBE_RAISES")
    store.add_winner(task_of(described, {"n": 100}, device.key), {"block": 32}, 1.0)
    with pytest.raises(TuningError, match=rf"the describe of mistaken raised KeyError.*mistaken.py:{LINE}"):
        tuning.best(described, {"n": 100}, device=device, store=store)


@pytest.mark.parametrize("name", ["SPACE_RAISES", "DEFAULT_RAISES", "PREPARE_RAISES"])
def test_what_raises_is_told_with_its_line(device, script, tmp_path, name):
    mistaken, store = tunable(script, name), tmp_path / "store.jsonl"
    with pytest.raises(TuningError, match=f"KeyError.*'here'.*mistaken.py:{LINE}"):
        tuning.tune(mistaken, {"n": 100}, device=device, budget=20, store=store)
    if name != "PREPARE_RAISES":
        with pytest.raises(TuningError, match=f"KeyError.*'here'.*mistaken.py:{LINE}"):
            tuning.best(mistaken, {"n": 100}, device=device, store=store)


@pytest.mark.thorough
def test_a_prepare_that_hangs_is_ended(device, script, tmp_path, monkeypatch):
    told = r"prepare of mistaken did not return for n=100 within 3 s(?s:.*)raise trial_limit .* beyond 3 s"
    monkeypatch.setattr(session, "_LEAST_PREPARING", 1.0)
    store = tuning.Store(tmp_path / "store.jsonl")
    with pytest.raises(TuningError, match=told):
        tuning.tune(
            tunable(script, "PREPARE_HANGS"), {"n": 100}, device=device, budget=20, trial_limit="3s", store=store
        )
    assert not store.tasks()


@pytest.mark.thorough
def test_a_prepare_may_take_longer_than_a_trial(device, script, tmp_path):
    """For each problem, and where a candidate that failed may have spoilt the arguments."""
    compile_first(script, device, tmp_path)
    slow, store = tunable(script, "PREPARE_IS_SLOW"), tuning.Store(tmp_path / "store.jsonl")
    result = tuning.tune(slow, {"n": 100}, classes=[{"n": 200}], device=device, budget=90, trial_limit=3, store=store)
    assert result.winner == {"block": 64}
    kinds = {task.shape_class: {type(o) for _, o in store.trials(task).values()} for task in store.tasks()}
    assert kinds == {"n=100": {Measured, WrongResult}, "n=200": {Measured}}


@pytest.mark.thorough
def test_a_module_that_loads_slowly_is_no_fault_of_prepare(device, script, tmp_path):
    """What a process needs to start does not count for a trial's limit."""
    compile_first(script, device, tmp_path)
    script.write_text(SCRIPT + "import time\ntime.sleep(3.5)\n")
    good, store = tunable(script, "GOOD"), tmp_path / "store.jsonl"
    result = tuning.tune(good, {"n": 100}, device=device, budget=60, trials=1, trial_limit=3, store=store)
    assert result.winner is not None


def test_a_space_that_is_none(device, script, tmp_path):
    with pytest.raises(TuningError, match="the space of mistaken is a NoneType for n=100"):
        tuning.best(tunable(script, "SPACE_IS_NONE"), {"n": 100}, device=device, store=tmp_path / "store.jsonl")


@pytest.mark.parametrize(
    ("default", "told"),
    [
        ({"block": 128, "rows": 4}, r"the constraint <lambda> \(.*test_users_mistakes.py:\d+: .*block \* rows <= 256"),
        ({"block": 128, "rows": 2, "unroll": 1}, "there is no axis unroll; the axes are block, rows"),
        ({"block": 128}, "it has no rows"),
        ({"block": 100, "rows": 2}, "block=100 is none of 64, 128"),
        ({"block": np.int64(128), "rows": (1, 2)}, r"rows=\(1, 2\) is none of 2, 4"),
    ],
)
def test_a_default_that_is_not_legal_is_told_at_once(default, told):
    space = tuning.SearchSpace.of(
        lambda block, rows: block * rows <= 256,
        block=(64, 128),
        rows=(2, 4),
    )
    with pytest.raises(TuningError, match=rf"the default of k, \{{.*, is not in its space: {told}"):
        tuning.Tunable(name="k", space=space, default=default, prepare=len, run=len)
    tuning.Tunable(name="k", space=space, default={"block": np.int64(128), "rows": 2}, prepare=len, run=len)


@pytest.mark.parametrize("name", ["DEFAULT_BY_FUNCTION", "SPACE_BY_FUNCTION"])
def test_a_default_that_is_not_legal_for_a_problem_is_told_at_its_use(device, script, tmp_path, name):
    mistaken, store = tunable(script, name), tmp_path / "store.jsonl"
    assert tuning.best(mistaken, {"n": 64}, device=device, store=store).point == {"block": 64}
    told = r"the default of mistaken, \{'block': 64\}, is not in its space for n=32 on .*64 is none of 32"
    with pytest.raises(TuningError, match=told):
        tuning.best(mistaken, {"n": 32}, device=device, store=store)
    with pytest.raises(TuningError, match=told):
        tuning.tune(mistaken, {"n": 32}, device=device, budget=20, store=store)


def test_a_default_in_none_of_several_spaces():
    one, other = tuning.SearchSpace.of(kind=("a",), x=(1, 2)), tuning.SearchSpace.of(kind=("b",), y=(3,))
    union = tuning.UnionSpace((one, other))
    assert union.objection({"kind": "a", "x": 3}) == "x=3 is none of 1, 2"
    assert union.objection({"kind": "a", "z": 3}) == "none of the spaces has its axes"
    assert union.objection({"kind": "b", "y": 3}) is None


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", ["CHECK_RAISES", "VERIFY_RAISES"])
def test_a_check_that_raises_ends_the_search(device, script, tmp_path, name):
    """The search's end, not the point's: nothing is stored that keeps the point from being tried again."""
    what, store = name.partition("_")[0].lower(), tuning.Store(tmp_path / "store.jsonl")
    with pytest.raises(TuningError, match=rf"the {what} function {what} raised KeyError.*mistaken.py:{LINE}") as caught:
        tuning.tune(tunable(script, name), {"n": 100}, device=device, budget=20, store=store)
    cause = caught.value.__cause__
    assert isinstance(cause, KeyError) and cause.args == ("here",)
    assert "in broken" in str(cause.__cause__)
    tried = [outcome for task in store.tasks() for _, outcome in store.trials(task).values()]
    assert not store.winners() and all(isinstance(outcome, Measured) for outcome in tried)
    assert bool(tried) == (name == "VERIFY_RAISES")  # what was measured before the verification is kept
    repaired = tunable(script, "GOOD")
    assert tuning.tune(repaired, {"n": 100}, device=device, budget=20, trials=2, store=store).winner is not None


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("VERIFY_ON_LACKS_N", r"for m=50, a problem of verify_on, cannot be made: KeyError: 'n' \(.*mistaken.py:\d+\)"),
        ("VERIFY_ON_IS_ODD", r"for m=3 n=50, a problem of verify_on, .* expected of y has shape \(3,\)"),
        ("VERIFY_ON_ENDS", r"for n=50, a problem of verify_on, .*SystemExit: no such problem"),
        ("NOT_COMPARABLE", r"the results of mistaken cannot be compared with what is expected: ValueError: no field"),
    ],
)
def test_faults_of_arguments_are_no_points(device, script, tmp_path, name, told):
    """They end the search as those of the tuned problem do: what was measured is kept, and nothing else."""
    store = tuning.Store(tmp_path / "store.jsonl")
    with pytest.raises(TuningError, match=told):
        tuning.tune(tunable(script, name), {"n": 100}, device=device, budget=20, compilers=0, store=store)
    tried = [outcome for task in store.tasks() for _, outcome in store.trials(task).values()]
    assert not store.winners() and all(isinstance(outcome, Measured) for outcome in tried)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"n": 1}, r"verify_on=\{'n': 1\} is one problem(?s:.*)verify_on=\(\{'n': 1001\},\)"),
        ("n=1", "is no problems"),
        (3, "is no problems"),
        (["n=1"], "'n=1' is no problem"),
        ([{"n": [1]}], "cannot describe a problem"),
    ],
)
def test_what_is_to_be_verified_is_a_sequence_of_problems(given, told):
    with pytest.raises(TuningError, match=told):
        tuning.Tunable(name="k", space=tuning.SearchSpace.of(x=(1,)), prepare=len, run=len, verify_on=given)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("CHECK_FAILS_FOR_200", "the check function check_200 raised KeyError"),
        ("DEFAULT_FOR_100", r"the default of mistaken, \{'block': 99\}, is not in its space for n=200"),
    ],
)
def test_mistakes_are_told_for_further_problems(device, script, tmp_path, name, told):
    store = tuning.Store(tmp_path / "store.jsonl")
    with pytest.raises(TuningError, match=told):
        tuning.tune(
            tunable(script, name), {"n": 100}, classes=[{"n": 200}], device=device, budget=20, trials=2, store=store
        )
    assert [task.shape_class for task in store.winners()] == ["n=100"]  # what was found before is kept


def test_further_problems_without_a_legal_point_are_left_out(device, script, tmp_path):
    store = tuning.Store(tmp_path / "store.jsonl")
    others = [{"n": 10}, {"n": 50}]
    tuning.tune(tunable(script, "FROM_32"), {"n": 100}, classes=others, device=device, budget=200, store=store)
    assert {task.shape_class for task in store.winners()} == {"n=100", "n=50"}


def test_a_check_whose_exception_has_no_text_is_told(device, script, tmp_path):
    with pytest.raises(TuningError, match=r"the check function check_mute raised Mute: Mute \(.*mistaken.py:\d+\)"):
        tuning.tune(
            tunable(script, "CHECK_SAYS_NOTHING"), {"n": 100}, device=device, budget=20, store=tmp_path / "s.jsonl"
        )


class Unwritable:
    def __str__(self):
        raise ValueError("no words")

    __repr__ = __str__


def test_faults_that_cannot_be_written_are_told():
    def asserts():
        raise AssertionError(Unwritable())

    def returns():
        return Unwritable()

    assert finding("check", asserts, launches=False).endswith("asserts: AssertionError")
    with pytest.raises(CheckFault, match="returns returned a Unwritable"):
        finding("check", returns, launches=False)


@pytest.mark.parametrize("arguments", [("x" * 10**6,), (10**5000,), tuple(range(10**5))])
def test_very_long_faults_are_cut(arguments):
    def long():
        raise ValueError(*arguments)

    with pytest.raises(CheckFault) as caught:
        finding("check", long, launches=False)
    text = json.dumps(caught.value.values)
    assert len(text) < 20_000
    assert raised(json.loads(text), "k", "x=1").__cause__ is not None


def test_a_check_that_returns_no_answer_ends_the_search(device, script, tmp_path):
    with pytest.raises(TuningError, match=r"the check function <lambda> returned False \(.*mistaken.py:\d+\)"):
        tuning.tune(tunable(script, "CHECK_IS_FALSE"), {"n": 100}, device=device, budget=20, store=tmp_path / "s.jsonl")


def test_an_assertion_that_fails_is_a_wrong_result(device, script, tmp_path):
    asserts, store = tunable(script, "CHECK_ASSERTS"), tmp_path / "store.jsonl"
    result = tuning.tune(asserts, {"n": 100}, device=device, budget=20, trials=1, store=store)
    [(_, outcome)] = result.failures
    assert isinstance(outcome, WrongResult) and "asserts: never right" in outcome.reason


def test_errors_of_the_device_are_no_faults_of_a_check():
    def lost(*arguments):
        raise DeviceError("lost")

    def refused(*arguments):
        raise BuildError("too many registers")

    with pytest.raises(DeviceError):
        finding("check", lost, launches=False)
    with pytest.raises(BuildError):
        finding("verify", refused, launches=True)
    with pytest.raises(CheckFault, match=r"refused raised BuildError: too many registers \(.*test_users_mistakes.py"):
        finding("check", refused, launches=False)


def test_a_fault_of_an_unknown_type_is_told_all_the_same():
    class Odd(Exception):
        def __init__(self, one, two):
            super().__init__(f"{one} and {two}")

    def odd():
        raise Odd(1, [2])

    with pytest.raises(CheckFault) as caught:
        finding("check", odd, launches=False)
    cause = raised(json.loads(json.dumps(caught.value.values)), "k", "x=1").__cause__
    assert isinstance(cause, RuntimeError) and "Odd: 1 and [2]" in str(cause)


def test_a_function_that_makes_no_tunable_is_told(script):
    told = r"mistaken.py:%s is a function that needs arguments, no tunable\n.*holds the Tunable: GOOD, "
    for name in ("needs", "decorated"):
        with pytest.raises(TuningError, match=told % name):
            resolve(f"{script}:{name}")
    with pytest.raises(TuningError, match=r"mistaken.py:broken cannot be loaded: .*KeyError: 'here'"):
        resolve(f"{script}:broken")


def test_without_a_device_both_mean_the_current_one(device, script, tmp_path):
    """And what is expected may be lists."""
    good, store = tunable(script, "GOOD"), tmp_path / "store.jsonl"
    with cuda.select_device(device):
        result = tuning.tune(good, {"n": 100}, budget=20, trials=2, store=store)
        choice = tuning.best(good, {"n": 100}, store=store)
    assert result.winner == choice.point and choice.rule is tuning.Rule.EXACT
    assert {task.device for task in tuning.Store(store).tasks()} == {device.key}


def test_a_store_that_is_no_file(device, script):
    for call in (tuning.tune, tuning.best):
        with pytest.raises(TuningError, match="store=3 is no file"):
            call(tunable(script, "GOOD"), {"n": 100}, device=device, store=3)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MODEL_RAISES", rf"the model of mistaken raised KeyError for .*mistaken.py:{LINE}\)"),
        ("MODEL_ENDS", r"the model of mistaken raised SystemExit for .*: no model \(.*mistaken.py:\d+\)"),
        ("CONSTRAINT_RAISES", rf"a constraint raised KeyError for .*mistaken.py:{LINE}\)"),
    ],
)
def test_functions_of_the_tuners_process_are_told_with_their_line(device, script, name, text):
    with pytest.raises(TuningError, match=text):
        tuning.best(tunable(script, name), {"n": 100}, device=device)


def test_what_a_check_returns_is_told_in_short(device, script, tmp_path):
    with pytest.raises(TuningError, match=r"check_long returned array\(\[") as caught:
        tuning.tune(tunable(script, "CHECK_IS_LONG"), {"n": 100}, device=device, budget=60, store=tmp_path / "s.jsonl")
    assert len(caught.value.message) < 600


@pytest.mark.parametrize("kind", ["script", "module"])
def test_bad_definitions_are_told_with_their_line(tmp_path, monkeypatch, kind):
    file = tmp_path / "bad_definitions.py"
    file.write_text(
        "from portagpu import tuning\n\nSPACE = 5\nBAD = tuning.Tunable(name='b', space=5, prepare=len, run=len)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    reference = f"{file}:BAD" if kind == "script" else "bad_definitions:BAD"
    with pytest.raises(
        TuningError, match=r"cannot be loaded: .*bad_definitions.py:4: int is no search space"
    ) as caught:
        resolve(reference)
    assert "SearchSpace.of" in caught.value.hint


def test_a_verification_that_is_late_is_stored_as_that(device, script, tmp_path, monkeypatch):
    ask = session.Session._ask

    def late(self, request, limit):
        if request["action"] == "verify":
            raise TimeoutError("no answer")
        return ask(self, request, limit)

    monkeypatch.setattr(session.Session, "_ask", late)
    options = {"device": device, "budget": 60, "trials": 1, "trial_limit": 30, "store": tmp_path / "store.jsonl"}
    result = tuning.tune(tunable(script, "VERIFY_RAISES"), {"n": 100}, **options)
    assert [outcome for _, outcome in result.failures] == [tuning.TimedOut(30.0)]


@pytest.mark.parametrize(
    "name, told", [("ROOF_IS_A_TEXT", "'soon' for n=100"), ("ROOF_IS_TOO_LARGE", r"10+\.\.\. for")]
)
def test_a_roof_that_is_no_time(device, script, tmp_path, name, told):
    roof, store = tunable(script, name), tuning.Store(tmp_path / "store.jsonl")
    with pytest.raises(TuningError, match=f"the roof of mistaken is {told}"):
        tuning.tune(roof, {"n": 100}, device=device, budget=20, store=store)


def test_members_of_enumerations_are_no_values():
    kind = enum.IntEnum("Kind", "NAIVE TILED")
    with pytest.raises(TuningError, match=r"cannot be <Kind\.NAIVE: 1>") as caught:
        tuning.SearchSpace.of(kind=tuple(kind))
    assert "'NAIVE'" in str(caught.value)


def test_a_choice_tells_traits_from_sizes(device, script, tmp_path):
    """1, 1.0 and True are equal for Python, and stand for different problems."""
    traits, store = tunable(script, "DEFAULT_BY_TYPE"), tmp_path / "store.jsonl"
    found = [tuning.best(traits, {"n": n}, device=device, store=store).point for n in (1, 1.0, True)]
    assert found == [{"block": 64}, {"block": 128}, {"block": 256}]
