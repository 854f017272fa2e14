"""Warnings of suspicious kernels and of wasted time on GPUs, once for each launch configuration."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from portagpu import config, notices
from portagpu.device.capabilities import DeviceType
from portagpu.errors import PortaGPUCorrectnessWarning, PortaGPUPerformanceWarning
from portagpu.ir.program import Finding, Remark
from portagpu.runtime.execution.context import Context
from portagpu.runtime.programs.launch_shape import LaunchShape

_SILENCE = "(PORTAGPU_WARNINGS=0 turns such warnings off)"
_ENOUGH_BLOCKS = 128
_SLOW = 7  # float32 is at least that many times faster (it is twice as fast where float64 units are many)


def advise(context: Context, shape: LaunchShape, args: tuple[Any, ...], findings: tuple[Finding, ...] = ()) -> None:
    """Warn the caller's caller. On CPUs nothing of this costs anything."""
    caps = context.capabilities
    if caps.device_type is not DeviceType.GPU or not context.settings.warnings or config.DISABLE_PERFORMANCE_WARNINGS:
        return
    blocks = shape.grid[0] * shape.grid[1] * shape.grid[2]
    if config.CUDA_LOW_OCCUPANCY_WARNINGS and blocks < min(_ENOUGH_BLOCKS, 2 * caps.compute_units):
        _warn(f"Grid size {blocks} will likely result in GPU under-utilization due to low occupancy.")
    # who asks for mapped or managed memory knows that the device takes it from the host
    plain = any(isinstance(a, np.ndarray) and not hasattr(type(a), "__cuda_array_interface__") for a in args)
    copies = plain and not caps.host_unified_memory
    if config.CUDA_WARN_ON_IMPLICIT_COPY and copies:
        _warn("Host array used in CUDA kernel will incur copy overhead to/from device.")
    slow_double = 0 < caps.measured_gflops_double * _SLOW < caps.measured_gflops
    for finding in findings:
        if shape.block[0] >= finding.needs_width and (slow_double or not finding.only_slow_double):
            place = finding.span
            _warn(f"{Path(place.filename).name}:{place.line}: {finding.text}")


def remark(context: Context, shape: LaunchShape, remarks: tuple[Remark, ...]) -> None:
    """Warn of what looks wrong in a kernel, at its own lines, whatever the device."""
    if not context.settings.warnings:
        return
    for found in remarks:
        if shape.block[0] >= found.needs_width:
            place = found.span
            warnings.warn_explicit(f"{found.text} {_SILENCE}", PortaGPUCorrectnessWarning, place.filename, place.line)


def _warn(text: str) -> None:
    notices.warn(f"{text} {_SILENCE}", PortaGPUPerformanceWarning)
