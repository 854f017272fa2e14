"""Tests that are about OpenCL alone do not run on other back ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from loaded_kernels import load_kernels

from portagpu import cuda
from portagpu.device import working_devices


@pytest.fixture(scope="module", autouse=True)
def _for_these_tests_only():
    """The device that was chosen last stays current: those of `tiny` shall not for tests that name none."""
    yield
    devices = working_devices()
    if devices:
        cuda.select_device(devices[0])


@pytest.fixture(autouse=True)
def _kernels_are_loaded(request):
    load_kernels(request)


def pytest_collection_modifyitems(config, items):
    """Leave them out here."""
    here = Path(__file__).parent
    alone = [item for item in items if item.path.parent == here and item.get_closest_marker("opencl")]
    config.hook.pytest_deselected(items=alone)
    items[:] = [item for item in items if item not in alone]
