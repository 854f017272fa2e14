"""Rules that rewrite integers, each with the test that proves it: a rule of these modules without one fails here.

Each named test is run here without the solver, until it has called all of its rules: a proof that does not fails.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from importlib import import_module
from pathlib import Path

import proof
import pytest

from portagpu.ir.analysis import intervals
from portagpu.ir.analysis.ranges import _BUILTINS

TEXT, FRONT, RANGES = "test_text_of_integers", "test_front_end", "test_ranges"
# a module's functions, and the proofs that run them; the helpers of a rule are proved with it
PROOFS = {
    "portagpu.backends.c_family.numbers.narrow": {
        "narrowed _narrow": f"{TEXT}.test_comparisons_that_32_bits_decide",
    },
    "portagpu.backends.c_family.numbers.overflow": {
        "is_part_of_sum": f"{TEXT}.test_subscripts",
        "wraps wrapped_binary wrapped_negation _modular _modular_binary _shifts": f"{TEXT}.test_every_operator",
        "is_small is_small_signed wrapped_small": f"{TEXT}.test_every_operator",
        "may_pass_end": "test_ends_of_loops.test_a_step_beyond_the_end",
    },
    "portagpu.backends.c_family.numbers.literals": {
        "literal wrapped": f"{TEXT}.test_every_operator",
        "_float_literal": "",  # no integer
    },
    "portagpu.backends.c_family.lowerings.arithmetic": {
        "_iabs _extreme _division _helper _bits _bit_helper": f"{TEXT}.test_every_operator",
        "_compare_mixed": f"{TEXT}.test_comparisons_of_both_signs",
        "_same _one_plus _classify _frexp": "",  # floats
    },
    "portagpu.frontend.arrays.indexing": {
        "to_index": f"{FRONT}.test_subscripts_of_32_bits_are_the_lower_half",
        "subscript _stays_wide normalise flat_index": "",  # made of `to_index` and `ring`
    },
    "portagpu.ir.analysis.intervals": {
        "is_integer of_type by_type": f"{RANGES}.test_some_ranges",
        "widened": f"{RANGES}.test_bounds_that_keep_moving",
        "absolute": f"{RANGES}.test_interval_rules_for_all_bounds",
        "_times _corners _product _floor_quotient _floored _quotient _modulo _remainder _shifted_left _shifted_right "
        "_conjunction _disjunction _power": f"{RANGES}.test_interval_rules_of_small_intervals",
    },
    "portagpu.passes.arithmetic.loop_directions": {"directed": f"{RANGES}.test_directions_of_loops"},
    "portagpu.passes.arithmetic.bare_subscripts": {
        "unwrapped _indices _other_than _is_widening _leaves _without": f"{RANGES}.test_some_bare_subscripts",
    },
    "portagpu.passes.arithmetic.low_bits": {
        "shortened _unread_above _read_above _demanded _parts _cuts _modular_parts _short _is_small_integer": (
            "test_low_halves.test_stored_halves"
        ),
    },
}
OPERATORS = {
    "portagpu.frontend.core.operators": {
        "ring": f"{FRONT}.test_sums_and_products_with_constants",
        "_floor": f"{FRONT}.test_division_by_powers_of_two",
        "_shift": f"{FRONT}.test_shifts_by_constants",
        "is_narrow _stays_narrow": f"{FRONT}.test_python_integers_that_stay_narrow",
    },
    "portagpu.frontend.core.convert": {"constant": f"{FRONT}.test_constants_wrap_as_numpy_s"},
    "portagpu.frontend.core.powers": {"_product": f"{FRONT}.test_powers_are_products"},
    "portagpu.frontend.arrays.addressing": {"_divided _without_factor": f"{FRONT}.test_strides_in_elements"},
    "portagpu.frontend.arrays.bounds": {"_inside": f"{FRONT}.test_checked_subscripts"},
    "portagpu.frontend.operations.comparisons": {
        "compare _out_of_range _widened": f"{FRONT}.test_comparisons_are_those_of_numbers"
    },
}  # modules of which only some functions rewrite integers


@pytest.mark.parametrize("name", PROOFS)
def test_every_function_has_a_proof(name):
    module = import_module(name)
    functions = {n for n, f in vars(module).items() if callable(f) and getattr(f, "__module__", "") == name} - {
        n for n, f in vars(module).items() if inspect.isclass(f)
    }
    proved = {n for names in PROOFS[name] for n in names.split()}
    assert functions == proved, (
        f"rules without a proof: {functions - proved}; proofs without a rule: {proved - functions}"
    )


@pytest.mark.parametrize("name", [*PROOFS, *OPERATORS])
def test_every_proof_is_there(name):
    for names, where in {**PROOFS.get(name, {}), **OPERATORS.get(name, {})}.items():
        assert all(hasattr(import_module(name), n) for n in names.split()), names
        file, _, test = where.partition(".")
        assert not where or f"def {test}(" in Path(__file__).with_name(f"{file}.py").read_text(), where


class AllMetError(Exception):
    """All rules of a proof were called."""


def proofs():
    """Tests by name, each with the rules that it proves, as (module, function)."""
    found = {}
    for module, entries in itertools.chain(PROOFS.items(), OPERATORS.items()):
        for names, where in entries.items():
            if where:
                found.setdefault(where, set()).update((module, name) for name in names.split())
    return found


def calls(test):
    """The arguments of a parametrized test's calls."""
    axes = []
    for mark in getattr(test, "pytestmark", ()):
        if mark.name == "parametrize":
            names, values = mark.args[0], [v.values if hasattr(v, "values") else (v,) for v in mark.args[1]]
            axes.append([{names: value[0]} for value in values])
    return [{k: v for part in parts for k, v in part.items()} for parts in itertools.product(*axes)]


