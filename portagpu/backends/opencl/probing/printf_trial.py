"""Whether a kernel's printf reaches the process's standard output."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile

import numpy as np

from portagpu.backends.opencl.probing.workbench import Workbench


def printf_works(bench: Workbench) -> bool:
    """Run a kernel that prints, with standard output caught. For a process of its own: it moves file descriptor 1."""
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 1)
        try:
            kernel = bench.build("printing")
            bench.run(kernel, 1, 1, np.array([42], np.int32))
            _flush_c_output()
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        caught.seek(0)
        return b"portagpu 42 end" in caught.read()


def _flush_c_output() -> None:
    """Drivers print through C's buffered stdout."""
    if sys.platform != "win32":
        ctypes.CDLL(None).fflush(None)
