"""Fixtures of the runtime's tests."""

from __future__ import annotations

import pyopencl as cl
import pytest

from portagpu.runtime.execution.context import Context


@pytest.fixture
def own(device):
    """A context of the test's own, current until it is closed: streams and memory are nobody else's."""
    context = Context.wrap(cl.Context([device.cl_device]))
    with context:
        yield context
    context.close()
