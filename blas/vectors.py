"""The dialect's vector types, by dtype name."""

from __future__ import annotations

from portagpu import dtypes
from portagpu.frontend.vocabulary import VectorMaker


def vector_type(dtype_name: str, lanes: int) -> VectorMaker:
    """The dialect's vector type."""
    dtype = dtypes.parse(dtype_name)
    assert dtype is not None
    return VectorMaker(dtype, lanes)
