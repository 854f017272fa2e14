"""Fixtures: every target whose compiler is installed."""

from __future__ import annotations

import pytest
from compilers import compiler_of

from portagpu.backends.opencl.offline import nvptx
from portagpu.backends.opencl.offline.target import Target
from portagpu.backends.opencl.offline.targets import TARGETS


@pytest.fixture(autouse=True)
def _ptx_is_enough(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """CUDA's disassembler takes half a second to start: tests that look at what it shows ask for it."""
    if "disassembler" not in request.fixturenames:
        monkeypatch.setattr(nvptx, "disassemblers", list)


@pytest.fixture
def disassembler() -> str:
    """CUDA's disassembler."""
    found = nvptx.disassemblers()
    if not found:
        pytest.skip("nvdisasm is not installed")
    return found[0]


@pytest.fixture(params=list(TARGETS), ids=str)
def target(request: pytest.FixtureRequest) -> Target:
    """Each target that kernels can be compiled for."""
    return compiler_of(TARGETS[request.param])
