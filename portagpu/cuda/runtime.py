"""The version of what kernels run on; CUDA-Python's module of the CUDA runtime."""

from __future__ import annotations

from portagpu.runtime.execution.context import current_context

_OLDEST = (1, 2)
_NONE = (0, 0)


def get_version() -> tuple[int, int]:
    """(major, minor) of the current device's OpenCL C; (0, 0) where its kernels are in another language."""
    return current_context().capabilities.opencl_c_version


def is_supported_version() -> bool:
    """Whether kernels are generated for this version: OpenCL C 1.2 or newer, and every other language."""
    found = get_version()
    return found >= _OLDEST or found == _NONE
