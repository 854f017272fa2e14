"""Targets whose compilers are installed; in continuous integration all of them must be."""

from __future__ import annotations

import os

import pytest

from portagpu.backends.opencl.offline.compilers import COMPILERS, is_available
from portagpu.backends.opencl.offline.target import Target


def compiler_of(target: Target) -> Target:
    """The target; the test is skipped where its compiler is not installed, unless it must be."""
    compiler = COMPILERS[target.compiler]
    if not compiler.missing and compiler.unknown(target):
        pytest.skip(compiler.unknown(target))
    if not is_available(target):
        reason = f"the compiler for {target.name} is not installed: {COMPILERS[target.compiler].package}"
        if os.environ.get("OFFLINE_COMPILERS") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    return target
