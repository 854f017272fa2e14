"""Types for signatures, under CUDA-Python's module name."""

from __future__ import annotations

import builtins

from portagpu import types
from portagpu.time_types import NPDatetime, NPTimedelta
from portagpu.types import *  # noqa: F403
from portagpu.types import Array, NamedTuple, NamedUniTuple, Signature, Tuple, UniTuple, as_signature

_named = {name: kind for name, kind in types.NAMES.items() if not hasattr(builtins, name)}
globals().update(_named)

__all__ = [
    "Array",
    "NPDatetime",
    "NPTimedelta",
    "NamedTuple",
    "NamedUniTuple",
    "Signature",
    "Tuple",
    "UniTuple",
    "as_signature",
    *_named,
]
