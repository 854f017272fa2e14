"""Errors of the driver, under CUDA-Python's module name."""

from __future__ import annotations

from portagpu.cuda.errors import CudaDriverError, CudaRuntimeError, CudaSupportError, NvvmError

__all__ = ["CudaDriverError", "CudaRuntimeError", "CudaSupportError", "NvvmError"]
