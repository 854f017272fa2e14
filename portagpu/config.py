"""Settings that programs for CUDA-Python read and set in ``numba.config``, under their names.

``from portagpu import config`` takes the place of ``from numba import config``. Those of warnings decide, with
``PORTAGPU_WARNINGS``, what launches on GPUs warn of; that of the interface counts beside ``PORTAGPU_INTERFACE_SYNC``;
the others tell what is so here. Other names are those of an installed numba; setting them changes nothing of kernels.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from portagpu.errors import unknown_attribute

CUDA_LOW_OCCUPANCY_WARNINGS: int = 1
"""Whether a grid of few blocks warns."""

CUDA_WARN_ON_IMPLICIT_COPY: int = 1
"""Whether an argument in memory of the host warns, where the device copies it."""

CUDA_ARRAY_INTERFACE_SYNC: int = 1
"""Whether an array that is taken through the CUDA Array Interface is waited for, where it names a stream."""

DISABLE_PERFORMANCE_WARNINGS: int = 0
"""Whether nothing of this, nor of slow accesses to memory, warns."""

DISABLE_JIT: int = 0
"""Kernels are always compiled."""

ENABLE_CUDASIM: int = 0
"""There is no simulator: a CPU's driver runs compiled kernels."""


def __getattr__(name: str) -> Any:
    """Other settings of an installed numba."""
    if not name.startswith("_"):
        try:
            return getattr(importlib.import_module("numba.core.config"), name)
        except (ImportError, AttributeError):
            pass
    raise unknown_attribute("portagpu.config", name, sys.modules[__name__], globals())
