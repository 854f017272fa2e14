"""Vector types such as `float32x4`, under CUDA-Python's module name."""

from __future__ import annotations

from portagpu import cuda
from portagpu.dialect.names import VectorMaker
from portagpu.dtypes import FLOAT16

_all: dict[str, VectorMaker] = {n: v for n in cuda.__all__ if isinstance(v := getattr(cuda, n), VectorMaker)}
globals().update(_all)
# the original's types: up to four lanes, none of float16
vector_types: dict[str, VectorMaker] = {v.name: v for v in _all.values() if v.lanes <= 4 and v.dtype is not FLOAT16}

__all__ = ["vector_types", *_all]
