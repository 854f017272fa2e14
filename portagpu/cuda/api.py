"""The host side, under CUDA-Python's module name."""

from __future__ import annotations

from portagpu.cuda.host import *  # noqa: F403
from portagpu.cuda.host import __all__ as _host
from portagpu.cuda.interchange import from_cuda_array_interface, from_dlpack
from portagpu.cuda.session import (
    detect,
    event_elapsed_time,
    external_stream,
    is_float16_supported,
    legacy_default_stream,
    per_thread_default_stream,
    profile_start,
    profile_stop,
    profiling,
    require_context,
)
from portagpu.cuda.shared_memory import managed_array, mapped, mapped_array, mapped_array_like, pinned_array_like

_more = [
    detect,
    event_elapsed_time,
    external_stream,
    from_cuda_array_interface,
    from_dlpack,
    is_float16_supported,
    legacy_default_stream,
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    per_thread_default_stream,
    pinned_array_like,
    profile_start,
    profile_stop,
    profiling,
    require_context,
]

__all__ = [*_host, *(function.__name__ for function in _more)]
