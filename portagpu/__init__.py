"""CUDA-style kernels in Python on any OpenCL device, and a portable tuned BLAS."""

from __future__ import annotations

import importlib
from typing import Any

from portagpu import cuda, errors, types
from portagpu.cuda.valuetypes import typeof
from portagpu.cuda.vectorizers import guvectorize, vectorize
from portagpu.runtime import ufuncs
from portagpu.types import (
    Signature,
    bfloat16,
    boolean,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    from_dtype,
    int8,
    int16,
    int32,
    int64,
    none,
    uint8,
    uint16,
    uint32,
    uint64,
    void,
)
from portagpu.version import __version__


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    alpha: Any = 1,
    beta: Any = 0,
    precision: str | None = None,
    dtype: Any = None,
    stream: Any = None,
) -> Any:
    """``alpha * a @ b + beta * out`` on the current device; see `portagpu.blas.matmul`."""
    from portagpu.blas.matmul import matmul as implementation  # the kernels' sources are read at first use

    return implementation(a, b, out, alpha=alpha, beta=beta, precision=precision, dtype=dtype, stream=stream)


def grouped_matmul(
    a: Any,
    b: Any,
    offsets: Any,
    out: Any = None,
    *,
    alpha: Any = 1,
    beta: Any = 0,
    precision: str | None = None,
    dtype: Any = None,
    stream: Any = None,
) -> Any:
    """Each group of rows of ``a`` times its own matrix of ``b``; see `portagpu.blas.grouped`."""
    from portagpu.blas.grouped import grouped_matmul as implementation  # as above

    return implementation(a, b, offsets, out, alpha=alpha, beta=beta, precision=precision, dtype=dtype, stream=stream)


# of an installed numba, so that `from numba import cuda, njit` needs no second line
_COMPILERS_FOR_CPUS = frozenset({"cfunc", "jit", "njit", "objmode", "prange", "stencil"})


def __getattr__(name: str) -> Any:
    """Types under their other names, such as ``intp`` or ``f4``, what kernels, too, may call, and numba's own."""
    if name == "literal_unroll":
        return cuda.literal_unroll
    if name in types.NAMES:
        return types.NAMES[name]
    if name in _COMPILERS_FOR_CPUS:
        try:
            return getattr(importlib.import_module("numba"), name)
        except ImportError:
            raise AttributeError(f"{name!r} compiles for the CPU: that is numba's, which is not installed") from None
    raise AttributeError(f"module 'portagpu' has no attribute {name!r}")


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    from portagpu.blas.matmul import dot  # as above

    return dot(a, b, out)


ufuncs.register("matmul", matmul)
ufuncs.register("linalg.matmul", matmul)
ufuncs.register("dot", _dot)

__all__ = [
    "Signature",
    "__version__",
    "bfloat16",
    "boolean",
    "complex64",
    "complex128",
    "cuda",
    "errors",
    "float16",
    "float32",
    "float64",
    "from_dtype",
    "grouped_matmul",
    "guvectorize",
    "int8",
    "int16",
    "int32",
    "int64",
    "matmul",
    "none",
    "typeof",
    "types",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "vectorize",
    "void",
]
