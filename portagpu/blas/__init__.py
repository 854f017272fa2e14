"""Portable BLAS, written in the dialect: the functions of `scipy.linalg.blas` under their names.

`sgemm`, `dgemm`, `cgemm` and `zgemm` are products as `portagpu.matmul` computes them, with the arguments that they have
there.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from portagpu.errors import unknown_attribute

_ROUTINES = dict.fromkeys(("cgemm", "dgemm", "sgemm", "zgemm"), "level3.gemm")  # the module of each

__all__ = ["cgemm", "dgemm", "sgemm", "zgemm"]


if TYPE_CHECKING:
    from portagpu.blas.level3.gemm import cgemm, dgemm, sgemm, zgemm
else:

    def __getattr__(name: str) -> Any:
        """The functions of BLAS: the kernels' sources are read at first use."""
        if name in _ROUTINES:
            return getattr(importlib.import_module(f"portagpu.blas.{_ROUTINES[name]}"), name)
        raise unknown_attribute("portagpu.blas", name, sys.modules[__name__], __dir__())


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROUTINES})
