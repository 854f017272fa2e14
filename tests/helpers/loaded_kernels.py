"""Kernels that are loaded before a test makes a queue stand still."""

from __future__ import annotations

import numpy as np
from small_kernels import copy, double, increment, put

from portagpu import cuda

_loaded = set()


def load_kernels(request):
    """CUDA's driver waits for all streams of a card where it loads a kernel, also for those that stand still."""
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
            increment[1, 8](x)
            double[1, 8](x)
            copy[1, 8](np.zeros(8, np.float32), y)
            wide[:, ::2].T.copy()
            wide[:, ::2].copy_to_device(cuda.pinned_array((4, 4)))
            for strided in (y[::2], wide[0, ::2]):
                strided.copy_to_host(cuda.pinned_array(4, strided.dtype))
        cuda.synchronize()
