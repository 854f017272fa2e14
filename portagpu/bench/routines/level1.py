"""Level 1: vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from portagpu.bench.routines.task import Task, largest, random, rounding


def _vector_task(name: str, n: int, dtype: str, passes: int, call: Any, expected: Any) -> Task:
    x, y = random(1, (n,), dtype), random(2, (n,), dtype)
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    wanted, size = expected(wide_x, wide_y)

    def error(result: Any) -> float:
        return largest(result, wanted, rounding(dtype) * size + np.finfo(dtype).tiny)

    return Task(
        name=name,
        dtype=dtype,
        n=n,
        size=str(n),
        library="blas",
        arrays={"x": x, "y": y},
        call=call,
        error=error,
        work=passes * n * x.itemsize,
        unit="GB/s",
    )


def axpy(n: int, dtype: str) -> Task:
    """``y += a x``."""
    return _vector_task(
        "axpy",
        n,
        dtype,
        3,
        lambda f, v: f(v["x"], v["y"], a=-0.5),
        lambda x, y: (y - 0.5 * x, np.abs(y) + np.abs(x)),
    )


def scal(n: int, dtype: str) -> Task:
    """``x *= -1``, which can be repeated."""
    return _vector_task("scal", n, dtype, 2, lambda f, v: f(-1.0, v["x"]), lambda x, y: (-x, np.abs(x)))


def copy(n: int, dtype: str) -> Task:
    """``y = x``."""
    return _vector_task("copy", n, dtype, 2, lambda f, v: f(v["x"], v["y"]), lambda x, y: (x, np.abs(x)))


def dot(n: int, dtype: str) -> Task:
    """``x . y``."""
    return _vector_task(
        "dot", n, dtype, 2, lambda f, v: f(v["x"], v["y"]), lambda x, y: (x @ y, np.sqrt(n) * np.abs(x * y).mean() * 64)
    )


def nrm2(n: int, dtype: str) -> Task:
    """The norm of x."""
    return _vector_task(
        "nrm2", n, dtype, 1, lambda f, v: f(v["x"]), lambda x, y: (np.linalg.norm(x), np.linalg.norm(x))
    )


def asum(n: int, dtype: str) -> Task:
    """The sum of magnitudes."""
    return _vector_task("asum", n, dtype, 1, lambda f, v: f(v["x"]), lambda x, y: (np.abs(x).sum(), np.abs(x).sum()))


def amax(n: int, dtype: str) -> Task:
    """The index of the largest magnitude."""
    return _vector_task("amax", n, dtype, 1, lambda f, v: f(v["x"]), lambda x, y: (np.argmax(np.abs(x)), 1e-3))


def swap(n: int, dtype: str) -> Task:
    """x and y change places."""
    task = _vector_task("swap", n, dtype, 4, lambda f, v: f(v["x"], v["y"]), lambda x, y: (x, np.abs(x)))
    x, y = task.arrays["x"].copy(), task.arrays["y"].copy()

    def error(result: Any) -> float:
        """0 or infinite: nothing is rounded."""
        return 0.0 if np.array_equal(result[0], y) and np.array_equal(result[1], x) else float("inf")

    return replace(task, error=error)
