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
OURS = "portagpu"
never: set[type] = set(NEVER_ARRAYS)
"""The same, and types that `has_no_arrays` was asked of, which are as cheap then."""


def has_no_arrays(kind: type) -> bool:
    """Whether a type is NumPy's or one of ours, or of types, or derived from NumPy's: no arrays of other libraries."""
    found = issubclass(kind, type | np.ndarray | np.generic) or kind.__module__.partition(".")[0] == OURS
    if found:
        never.add(kind)
    return found


def may_own(value: Any) -> bool:
    """Arrays of other libraries that tell by DLPack or the CUDA Array Interface where their memory is."""
    kind = type(value)
    if kind in never or has_no_arrays(kind):
        return False
    if hasattr(kind, "__dlpack_device__") or hasattr(kind, INTERFACE):
        return True
    try:
        return hasattr(value, INTERFACE)
    except Exception:  # a user's own attributes
        return False
