"""Finished compilations are kept; a check that is killed leaves what it had."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from portagpu.backends.offline import Compiled, InstructionMix, OfflineFigures
from portagpu.backends.opencl.offline.kept import kept_or
from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.checking.examination import Rules
from portagpu.checking.records import Result, Status, Subject
from portagpu.checking.schema import SCHEMA
from portagpu.checking.shipped import run
from portagpu.checking.shipped.job import Job, Step
from portagpu.cli import check_shipped
from portagpu.cli.check import check_command

pytestmark = pytest.mark.one_device(fast=True)
_TARGET = TARGETS["gfx1100"]
_FIGURES = OfflineFigures(
    registers=12,
    matrix_registers=0,
    scalar_registers=4,
    spilled=None,
    scratch_bytes=0,
    local_bytes=0,
    lanes=32,
    occupancy=None,
    mix=InstructionMix(form="amdgcn", total=3, loads={16: 2, 4: 1}, stores={4: 1}),
)
_MADE = Compiled(figures=_FIGURES, log="said", assembly="s_endpgm", remark=None, scratch_lines={7: 2})


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """A compiler that counts what it compiles, and a folder of caches; returns a function that asks for a program."""
    monkeypatch.setenv("PORTAGPU_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("PORTAGPU_DISK_CACHE", raising=False)
    tool = tmp_path / "tool"
    tool.write_text("first")
    runs = []

    def compiled():
        runs.append(1)
        return _MADE

    def ask(source="source", options=()):
        return kept_or(compiled, _TARGET, source, options, [str(tool)])

    ask.runs, ask.tool, ask.folder = runs, tool, tmp_path / "cache/offline"
    return ask


def test_a_program_is_compiled_once(compiler):
    assert compiler() == compiler() == _MADE and len(compiler.runs) == 1
    compiler("another source")
    compiler(options=("-cl-fast-relaxed-math",))
    assert len(compiler.runs) == 3


def test_another_compiler_compiles_anew(compiler):
    compiler()
    compiler.tool.write_text("a second one")
    assert compiler() == _MADE and len(compiler.runs) == 2


def test_damaged_entries_and_caches_that_are_off(compiler, monkeypatch):
    compiler()
    (entry,) = compiler.folder.glob("*.compiled")
    entry.write_bytes(entry.read_bytes()[:-3])
    assert compiler() == _MADE and len(compiler.runs) == 2
    monkeypatch.setenv("PORTAGPU_DISK_CACHE", "0")
    compiler()
    assert len(compiler.runs) == 3


def test_a_process_that_dies_loses_its_own_target_alone():
    """The second job's process ends with an error, since no group has such a name."""
    found = list(run._results([Job("gfx942", (), Rules(), 1), Job("gfx1100", ("nothing",), Rules(), 1)], 2))
    assert Step("gfx942", 0, 0) in found
    (died,) = [one for one in found if isinstance(one, Result)]
    assert died.target.name == "gfx1100" and died.problems[0].rule == "unfinished" and not died.ok
    assert "exit status 1" in died.problems[0].message


@pytest.mark.parametrize("seconds", [-1.0, 1e9])
def test_what_is_finished_is_in_the_file_of_a_check_that_is_ended(tmp_path, monkeypatch, seconds):
    """It is written every few seconds, and at the end."""
    place = tmp_path / "found.json"
    one = Result(subject=Subject(kernel="k", group="gemm"), target=_TARGET, status=Status.COMPILED, figures=_FIGURES)

    def interrupted(targets, groups, rules, *, tell):
        tell(Step("gfx1100", 0, 2))
        tell(one)
        if seconds < 0:
            assert len(json.loads(place.read_text())["results"]) == 1
        raise KeyboardInterrupt

    monkeypatch.setattr(check_shipped, "check_shipped", interrupted)
    monkeypatch.setattr(check_shipped, "_KEEP_S", seconds)
    words = ["--shipped", "gemm", "--target", "gfx1100", "--format", "json", "-o", str(place)]
    assert CliRunner().invoke(check_command, words).exit_code != 0
    data = json.loads(place.read_text())
    pytest.importorskip("fastjsonschema").compile(SCHEMA)(data)
    assert data["complete"] is False and [r["kernel"] for r in data["results"]] == ["k"]


def test_what_a_target_lacks_is_no_failure_of_shipped_kernels():
    lacking = Result(subject=Subject(kernel="k"), target=_TARGET, status=Status.UNSUPPORTED)
    assert lacking.ok
    assert not replace(lacking, status=Status.REFUSED).ok and not replace(lacking, status=Status.NOT_COMPILED).ok
