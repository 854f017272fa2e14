"""Whether kernels of a device work in NumPy's memory."""

from __future__ import annotations

from portagpu.device import DeviceType


def shares(device):
    return device.capabilities.device_type is DeviceType.CPU and device.capabilities.host_unified_memory
