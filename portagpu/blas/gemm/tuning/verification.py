"""Verification of a product without computing it again in full (Freivalds).

Two checks against float64. Freivalds': ``c v = a (b v)`` for random sign vectors v sees any wrong tile at the cost of a
few matrix-vector products. And a sample of rows, element by element, sees what a sum over a row could hide.

The tolerance is probabilistic, for operands of random signs: errors that are independent add up like a random walk, so
they stay below lambda times the root of the sum of their squares, except with a probability that falls exponentially
with lambda^2. It has three parts, each with its own unit, see `Rounding`:

- steps of the sum: ``lambda sqrt(k) u |a| |b|``. Matrix units round sums towards zero; sums of random signs grow with
  sqrt(k), and each step takes less than a unit of them, so that k such steps in the same direction stay below it, too;
- operands that are rounded first: ``lambda u sqrt(2 a^2 b^2)``, and ``2 u |c|`` for what truncation takes of each term;
- results that are rounded once: ``u |c|``, or ``lambda u`` times the norm of a row of c for a sum over the row.

Sums of integers are exact. R. Freivalds, "Probabilistic machines can use less running time", IFIP Congress 1977.
N. Higham, T. Mary, "A new approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41(5), 2019.
How matrix units round: M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, PeerJ Comput. Sci. 7:e330, 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.problem import Problem

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
# smallest steps between numbers, below which rounding is absolute
_TINY = {"float16": 2.0**-24, "float64": 2.0**-1074, "complex128": 2.0**-1074}
# rounding of the operands by precision: 11 bits, truncated by some devices; pieces of 16 bits hold 22 or 24 bits
_OPERANDS = {"tf32": 2.0**-10, "f16x3": 2.0**-21, "bf16x6": 2.0**-21, "bf16x9": 2.0**-22}
_ROWS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """Relative errors of one rounding, by where it happens; 0 where nothing is rounded."""

    term: float = 0.0  # each step of a sum
    operand: float = 0.0  # of a and b before they are multiplied
    result: float = 0.0  # of a sum on its way into c
    tiny: float = 2.0**-126  # absolute error of c

    @property
    def once(self) -> float:
        """What does not grow with k, relative to ``|a| |b|``, at the most."""
        return self.result + 2 * self.operand


def rounding(problem: Problem) -> Rounding:
    """How a product is rounded. Complex products make four terms of one."""
    out, sums = problem.out_dtype, problem.accumulator
    return Rounding(
        term=_EPS.get(sums, 0.0) * (4.0 if problem.is_complex else 1.0),
        operand=_OPERANDS.get(problem.precision, 0.0),
        result=0.0 if out == sums else _EPS.get(out, 0.0),
        tiny=_TINY.get(out, 2.0**-126),
    )


class ProductCheck:
    """Prepared from the operands once, so that many results can be checked. a: (m, k), b: (k, n)."""

    def __init__(self, a: Matrix, b: Matrix, how: Rounding | None = None) -> None:
        """``how``: see `rounding`; by default sums and results are of the operands' dtype."""
        kind = np.complex128 if a.dtype.kind == "c" else np.float64
        self._how = how = rounding(Problem(m=1, n=1, k=1, dtype=a.dtype.name)) if how is None else how
        generator = np.random.default_rng(7)
        (m, k), n = a.shape, b.shape[1]
        self._rows = generator.choice(m, size=min(m, _ROWS), replace=False)
        self._signs = generator.choice([-1.0, 1.0], size=(n, _VECTORS))
        wide = b.astype(kind)
        self._sampled = a[self._rows].astype(kind) @ wide
        signed = wide @ self._signs
        size_b = np.abs(wide)
        del wide
        rows = np.abs(a[self._rows].astype(kind))
        # errors of n columns with random signs add up to sqrt(n) times their mean size
        columns = size_b.sum(axis=1, keepdims=True) / np.sqrt(n)
        unit = _LAMBDA * np.sqrt(k + 1.0) * how.term
        self._sampled_bound = unit * (rows @ size_b) + how.tiny
        squares = None
        if how.operand:
            size_b *= size_b
            squares = size_b.sum(axis=1, keepdims=True)
            self._sampled_bound += _LAMBDA * how.operand * np.sqrt(2 * (rows**2 @ size_b))
        del size_b
        wide_a = a.astype(kind)
        self._product = wide_a @ signed
        size_a = np.abs(wide_a)
        self._product_bound = unit * (size_a @ columns) + how.tiny * np.sqrt(n)
        if squares is not None:
            size_a *= size_a
            self._product_bound += _LAMBDA * how.operand * np.sqrt(2 * (size_a @ squares))

    def error(self, c: Matrix) -> float:
        """Largest error relative to the tolerance: at most 1 for a right result, infinite where it is not finite."""
        wide = c.astype(self._product.dtype)
        unit = 2 * self._how.operand + self._how.result
        with np.errstate(invalid="ignore", over="ignore"):
            bounds = self._product_bound, self._sampled_bound
            if unit:
                norms = np.sqrt(np.einsum("ij,ij->i", wide, wide.conj()).real)[:, None]
                bounds = bounds[0] + _LAMBDA * unit * norms, bounds[1] + unit * np.abs(self._sampled)
            first = np.max(np.abs(wide @ self._signs - self._product) / bounds[0])
            second = np.max(np.abs(wide[self._rows] - self._sampled) / bounds[1])
        worst = float(max(first, second))
        return worst if np.isfinite(first) and np.isfinite(second) else float("inf")
