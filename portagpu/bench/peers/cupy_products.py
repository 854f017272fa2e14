"""The library of the GPU's maker through CuPy."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import numpy as np

from portagpu.bench.method.turns import Call
from portagpu.bench.peers.own_runtime import with_cupy
from portagpu.blas.gemm.core.problem import Problem
from portagpu.errors import UnsupportedError

MODULE = "cupy"
_DTYPES = ("float16", "float32", "float64", "complex64", "complex128")
Matrix = np.ndarray[Any, Any]


def device_and_label() -> tuple[str, str]:
    """Name of the first GPU, and the implementation's. Raises anything where there is none."""
    cupy = _cupy()
    library = "rocBLAS" if cupy.cuda.runtime.is_hip else "cuBLAS"
    return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(), f"{library} of CuPy {cupy.__version__}"


def serves(problem: Problem) -> Problem:
    """The arithmetic that CuPy uses: its own dtypes, and SGEMM for every precision but TF32."""
    return replace(problem, out="", precision=problem.precision if problem.precision == "tf32" else "")


def prepare(problem: Problem, a: Matrix, b: Matrix) -> Call:
    """A product on the current GPU. Raises `UnsupportedError` for what CuPy leaves to no library."""
    if problem.dtype not in _DTYPES or problem.precision:
        raise UnsupportedError(f"CuPy has no {problem.arithmetic} products of the vendor's library; install torch")
    cupy = _cupy()
    left, right = cupy.asarray(a), cupy.asarray(b)
    result = cupy.empty((*left.shape[:-1], right.shape[-1]), left.dtype)
    call = Call(
        enqueue=lambda: cupy.matmul(left, right, out=result),
        wait=cupy.cuda.get_current_stream().synchronize,
        fetch=lambda: cupy.asnumpy(result),
    )
    return with_cupy(cupy, call)


def _cupy() -> Any:
    return importlib.import_module(MODULE)


__all__ = ["MODULE", "device_and_label", "prepare", "serves"]
