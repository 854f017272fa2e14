"""`portagpu.frontend.lowerings` names every module that registers lowerings, and every name of the dialect has one."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from portagpu.dialect.reference.core import ENTRIES
from portagpu.frontend.core import registry
from portagpu.frontend.lowerings import REGISTERED

pytestmark = pytest.mark.one_device

TABLES = ("TABLE", "INTRINSICS", "METHODS", "NUMBER_METHODS", "ON_ARRAYS")

# what the tables have after the import of this one module, and after that of all others of the front end
COUNTS = f"""
import importlib, json, pkgutil
import portagpu.frontend.lowerings
from portagpu.frontend.core import registry

def keys():
    tables = [getattr(registry, name) for name in {TABLES}]
    return [f"{{name}} {{key!r}}" for name, table in zip({TABLES}, tables) for key in table]

alone = keys()
for module in pkgutil.walk_packages(portagpu.frontend.__path__, "portagpu.frontend."):
    importlib.import_module(module.name)
print(json.dumps([len(alone), sorted(set(keys()) - set(alone))]))
"""


def test_all_modules_that_register_are_named():
    registering = {handler.__module__ for name in TABLES for handler in getattr(registry, name).values()}
    named = {module.__name__ for module in REGISTERED}
    assert registering - named == set(), "import these in portagpu/frontend/lowerings.py"
    assert named - registering == set(), "these register nothing"


def test_the_tables_are_full_after_one_import():
    result = subprocess.run([sys.executable, "-c", COUNTS], capture_output=True, text=True, check=True)
    count, later = json.loads(result.stdout)
    assert count > 700 and later == []


def test_every_function_of_the_dialect_has_a_lowering():
    functions = [name for name, entry in ENTRIES.items() if entry.parameters is not None]
    missing = [name for name in functions if name not in registry.INTRINSICS]
    assert missing == [], "write a function with @intrinsic(name) in portagpu/frontend/intrinsics/"
