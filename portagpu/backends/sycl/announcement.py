"""What is known of the SYCL back end before it is loaded; see `portagpu.backends.announced`."""

from __future__ import annotations

from typing import Any

NAME = "sycl"
TITLE = "SYCL"
INSTALL = "pip install 'portagpu[sycl]'"
TO_INSTALL = f"{INSTALL} brings a CPU driver"
MODULE = "portagpu.backends.sycl.backend"
DLPACK_KIND = 14  # kDLOneAPI
INTERFACE = "__sycl_usm_array_interface__"
_DPCTL = frozenset({"SyclContext", "SyclQueue"})


def may_own(value: Any) -> bool:
    """Queues and contexts of dpctl's, and arrays with a USM array interface."""
    kind = type(value)
    return kind.__name__ in _DPCTL or hasattr(kind, INTERFACE)
