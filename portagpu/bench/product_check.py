"""The check of products' results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.tuning.verification import ProductCheck, rounding

Matrix = np.ndarray[Any, Any]


def checker(problem: Problem, a: Matrix, b: Matrix) -> Callable[[Matrix], float]:
    """The check of results: the largest error, relative to the tolerance, over all matrices of a batch."""
    how = rounding(problem)
    if problem.batch == 1:
        return ProductCheck(a, b, how).error
    checks = [ProductCheck(left, right, how) for left, right in zip(a, b, strict=True)]

    def error(c: Matrix) -> float:
        found = [check.error(one) for check, one in zip(checks, c, strict=True)]
        return math.inf if any(math.isnan(one) for one in found) else max(found)

    return error


__all__ = ["checker"]
