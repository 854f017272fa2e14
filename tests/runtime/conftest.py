"""Fixtures of the runtime's tests."""

from __future__ import annotations

import pytest
from loaded_kernels import load_kernels
from own_contexts import native_context

from portagpu.runtime.execution.context import Context


@pytest.fixture(autouse=True)
def _kernels_are_loaded(request):
    load_kernels(request)


@pytest.fixture
def own(device):
    """A context of the test's own, current until it is closed: streams and memory are nobody else's."""
    context = Context.wrap(native_context(device))
    with context:
        yield context
    context.close()
