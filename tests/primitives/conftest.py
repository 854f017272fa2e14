"""Primitives run in the form of the device, and in that of GPUs on CPUs, too."""

from __future__ import annotations

import pytest

from portagpu.primitives import extremes, shares
from portagpu.primitives.bins import histograms
from portagpu.primitives.gathers import gathering


@pytest.fixture
def as_on_gpus(monkeypatch):
    """Kernels with many threads that exchange what they find, whatever the device is."""
    for module in (shares, histograms, gathering, extremes):
        monkeypatch.setattr(module, "is_serial", lambda caps: False)
