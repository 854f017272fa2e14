"""Output of printf in kernels: C's standard output, flushed."""

from __future__ import annotations

import ctypes
import sys


def flush_output() -> None:
    """Let what kernels printed appear now."""
    if sys.platform != "win32":
        ctypes.CDLL(None).fflush(None)
