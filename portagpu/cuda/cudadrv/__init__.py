"""Drivers, devices and their errors, under CUDA-Python's module names."""

from __future__ import annotations

from portagpu.cuda import devicearray
from portagpu.cuda.cudadrv import devices, driver, error

__all__ = ["devicearray", "devices", "driver", "error"]
