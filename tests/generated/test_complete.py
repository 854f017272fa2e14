"""Nothing that kernels can call lacks a numeric test, and the document of differences is the tests' own table."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import Any

import elsewhere
from differences import DRIVERS, document
from test_between_threads import ATOMICS
from test_generated import CASES

from portagpu import cuda, dtypes
from portagpu.dialect.names import Intrinsic
from portagpu.frontend.core import operators as frontend_operators
from portagpu.frontend.core import registry
from portagpu.frontend.lowerings import REGISTERED
from portagpu.frontend.operations import comparisons

ROOT = Path(__file__).parents[2]
_DOCUMENT = ROOT / "docs/differences.md"
COVERED: set[Any] = {key.name if isinstance(key, Intrinsic) else key for case in CASES for key in case.covers}


def _name(key: Any) -> str:
    return str(getattr(key, "__name__", key))


def test_every_function_has_a_case() -> None:
    assert REGISTERED  # all of them fill the table
    missing = set(registry.TABLE) - COVERED - set(elsewhere.FUNCTIONS)
    assert not missing, f"functions without a generated case: {sorted(map(_name, missing))}"
    stale = set(elsewhere.FUNCTIONS) - set(registry.TABLE)
    assert not stale, f"listed as tested elsewhere, but unknown to kernels: {sorted(map(_name, stale))}"


def test_every_intrinsic_has_a_case() -> None:
    atomics = {f"atomic.{name}" for name in ATOMICS}
    missing = set(registry.INTRINSICS) - COVERED - atomics - set(elsewhere.INTRINSICS)
    assert not missing, f"intrinsics without a generated case: {sorted(missing)}"
    stale = (set(elsewhere.INTRINSICS) | atomics) - set(registry.INTRINSICS)
    assert not stale, f"listed as tested, but unknown to kernels: {sorted(stale)}"


def test_every_method_has_a_case() -> None:
    numbers = {f"method {name}" for name in registry.NUMBER_METHODS if name not in elsewhere.NUMBER_METHODS}
    arrays = {f"method of arrays {name}" for name in registry.METHODS if name not in elsewhere.METHODS}
    assert numbers | arrays <= COVERED, sorted((numbers | arrays) - COVERED)


def test_every_operator_has_a_case() -> None:
    """Each class of Python's syntax tree that is lowered as an operator is in the text of the spelled forms."""
    tree = ast.parse((Path(__file__).parent / "operators.py").read_text(encoding="utf-8"))
    spelled = {type(node) for node in ast.walk(tree)}
    known = {*frontend_operators.PYTHON, *comparisons.COMPARE, ast.USub, ast.UAdd, ast.Invert, ast.Not}
    assert known <= spelled, sorted(kind.__name__ for kind in known - spelled)
    augmented = {type(node.op) for node in ast.walk(tree) if isinstance(node, ast.AugAssign)}
    assert set(frontend_operators.PYTHON) <= augmented


def test_every_dtype_is_a_conversion() -> None:
    names = {case.name for case in CASES} | {f"cuda.atomic.{name}" for name in ATOMICS}
    assert {f"np.{row.name}" for row in dtypes.ALL} <= names


def test_what_is_tested_elsewhere_is_named_there() -> None:
    tables: tuple[dict[Any, str], ...] = (
        elsewhere.INTRINSICS,
        elsewhere.FUNCTIONS,
        elsewhere.METHODS,
        elsewhere.NUMBER_METHODS,
    )
    for key, path in ((k, p) for table in tables for k, p in table.items()):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"\b{_name(key).rsplit('.', 1)[-1]}\b", text), f"{path} does not name {_name(key)}"


def test_differences_are_of_known_cases() -> None:
    names = {case.name for case in CASES} | {f"cuda.atomic.{name}" for name in ATOMICS}
    assert {name for one in DRIVERS for name in one.functions} <= names


def test_the_document_of_differences_is_up_to_date() -> None:
    text = document()
    if os.environ.get("PORTAGPU_UPDATE_GOLDEN"):
        _DOCUMENT.write_text(text, encoding="utf-8")
    assert _DOCUMENT.read_text(encoding="utf-8") == text, "run PORTAGPU_UPDATE_GOLDEN=1 pytest tests/generated"


def test_the_namespaces_have_no_more_than_the_registry() -> None:
    """What `cuda.atomic`, `cuda.fp16` and `cuda.libdevice` offer can be called, so it has a case."""
    for group in (cuda.atomic, cuda.fp16, cuda.libdevice):
        offered = {v.name for v in vars(group).values() if isinstance(v, Intrinsic)}
        assert offered and offered <= set(registry.INTRINSICS)
