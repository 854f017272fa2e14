"""Memory over many launches."""

from __future__ import annotations

import pytest

from portagpu.bench import soak
from portagpu.runtime.execution.context import Context

pytestmark = pytest.mark.one_device


def test_memory_does_not_grow_with_launches(device):
    with Context.for_device(device):
        for name, launch in soak.ways().items():
            grown = soak.growth(launch, 3000)
            assert grown[-1] - grown[4] < 4, name  # MiB: 4 KiB for each launch would be 6
