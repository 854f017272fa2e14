"""Type checkers accept programs that are right and find what is wrong in others: one run of mypy over all of them."""

from __future__ import annotations

import importlib
import os
import re
import runpy
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("mypy")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CONFIGURATION = """\
[mypy]
strict = true
[mypy-portagpu.*]
follow_imports = silent
[mypy-torch.*,jax.*]
follow_imports = skip
ignore_missing_imports = true
"""
# modules whose names programs import
MODULES = (
    "portagpu",
    *("portagpu.blas", "portagpu.errors", "portagpu.tuning", "portagpu.types"),
    "portagpu.cuda",
    *(f"portagpu.cuda.{n}" for n in ("api", "args", "cudadrv", "devicearray", "errors", "fp16", "libdevice", "random")),
    *("portagpu.cuda.types", "portagpu.cuda.vector_types"),
    *(f"portagpu.cuda.cudadrv.{n}" for n in ("devicearray", "devices", "driver", "error")),
)
# functions without annotations, which are the program's own business
UNTYPED = ("no-untyped-def", "no-untyped-call")
# what the debugger's guide shows: exceptions of threads carry more than Python's
ALLOWED = ('"AssertionError" has no attribute "kernel_fault"',)
_LINE = re.compile(r"^(?P<file>\w+)\.py:(?P<line>\d+): error: (?P<text>.*?)  \[(?P<code>[\w-]+)\]$")


@dataclass(frozen=True)
class Complaint:
    file: str
    line: int
    text: str
    code: str


def names_of(module):
    """What a module offers."""
    found = importlib.import_module(module)
    if module == "portagpu.types":
        return [n for n in found.NAMES if n not in ("bool", "complex", "float", "int")]
    others = sorted(vars(found)["_SUBMODULES"]) if module == "portagpu.cuda" else []
    return [*found.__all__, *others]


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """What mypy says about every program, by file."""
    folder = tmp_path_factory.mktemp("programs")
    for path in (HERE / "right.py", HERE / "wrong.py"):
        (folder / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    for path in (ROOT / "examples").glob("*.py"):
        (folder / f"example_{path.name}").write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        programs = re.findall(r"^```python\n(.*?)^```\n", path.read_text(encoding="utf-8"), re.S | re.M)
        for number, text in enumerate(programs):
            (folder / f"page_{path.stem.replace('-', '_')}_{number}.py").write_text(text, encoding="utf-8")
    for module in MODULES:
        lines = "".join(f"from {module} import {name} as x{n}\n" for n, name in enumerate(names_of(module)))
        (folder / f"names_{module.replace('.', '_')}.py").write_text(lines, encoding="utf-8")
    (folder / "mypy.ini").write_text(CONFIGURATION, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", "cache", "."],
        cwd=folder,
        env=os.environ | {"MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1, run.stdout + run.stderr  # errors, and no failure of mypy itself
    found = [
        Complaint(m["file"], int(m["line"]), m["text"], m["code"])
        for m in map(_LINE.match, run.stdout.splitlines())
        if m
    ]
    assert f"Found {len(found)} errors" in run.stdout, run.stdout
    return found


@pytest.mark.thorough
def test_a_program_with_annotations_is_accepted(complaints):
    assert not [c for c in complaints if c.file == "right"]


@pytest.mark.one_device
def test_the_program_that_is_accepted_runs(device, capsys):
    runpy.run_path(str(HERE / "right.py"), run_name="__main__")
    assert "<portagpu kernel axpy>" in capsys.readouterr().out


@pytest.mark.thorough
def test_examples_and_programs_of_the_documents_are_accepted(complaints):
    others = [c for c in complaints if c.file.startswith(("example_", "page_"))]
    assert {c.code for c in others} >= set(UNTYPED)  # they were looked at
    assert not [c for c in others if c.code not in UNTYPED and c.text not in ALLOWED]


@pytest.mark.thorough
def test_every_name_is_known(complaints):
    assert not [c for c in complaints if c.file.startswith("names_")]


@pytest.mark.thorough
def test_mistakes_are_found(complaints):
    lines = (HERE / "wrong.py").read_text(encoding="utf-8").splitlines()
    wrong = {n for n, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert {c.line for c in complaints if c.file == "wrong"} == wrong
