"""The dialect's vector types by dtype, cached."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.dialect.names import VectorMaker


@lru_cache(maxsize=256)
def name_of(dtype: np.dtype[Any]) -> str:
    """The dtype's name."""
    return str(dtype.name)


@lru_cache(maxsize=256)
def vector_type(dtype_name: str, lanes: int) -> VectorMaker:
    """The dialect's vector type."""
    dtype = dtypes.parse(dtype_name)
    assert dtype is not None
    return VectorMaker(dtype, lanes)
