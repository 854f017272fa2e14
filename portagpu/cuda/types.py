"""Types for signatures, under CUDA-Python's module name."""

from __future__ import annotations

import builtins

from portagpu import types
from portagpu.types import *  # noqa: F403
from portagpu.types import (
    Array,
    CPointer,
    NamedTuple,
    NamedUniTuple,
    NPDatetime,
    NPTimedelta,
    Signature,
    Tuple,
    UniTuple,
    as_signature,
)

_named = {name: kind for name, kind in types.NAMES.items() if not hasattr(builtins, name)}
globals().update(_named)

# sets of types, as programs that make a kernel for each of them walk over
signed_domain = frozenset({types.int8, types.int16, types.int32, types.int64})
unsigned_domain = frozenset({types.uint8, types.uint16, types.uint32, types.uint64})
integer_domain = signed_domain | unsigned_domain
real_domain = frozenset({types.float32, types.float64})
complex_domain = frozenset({types.complex64, types.complex128})
number_domain = real_domain | integer_domain | complex_domain

__all__ = [
    "Array",
    "CPointer",
    "NPDatetime",
    "NPTimedelta",
    "NamedTuple",
    "NamedUniTuple",
    "Signature",
    "Tuple",
    "UniTuple",
    "as_signature",
    "complex_domain",
    "integer_domain",
    "number_domain",
    "real_domain",
    "signed_domain",
    "unsigned_domain",
    *_named,
]
