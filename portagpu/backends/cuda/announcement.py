"""What is known of the CUDA back end before it is loaded; see `portagpu.backends.announced`."""

from __future__ import annotations

from typing import Any

import numpy as np

NAME = "cuda"
TITLE = "CUDA"
TO_INSTALL = "the driver of a card of CUDA's brings libcuda.so.1 and libnvidia-opencl.so.1, and both are needed"
MODULE = "portagpu.backends.cuda.backend"
DLPACK_KIND = None
INTERFACE = "__cuda_array_interface__"
NEVER_ARRAYS = (np.ndarray, np.generic, bool, int, float, complex, str, bytes, tuple, list, dict, type(None))
"""Types whose own instances need no look."""
_OURS = "portagpu"
_never: set[type] = set(NEVER_ARRAYS)  # and subclasses that were looked at


def may_own(value: Any) -> bool:
    """Arrays of other libraries that tell by DLPack or the CUDA Array Interface where their memory is."""
    kind = type(value)
    if kind in _never:
        return False
    if issubclass(kind, type | np.ndarray | np.generic) or kind.__module__.partition(".")[0] == _OURS:
        _never.add(kind)
        return False
    if hasattr(kind, "__dlpack_device__") or hasattr(kind, INTERFACE):
        return True
    try:
        return hasattr(value, INTERFACE)
    except Exception:  # a user's own attributes
        return False