def is_exhaustive(name):
    file, _, test = name.partition(".")
    return any(mark.name == "exhaustive" for mark in getattr(getattr(import_module(file), test), "pytestmark", ()))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.exhaustive] if is_exhaustive(n) else []) for n in sorted(proofs())]
)
def test_every_proof_runs_its_rules(name, monkeypatch):
    functions = {f"{module}.{rule}": getattr(import_module(module), rule) for module, rule in proofs()[name]}
    rules = {inspect.unwrap(function).__code__: rule for rule, function in functions.items()}
    for cached in functions.values():
        getattr(cached, "cache_clear", lambda: None)()
    file, _, test = name.partition(".")
    monkeypatch.setattr(proof, "refute", lambda terms, about: None)
    missing = set(rules)

    def note(frame, event, argument):
        if event == "call" and frame.f_code in missing:
            missing.discard(frame.f_code)
            if not missing:
                sys.setprofile(None)
                raise AllMetError

    function = getattr(import_module(file), test)
    try:
        sys.setprofile(note)
        for arguments in calls(function):
            function(**arguments)
    except (AllMetError, AssertionError):  # of tests that count what they proved
        pass
    finally:
        sys.setprofile(None)
    assert not missing, f"rules that {name} does not run: {sorted(rules[code] for code in missing)}"


def test_every_interval_rule_is_met():
    rules = {*intervals.OPERATORS.values(), *intervals.FUNCTIONS.values()}
    text = Path(__file__).with_name("test_ranges.py").read_text()
    lambdas = {f for f in rules if f.__name__ == "<lambda>"}
    assert len(lambdas) == 4  # sums, differences, smaller and larger numbers
    assert all(f"intervals.{f.__name__}" in text for f in rules - lambdas)
    assert set(_BUILTINS) == {
        *("threadIdx", "blockIdx", "grid", "slice_length", "blockDim", "gridDim", "gridsize", "laneid"),
        *("popc", "clz", "ffs"),
    }, "a range of a builtin without a proof: test_ranges.py"
