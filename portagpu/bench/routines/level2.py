"""Level 2: a matrix and vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from portagpu.bench.routines.task import Array, Task, largest, magnitudes, matrix_of, random, rounding


def matrix_vector_task(
    name: str, n: int, dtype: str, matrix: Array, call: Any, expected: Any, *, share: float = 1.0, passes: int = 1
) -> Task:
    """A task whose work is to read the share of a matrix that is needed, once or ``passes`` times."""
    x, y = random(1, (n,), dtype), random(2, (n,), dtype)
    wide = matrix.astype(np.float64)
    wanted, size = expected(wide, x.astype(np.float64), y.astype(np.float64))

    def error(result: Any) -> float:
        return largest(result, wanted, rounding(dtype) * size)

    return Task(
        name=name,
        dtype=dtype,
        n=n,
        size=f"{n} x {n}",
        library="blas",
        arrays={"a": matrix, "x": x, "y": y},
        call=call,
        error=error,
        work=share * passes * n * n * x.itemsize,
        unit="GB/s",
    )


def gemv(n: int, dtype: str, trans: int = 0) -> Task:
    """``y = A x`` or ``A^T x`` with A in columns."""

    def expected(a: Array, x: Array, y: Array) -> tuple[Array, Array]:
        op = a.T if trans else a
        return op @ x, magnitudes(op, x)

    return matrix_vector_task(
        "gemv-t" if trans else "gemv",
        n,
        dtype,
        matrix_of(n, dtype),
        lambda f, v: f(1.0, v["a"], v["x"], 0.0, v["y"], trans=trans, overwrite_y=1),
        expected,
    )


def gemv_transposed(n: int, dtype: str) -> Task:
    """``y = A^T x``."""
    return gemv(n, dtype, 1)


def ger(n: int, dtype: str) -> Task:
    """``A += x y^T``."""
    return matrix_vector_task(
        "ger",
        n,
        dtype,
        matrix_of(n, dtype),
        lambda f, v: f(0.5, v["x"], v["y"], a=v["a"], overwrite_a=1),
        lambda a, x, y: (a + 0.5 * np.outer(x, y), np.abs(a) + np.abs(np.outer(x, y))),
        passes=2,
    )


def symv(n: int, dtype: str) -> Task:
    """``y = A x`` of a symmetric matrix of which one triangle is read."""

    def expected(a: Array, x: Array, y: Array) -> tuple[Array, Array]:
        whole = np.tril(a) + np.tril(a, -1).T
        return whole @ x, magnitudes(whole, x)

    return matrix_vector_task(
        "symv",
        n,
        dtype,
        matrix_of(n, dtype),
        lambda f, v: f(1.0, v["a"], v["x"], 0.0, v["y"], lower=1, overwrite_y=1),
        expected,
        share=0.5,
    )


def trmv(n: int, dtype: str) -> Task:
    """``L x``."""
    return matrix_vector_task(
        "trmv",
        n,
        dtype,
        matrix_of(n, dtype, dominant=True),
        lambda f, v: f(v["a"], v["x"], lower=1),
        lambda a, x, y: (np.tril(a) @ x, magnitudes(np.tril(a), x)),
        share=0.5,
    )


def trsv(n: int, dtype: str) -> Task:
    """``L^-1 x``."""
    a = matrix_of(n, dtype, dominant=True)
    task = trmv(n, dtype)
    lower, x = np.tril(a).astype(np.float64), task.arrays["x"].astype(np.float64)

    def error(result: Any) -> float:
        found = np.asarray(result, np.float64)
        return largest(lower @ found, x, rounding(dtype) * (magnitudes(lower, found) + np.abs(x)))

    return replace(task, name="trsv", error=error)


def syr(n: int, dtype: str) -> Task:
    """The lower triangle of ``A += x x^T``."""
    return matrix_vector_task(
        "syr",
        n,
        dtype,
        matrix_of(n, dtype),
        lambda f, v: f(0.5, v["x"], a=v["a"], lower=1, overwrite_a=1),
        lambda a, x, y: _updated(a, 0.25 * _both(x, x), 0.25 * _both(np.abs(x), np.abs(x))),
        passes=2,
        share=0.5,
    )


def syr2(n: int, dtype: str) -> Task:
    """The lower triangle of ``A += x y^T + y x^T``."""
    return matrix_vector_task(
        "syr2",
        n,
        dtype,
        matrix_of(n, dtype),
        lambda f, v: f(0.5, v["x"], v["y"], a=v["a"], lower=1, overwrite_a=1),
        lambda a, x, y: _updated(a, 0.5 * _both(x, y), 0.5 * _both(np.abs(x), np.abs(y))),
        passes=2,
        share=0.5,
    )


def _both(x: Array, y: Array) -> Array:
    found: Array = np.outer(x, y) + np.outer(y, x)
    return found


def _updated(a: Array, change: Array, size: Array) -> tuple[Array, Array]:
    """A with a change of its lower triangle, and the terms' magnitudes."""
    return a + np.tril(change), np.abs(a) + size
