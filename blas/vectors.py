"""The dialect's vector types, by dtype name."""

from __future__ import annotations

from functools import lru_cache

from portagpu import dtypes
from portagpu.frontend.vocabulary import VectorMaker


@lru_cache(maxsize=256)
def vector_type(dtype_name: str, lanes: int) -> VectorMaker:
    """The dialect's vector type."""
    dtype = dtypes.parse(dtype_name)
    assert dtype is not None
    return VectorMaker(dtype, lanes)
