"""Tests that are about OpenCL alone do not run on other back ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_kernels import copy, put

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
    """CUDA's driver waits for all streams where it loads a kernel: not while a test keeps one from going on."""
    if "device" not in request.fixturenames:
        return
    device = request.getfixturevalue("device")
    if device.backend != "cuda" or device.index in _loaded:
        return
    _loaded.add(device.index)
    with cuda.select_device(device):
        x, y, wide = cuda.device_array(8, np.float32), cuda.device_array(8, np.float32), cuda.device_array((4, 8))
        for _ in range(2):
            put[1, 8](x, 7)
            copy[1, 8](x, y)
            copy[1, 8](np.zeros(8, np.float32), y)
            wide[:, ::2].T.copy()
            wide[:, ::2].copy_to_device(cuda.pinned_array((4, 4)))
            for strided in (y[::2], wide[0, ::2]):
                strided.copy_to_host(cuda.pinned_array(4, strided.dtype))
        cuda.synchronize()


_loaded = set()


def pytest_collection_modifyitems(config, items):
    """Leave them out here."""
    here = Path(__file__).parent
    alone = [item for item in items if item.path.parent == here and item.get_closest_marker("opencl")]
    config.hook.pytest_deselected(items=alone)
    items[:] = [item for item in items if item not in alone]
