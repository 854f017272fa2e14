"""Batches of small factorisations and triangular systems.

Ours take arrays with a leading axis. NumPy has batches of Cholesky factors; SciPy's other functions are called for each
matrix in a loop, whose matrices and list are made before the clock runs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.bench.routines.task import LETTERS, VECTORS, Array, Arrays, Check, Program, Task, largest, rounding

_COUNT, _ELEMENTS = 10_000, 1 << 28  # at most so many of all matrices
_LEAST, _FEW = 16, 100  # matrices of fewer rows are for tests


def _batch_task(
    name: str, n: int, dtype: str, flops: float, arrays: Arrays, call: Any, error: Check, on_numpy: Program
) -> Task:
    count = len(arrays["a"])
    return Task(
        name=name,
        dtype=dtype,
        n=n,
        size=f"{count} x {n} x {n}",
        library="linalg" if name == "trsm-batch" else "lapack",
        arrays=arrays,
        call=call,
        error=error,
        work=count * flops,
        unit="GFLOP/s",
        own="solve_triangular" if name == "trsm-batch" else "",
        on_numpy=on_numpy,
    )


def _matrices(seed: int, n: int, dtype: str) -> Array:
    shape = (min(_COUNT, max(1, _ELEMENTS // n**2)) if n >= _LEAST else _FEW, n, n)
    found: Array = np.random.default_rng(seed).standard_normal(shape, np.dtype(dtype).type)
    return found


def _signs(n: int) -> Array:
    return np.random.default_rng(9).choice([-1.0, 1.0], (n, VECTORS))


def potrf_batch(n: int, dtype: str) -> Task:
    """``A = L L^T`` of each matrix."""
    a = _matrices(3, n, dtype)
    a = (a + a.swapaxes(1, 2)) / (4 * n**0.5)  # a Python float, which keeps float32
    a[:, np.arange(n), np.arange(n)] += 3.0
    signs = _signs(n)
    wanted = a.astype(np.float64) @ signs

    def error(result: Any) -> float:
        lower = np.tril(_together(result)[0]).astype(np.float64)
        return largest(lower @ (lower.swapaxes(1, 2) @ signs), wanted, rounding(dtype) * 4 * np.sqrt(n))

    def prepare(v: Arrays) -> Callable[[], Any]:
        return lambda: (np.linalg.cholesky(v["a"]),)

    numpy = Program(name=f"NumPy {np.__version__}, numpy.linalg.cholesky of the batch", prepare=prepare)
    return _batch_task(
        "potrf-batch", n, dtype, n**3 / 3, {"a": a}, lambda f, v: f(v["a"], lower=1, clean=0), error, numpy
    )


def getrf_batch(n: int, dtype: str) -> Task:
    """``P A = L U`` of each matrix."""
    a = _matrices(3, n, dtype)
    signs, wide = _signs(n), a.astype(np.float64)

    def error(result: Any) -> float:
        factors, pivots = _together(result)[:2]
        lu = factors.astype(np.float64)
        found = np.triu(lu) @ signs
        found = np.tril(lu, -1) @ found + found
        each = np.arange(len(a))
        rows = np.tile(np.arange(n), (len(a), 1))
        for i in range(n):
            other = pivots[:, i]
            rows[:, i], rows[each, other] = rows[each, other], rows[:, i].copy()
        wanted = np.take_along_axis(wide, rows[:, :, None], 1) @ signs
        growth = np.abs(np.triu(lu)).max(axis=(1, 2), keepdims=True) * np.sqrt(n)
        return largest(found, wanted, rounding(dtype) * growth * np.sqrt(n))

    def prepare(v: Arrays) -> Callable[[], Any]:
        function = _of_scipy("lapack", "getrf", dtype)
        matrices = [np.asfortranarray(one) for one in v["a"]]
        return lambda: [function(one) for one in matrices]

    scipy = Program(name="SciPy's getrf in a loop", prepare=prepare)
    return _batch_task("getrf-batch", n, dtype, 2 * n**3 / 3, {"a": a}, lambda f, v: f(v["a"]), error, scipy)


def trsm_batch(n: int, dtype: str) -> Task:
    """``L^-1 B`` of each pair."""
    a, b = _matrices(3, n, dtype), _matrices(4, n, dtype)
    a /= n
    a[:, np.arange(n), np.arange(n)] = 2.0
    lower, signs = np.tril(a).astype(np.float64), _signs(n)
    wanted = b.astype(np.float64) @ signs

    def error(result: Any) -> float:
        return largest(lower @ (_together(result)[0].astype(np.float64) @ signs), wanted, rounding(dtype) * n)

    def prepare(v: Arrays) -> Callable[[], Any]:
        function = _of_scipy("blas", "trsm", dtype)
        pairs = [(np.asfortranarray(x), np.asfortranarray(y)) for x, y in zip(v["a"], v["b"], strict=True)]
        return lambda: [(function(1.0, x, y, lower=1),) for x, y in pairs]

    scipy = Program(name="SciPy's trsm in a loop", prepare=prepare)
    return _batch_task(
        "trsm-batch", n, dtype, n**3, {"a": a, "b": b}, lambda f, v: (f(v["a"], v["b"], lower=True),), error, scipy
    )


def _of_scipy(library: str, name: str, dtype: str) -> Any:
    return getattr(importlib.import_module(f"scipy.linalg.{library}"), LETTERS[dtype] + name)


def _together(result: Any) -> tuple[Array, ...]:
    """A batch's results; a loop's are put together here, not while the clock runs."""
    if isinstance(result, list):
        return tuple(np.stack(parts) for parts in zip(*result, strict=True))
    return tuple(map(np.asarray, result))
