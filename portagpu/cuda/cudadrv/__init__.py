"""Drivers, devices and their errors, under CUDA-Python's module names."""

from __future__ import annotations

from portagpu.cuda.cudadrv import devicearray, devices, driver, error

__all__ = ["devicearray", "devices", "driver", "error"]
