"""The types that kernels of factorisations compute in."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from portagpu.blas.gemm.core.operands import real_dtype
from portagpu.blas.gemm.core.vector_types import vector_type


class NumberTypes(NamedTuple):
    """NumPy's scalar types of elements and of real numbers."""

    number: Any
    real: Any
    is_complex: bool


@lru_cache(maxsize=16)
def number_types(dtype: np.dtype[Any]) -> NumberTypes:
    """The types of a dtype, float32 to complex128."""
    is_complex = dtype.kind == "c"
    return NumberTypes(dtype.type, real_dtype(dtype).type if is_complex else dtype.type, is_complex)


def cell_type(dtype: np.dtype[Any], lanes: int) -> Any:
    """The type of as many neighbouring elements: a vector, or a number."""
    return vector_type(dtype.name, lanes) if lanes > 1 else dtype.type
