"""``cuda.fp16``: functions of float16 numbers inside kernels, under the names of CUDA's half intrinsics.

On devices without half arithmetic they compute in float32 and round.
"""

from __future__ import annotations

import sys
from typing import Any

from portagpu.dialect.names import Intrinsic
from portagpu.errors import unknown_attribute

__all__ = [
    *("hadd", "hsub", "hmul", "hdiv", "hfma", "hneg", "habs", "hrcp", "hmax", "hmin"),
    *("heq", "hne", "hgt", "hge", "hlt", "hle"),
    *("hsin", "hcos", "hexp", "hexp2", "hexp10", "hlog", "hlog2", "hlog10", "hsqrt", "hrsqrt"),
    *("hfloor", "hceil", "hrint", "htrunc"),
]

globals().update({name: Intrinsic(f"fp16.{name}") for name in __all__})


def __getattr__(name: str) -> Any:
    hint = f"it has {', '.join(__all__)}"
    raise unknown_attribute("cuda.fp16", name, sys.modules[__name__], __all__, hint=hint)
