"""Checks a product without computing it again in full.

Two checks against float64. Freivalds': ``c v = a (b v)`` for random sign vectors v sees any wrong tile at the cost of a
few matrix-vector products. And a sample of rows, element by element, sees what a sum over a row could hide.

The tolerance is probabilistic: rounding errors of a k-term sum add up like a random walk, so they stay below
``lambda sqrt(k) u |a| |b|`` except with a probability that falls exponentially with lambda^2.

R. Freivalds, "Probabilistic machines can use less running time", IFIP Congress 1977. N. Higham, T. Mary, "A new
approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41(5), 2019.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.problem import Problem

Matrix = np.ndarray[Any, Any]
_LAMBDA = 8.0
_VECTORS = 8
_EPS = {
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float32": 2.0**-23,
    "float64": 2.0**-52,
    "complex64": 2.0**-23,
    "complex128": 2.0**-52,
}
# rounding of the operands by precision; pieces of 16 bits hold 22 or 24 bits
_OPERANDS = {"tf32": 2.0**-10, "f16x3": 2.0**-21, "bf16x6": 2.0**-21, "bf16x9": 2.0**-22}
_ROWS = 32


def rounding(problem: Problem) -> tuple[float, float]:
    """Relative rounding errors of a product: of each step of a sum, and of operands and results, once.

    Zero for integers, whose sums are exact. Complex products make four terms of one.
    """
    if problem.accumulator.startswith("int"):
        return 0.0, 0.0
    per_term = _EPS[problem.accumulator] * (4.0 if problem.is_complex else 1.0)
    result = 0.0 if problem.out_dtype == problem.accumulator else _EPS[problem.out_dtype]
    return per_term, result + 2 * _OPERANDS.get(problem.precision, 0.0)


class ProductCheck:
    """Prepared from the operands once, so that many results can be checked. a: (m, k), b: (k, n)."""

    def __init__(self, a: Matrix, b: Matrix, relative: tuple[float, float] | None = None) -> None:
        """``relative``: rounding of each term and of a sum, see `rounding`; by default that of the operands' dtype."""
        kind = np.complex128 if a.dtype.kind == "c" else np.float64
        per_term, once = (float(np.finfo(a.dtype).eps), 0.0) if relative is None else relative
        generator = np.random.default_rng(7)
        (m, k), n = a.shape, b.shape[1]
        wide_b = b.astype(kind)
        self._signs = generator.choice([-1.0, 1.0], size=(n, _VECTORS))
        self._rows = generator.choice(m, size=min(m, _ROWS), replace=False)
        self._product = a.astype(kind) @ (wide_b @ self._signs)
        self._sampled = a[self._rows].astype(kind) @ wide_b
        unit = _LAMBDA * np.sqrt(k + 1.0) * per_term + once
        tiny = float(np.finfo(np.float32 if a.dtype.itemsize <= 4 else np.float64).tiny)
        size_b = np.abs(wide_b)
        # independent errors of n columns with random signs add up to sqrt(n) times their mean size
        columns = np.abs(a.astype(kind)) @ size_b.sum(axis=1, keepdims=True)
        self._product_bound = unit * columns / np.sqrt(n) + tiny
        self._sampled_bound = unit * (np.abs(a[self._rows].astype(kind)) @ size_b) + tiny

    def error(self, c: Matrix) -> float:
        """Largest error relative to the tolerance: at most 1 for a right result, infinite where it is not finite."""
        wide = c.astype(self._product.dtype)
        with np.errstate(invalid="ignore"):
            first = np.max(np.abs(wide @ self._signs - self._product) / self._product_bound)
            second = np.max(np.abs(wide[self._rows] - self._sampled) / self._sampled_bound)
        worst = float(max(first, second))
        return worst if np.isfinite(first) and np.isfinite(second) else float("inf")
