"""Portable BLAS, written in the dialect.

`portagpu.matmul` chooses them. `sgemm`, `dgemm`, `cgemm` and `zgemm` are the same under the names, and with the
arguments, of `scipy.linalg.blas`.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["cgemm", "dgemm", "sgemm", "zgemm"]


def __getattr__(name: str) -> Any:
    """The functions of BLAS: the kernels' sources are read at first use."""
    if name in __all__:
        return getattr(importlib.import_module("portagpu.blas.named"), name)
    raise AttributeError(f"module 'portagpu.blas' has no attribute {name!r}")
