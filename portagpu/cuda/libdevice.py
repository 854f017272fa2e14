"""``cuda.libdevice``: CUDA's device functions by their own names (``libdevice.sinf``, ``libdevice.fast_powf``).

The ``fast_`` ones are as exact as the others unless the kernel is compiled with ``fastmath=True``. Functions that round
down, up or towards zero (``fadd_rd``) are exact, but take tens of operations, and ``fastmath=True`` undoes them. Bessel
functions are exact to about 1e-15 (1e-6 in single precision) of their largest values nearby.
"""

from __future__ import annotations

import difflib
from typing import Any

from portagpu.frontend.libdevice import FUNCTIONS, PAIRS
from portagpu.frontend.libdevice_library import NAMES
from portagpu.frontend.vocabulary import Intrinsic

__all__ = [*sorted((*FUNCTIONS, *PAIRS, *NAMES))]

globals().update({name: Intrinsic(f"libdevice.{name}") for name in __all__})


def __getattr__(name: str) -> Any:
    close = difflib.get_close_matches(name, __all__, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise AttributeError(f"cuda.libdevice has no {name!r}{hint}")
