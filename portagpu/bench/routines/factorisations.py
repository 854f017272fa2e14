"""Factorisations of one matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from portagpu.bench.routines.level3 import matrices_task
from portagpu.bench.routines.task import VECTORS, Task, largest, random, rounding


def potrf(n: int, dtype: str) -> Task:
    """``A = L L^T``."""
    a = random(3, (n, n), dtype)
    a = np.asfortranarray((a + a.T) / (4 * n**0.5))  # a Python float, which keeps float32
    a[np.arange(n), np.arange(n)] += 3.0
    wide = a.astype(np.float64)

    def error(result: Any) -> float:
        lower = np.tril(np.asarray(result[0])).astype(np.float64)
        signs = np.random.default_rng(9).choice([-1.0, 1.0], (n, VECTORS))
        return largest(lower @ (lower.T @ signs), wide @ signs, rounding(dtype) * 4 * np.sqrt(n))

    made = matrices_task("potrf", n, dtype, n**3 / 3, {"a": a}, lambda f, v: f(v["a"], lower=1, clean=0), error)
    return replace(made, library="lapack")


def getrf(n: int, dtype: str) -> Task:
    """``P A = L U``."""
    a = random(3, (n, n), dtype)
    wide = a.astype(np.float64)

    def error(result: Any) -> float:
        lu, pivots = np.asarray(result[0]).astype(np.float64), np.asarray(result[1])
        signs = np.random.default_rng(9).choice([-1.0, 1.0], (n, VECTORS))
        found = np.triu(lu) @ signs
        found = np.tril(lu, -1) @ found + found
        rows = np.arange(n)
        for i, other in enumerate(pivots):
            rows[i], rows[other] = rows[other], rows[i]
        growth = float(np.max(np.abs(np.triu(lu)))) * np.sqrt(n)
        return largest(found, wide[rows] @ signs, rounding(dtype) * growth * np.sqrt(n))

    made = matrices_task("getrf", n, dtype, 2 * n**3 / 3, {"a": a}, lambda f, v: f(v["a"]), error)
    return replace(made, library="lapack")
