"""Dtypes of accumulation, scaling and storage, and the conversions that kernels get."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.kernel_arguments import ALPHA, ALPHA_AND_BETA, BETA_UNLESS_ZERO, SUM, Epilogue
from portagpu.blas.gemm.core.problem import UNSIGNED, Problem
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.dialect.names import VectorMaker

OUTPUTS = {
    "float16": ("float16", "float32"),
    "bfloat16": ("bfloat16", "float32"),
    "float32": ("float32",),
    "float64": ("float64",),
    "int8": ("int32", "float32"),
    "uint8": ("int32", "float32"),
    "complex64": ("complex64",),
    "complex128": ("complex128",),
}
"""Dtypes of products, by dtype of the operands; the default comes first."""

_PLAIN = OUTPUTS | {name: (name,) for name in UNSIGNED.values()}


@dataclass(frozen=True, slots=True)
class Conversion:
    """Vector types of sums, of scaled sums and of what is stored; see `portagpu.blas.gemm.kernels.epilogue`."""

    vector: VectorMaker
    scaled: VectorMaker
    stored: VectorMaker

    @property
    def whole(self) -> bool:
        """Whether sums are integers."""
        return self.vector.dtype.is_integer

    def epilogue(self, alpha: complex, beta: complex) -> Epilogue:
        """What kernels do with sums: what alpha and beta ask for, known when they are compiled."""
        return Epilogue(ALPHA_AND_BETA if beta != 0 else ALPHA if alpha != 1 else SUM, self.scaled, self.stored)

    @property
    def any_epilogue(self) -> Epilogue:
        """What kernels do with sums that are compiled once for any alpha and beta."""
        return Epilogue(BETA_UNLESS_ZERO, self.scaled, self.stored)


@lru_cache(maxsize=256)
def number_type(vector: VectorMaker) -> Any:
    """NumPy's scalar type of a vector's lanes."""
    return np.dtype(vector.dtype.name).type


@lru_cache(maxsize=256)
def conversion(dtype: str, out: str, lanes: int) -> Conversion:
    """The vector types for operands of a dtype and a result of another."""
    sums = Problem(m=1, n=1, k=1, dtype=dtype).accumulator
    scaled = sums if out in (sums, *UNSIGNED.values()) else "float64" if out == "float64" else "float32"
    stored = "float32" if out == "bfloat16" else out  # vectors of bfloat16 are float32 in kernels
    return Conversion(vector_type(sums, lanes), vector_type(scaled, lanes), vector_type(stored, lanes))


def is_plain(problem: Problem) -> bool:
    """Whether kernels in the dialect that go by dtypes alone can compute this: real, no mode, rows or columns whole."""
    return (
        not problem.is_complex
        and not problem.precision
        and problem.out_dtype in _PLAIN.get(problem.dtype, ())
        and "" not in (problem.a_order, problem.b_order, problem.c_order)
    )
