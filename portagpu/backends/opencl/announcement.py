"""What is known of the OpenCL back end before it is loaded; see `portagpu.backends.announced`."""

from __future__ import annotations

import sys
from typing import Any

NAME = "opencl"
TITLE = "OpenCL"
TO_INSTALL = "pip install 'portagpu[cpu]' brings a CPU driver"
MODULE = "portagpu.backends.opencl.backend"
DLPACK_KIND = None
_LIBRARY = "pyopencl"


def may_own(value: Any) -> bool:
    """Objects of PyOpenCL's, where the program has imported it."""
    if _LIBRARY not in sys.modules:
        return False
    return any(base.__module__.partition(".")[0] == _LIBRARY for base in type(value).__mro__)
