"""Warnings about launches that waste a GPU's time, once for each kernel and launch configuration."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from portagpu.device.capabilities import DeviceType
from portagpu.errors import PortaGPUPerformanceWarning
from portagpu.runtime.context import Context
from portagpu.runtime.launch import LaunchShape

_SILENCE = "(PORTAGPU_WARNINGS=0 turns such warnings off)"
_ENOUGH_BLOCKS = 128


def advise(context: Context, shape: LaunchShape, args: tuple[Any, ...]) -> None:
    """Warn the caller's caller. On CPUs neither costs anything."""
    caps = context.capabilities
    if caps.device_type is not DeviceType.GPU or not context.settings.warnings:
        return
    blocks = shape.grid[0] * shape.grid[1] * shape.grid[2]
    if blocks < min(_ENOUGH_BLOCKS, 2 * caps.compute_units):
        _warn(f"Grid size {blocks} will likely result in GPU under-utilization due to low occupancy.")
    if not caps.host_unified_memory and any(isinstance(a, np.ndarray) for a in args):
        _warn("Host array used in CUDA kernel will incur copy overhead to/from device.")


def _warn(text: str) -> None:
    warnings.warn(f"{text} {_SILENCE}", PortaGPUPerformanceWarning, stacklevel=4)
