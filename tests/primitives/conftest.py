"""Primitives run in the form of the device, and in that of GPUs on CPUs, too."""

from __future__ import annotations

import pytest
from gpu_forms import gpu_forms


@pytest.fixture
def as_on_gpus(device):
    """Kernels with many threads that exchange what they find, whatever the device is."""
    with gpu_forms():
        yield


@pytest.fixture(params=["own", "of GPUs"])
def form(request, device):
    """The device's form, and that of GPUs."""
    if request.param == "of GPUs":
        request.getfixturevalue("as_on_gpus")
    return request.param
