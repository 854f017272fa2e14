"""Level 3: matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.bench.routines.task import VECTORS, Array, Arrays, Check, Task, largest, matrix_of, random, rounding


def product_check(dtype: str, n: int, apply: Callable[[Array], Array], size: float, whole: Any = lambda c: c) -> Check:
    """The check of a matrix that has to be ``apply`` of the unit matrix; size: of its elements' terms, summed."""
    signs = np.random.default_rng(9).choice([-1.0, 1.0], (n, VECTORS))
    wanted = apply(signs)

    def error(result: Any) -> float:
        found = whole(np.asarray(result)).astype(np.float64) @ signs
        return largest(found, wanted, rounding(dtype) * size * n)

    return error


def matrices_task(name: str, n: int, dtype: str, flops: float, arrays: Arrays, call: Any, error: Check) -> Task:
    """A task of O(n^3) work."""
    return Task(
        name=name,
        dtype=dtype,
        n=n,
        size=str(n),
        library="blas",
        arrays=arrays,
        call=call,
        error=error,
        work=flops,
        unit="GFLOP/s",
    )


def gemm(n: int, dtype: str) -> Task:
    """``C = A B``."""
    a, b = matrix_of(n, dtype), random(4, (n, n), dtype)
    check = product_check(dtype, n, lambda v: a.astype(np.float64) @ (b.astype(np.float64) @ v), np.sqrt(n))
    return matrices_task("gemm", n, dtype, 2.0 * n**3, {"a": a, "b": b}, lambda f, v: f(1.0, v["a"], v["b"]), check)


def symm(n: int, dtype: str) -> Task:
    """``C = A B`` with a symmetric A."""
    a, b = matrix_of(n, dtype), random(4, (n, n), dtype)
    whole = (np.tril(a) + np.tril(a, -1).T).astype(np.float64)
    check = product_check(dtype, n, lambda v: whole @ (b.astype(np.float64) @ v), np.sqrt(n))
    return matrices_task(
        "symm", n, dtype, 2.0 * n**3, {"a": a, "b": b}, lambda f, v: f(1.0, v["a"], v["b"], lower=1), check
    )


def _mirrored(c: Array) -> Array:
    found: Array = np.tril(c) + np.tril(c, -1).T
    return found


def syrk(n: int, dtype: str) -> Task:
    """The lower triangle of ``C = A A^T``."""
    a = matrix_of(n, dtype)
    wide = a.astype(np.float64)
    check = product_check(dtype, n, lambda v: wide @ (wide.T @ v), np.sqrt(n), _mirrored)
    return matrices_task("syrk", n, dtype, 1.0 * n**3, {"a": a}, lambda f, v: f(1.0, v["a"], lower=1), check)


def syr2k(n: int, dtype: str) -> Task:
    """The lower triangle of ``C = A B^T + B A^T``."""
    a, b = matrix_of(n, dtype), random(4, (n, n), dtype)
    x, y = a.astype(np.float64), b.astype(np.float64)
    check = product_check(dtype, n, lambda v: x @ (y.T @ v) + y @ (x.T @ v), 2 * np.sqrt(n), _mirrored)
    return matrices_task(
        "syr2k", n, dtype, 2.0 * n**3, {"a": a, "b": b}, lambda f, v: f(1.0, v["a"], v["b"], lower=1), check
    )


def trmm(n: int, dtype: str) -> Task:
    """``L B``."""
    a, b = matrix_of(n, dtype), random(4, (n, n), dtype)
    lower = np.tril(a).astype(np.float64)
    check = product_check(dtype, n, lambda v: lower @ (b.astype(np.float64) @ v), np.sqrt(n))
    return matrices_task(
        "trmm", n, dtype, 1.0 * n**3, {"a": a, "b": b}, lambda f, v: f(1.0, v["a"], v["b"], lower=1), check
    )


def trsm(n: int, dtype: str) -> Task:
    """``L^-1 B``."""
    a, b = matrix_of(n, dtype, dominant=True), random(4, (n, n), dtype)
    lower = np.tril(a).astype(np.float64)

    def error(result: Any) -> float:
        signs = np.random.default_rng(9).choice([-1.0, 1.0], (n, VECTORS))
        found = lower @ (np.asarray(result).astype(np.float64) @ signs)
        return largest(found, b.astype(np.float64) @ signs, rounding(dtype) * n)

    return matrices_task(
        "trsm", n, dtype, 1.0 * n**3, {"a": a, "b": b}, lambda f, v: f(1.0, v["a"], v["b"], lower=1), error
    )
