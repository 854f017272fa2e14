"""``cuda.libdevice``: CUDA's device functions by their own names (``libdevice.sinf``, ``libdevice.fast_powf``).

The ``fast_`` ones are as exact as the others unless the kernel is compiled with ``fastmath=True``. Functions that round
down, up or towards zero (``fadd_rd``) are exact, but take tens of operations, and ``fastmath=True`` undoes them. Bessel
functions are exact to about 1e-15 (1e-6 in single precision) of their largest values nearby.
"""

from __future__ import annotations

import sys
from typing import Any

from portagpu.dialect.names import Intrinsic
from portagpu.errors import unknown_attribute
from portagpu.frontend.library.libdevice.compound import NAMES
from portagpu.frontend.library.libdevice.native import FUNCTIONS, PAIRS

__all__ = [*sorted((*FUNCTIONS, *PAIRS, *NAMES))]

globals().update({name: Intrinsic(f"libdevice.{name}") for name in __all__})


def __getattr__(name: str) -> Any:
    raise unknown_attribute("cuda.libdevice", name, sys.modules[__name__], __all__)
