"""Fixtures: every target whose compiler is installed."""

from __future__ import annotations

import pytest
from compilers import compiler_of

from portagpu.backends.opencl.offline.target import Target
from portagpu.backends.opencl.offline.targets import TARGETS


@pytest.fixture(params=list(TARGETS), ids=str)
def target(request: pytest.FixtureRequest) -> Target:
    """Each target that kernels can be compiled for."""
    return compiler_of(TARGETS[request.param])
