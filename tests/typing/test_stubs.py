"""The stubs are what the package is: made anew they are the same, and mypy's own comparison finds nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from portagpu.dispatch.code.options import JitKeywords, JitOptions
from portagpu.errors import UnknownOptionError
from tools import stubs

ROOT = stubs.PACKAGE.parent


@pytest.mark.parametrize("name", stubs.MADE)
def test_stubs_are_fresh(name):
    text = (stubs.PACKAGE / name).read_text(encoding="utf-8")
    assert text == stubs.MADE[name](), "python -m tools.documents writes it"


def test_every_stub_is_made():
    assert {p.relative_to(stubs.PACKAGE).as_posix() for p in stubs.PACKAGE.rglob("*.pyi")} == set(stubs.MADE)


@pytest.mark.thorough
def test_stubs_agree_with_the_package(tmp_path):
    """Names, parameters and defaults; kernels' names are functions for checkers, and objects when programs run."""
    pytest.importorskip("mypy")
    run = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "portagpu.cuda", "--concise"],
        cwd=tmp_path,  # in the root the modules would be found twice
        env=os.environ | {"MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    of_stubs = re.compile(r"portagpu\.cuda\.(\w+|(api|fp16|libdevice|types|vector_types)\.\w+) ")  # others are sources
    lines = [line for line in run.stdout.splitlines() if of_stubs.match(line)]
    kernels = re.compile(
        r"is not a function$"
        r"|variable differs from runtime type portagpu\.dialect\.names\."
        r"|variable differs from runtime type portagpu\.cuda\.(Namespace|Intrinsic)"
    )
    assert sum(map(bool, map(kernels.search, lines))) > 100, run.stdout + run.stderr
    assert not [line for line in lines if not kernels.search(line)]


@pytest.mark.parametrize("option", sorted(JitKeywords.__annotations__))
def test_options_that_checkers_know_are_taken(option):
    JitOptions.from_keywords({option: None})
    with pytest.raises(UnknownOptionError, match=f"did you mean `{option}`"):
        JitOptions.from_keywords({f"{option}_": None})
