"""Vector types such as `float32x4`, under CUDA-Python's module name."""

from __future__ import annotations

from portagpu import cuda
from portagpu.frontend.vocabulary import VectorMaker

vector_types: dict[str, VectorMaker] = {n: v for n, v in vars(cuda).items() if isinstance(v, VectorMaker)}
globals().update(vector_types)

__all__ = ["vector_types", *vector_types]
