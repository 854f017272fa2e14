"""The version of what kernels run on; CUDA-Python's module of the CUDA runtime."""

from __future__ import annotations

from portagpu.runtime.execution.context import current_context

_OLDEST = (1, 2)


def get_version() -> tuple[int, int]:
    """(major, minor) of the current device's OpenCL C."""
    return current_context().capabilities.opencl_c_version


def is_supported_version() -> bool:
    """Whether kernels are generated for this version (1.2 or newer)."""
    return get_version() >= _OLDEST
