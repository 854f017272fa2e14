"""Systems of equations of the solvers: a solution is right if its residual is as small as a stable method leaves it."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from fuzz_blas_reference import elements, triangle, turned, whole, wide

LIMIT = 8  # backward error in units of eps * n


@dataclass(frozen=True)
class System:
    """``matrix @ X = right``, or ``X @ matrix = right``."""

    matrix: Any
    right: Any  # a vector, or a matrix with a column for each solution
    result: int = 0  # index of the solution among the results of the call
    inner: Any = ...  # elements of a vector that are the solution
    left: bool = True

    def residual_differs(self, result: Any) -> str:
        """A text about the first column with a larger backward error, or an empty text.

        The limit is ``LIMIT * eps * n * (||A|| ||x|| + ||b||)``, with norms of the largest sum of a row.
        """
        matrix, right, x = self.matrix, self.right, wide(result)
        if right.ndim == 1:
            right, x = right[:, None], x[self.inner][:, None]
        elif not self.left:
            matrix, right, x = (y.swapaxes(-1, -2) for y in (matrix, right, x))
        if x.size == 0:
            return ""
        with np.errstate(all="ignore"):
            residual = np.abs(right - matrix @ x).max(axis=-2)
            norm = np.abs(matrix).sum(axis=-1).max(axis=-1)[..., None]
            scale = norm * np.abs(x).max(axis=-2) + np.abs(right).max(axis=-2)
            limit = LIMIT * np.finfo(result.dtype).eps * matrix.shape[-1] * scale
        if np.all(residual <= limit):
            return ""
        at = tuple(int(n[0]) for n in np.nonzero(~(residual <= limit)))
        return f"the residual of column {at} is {residual[at]:.3g}, the limit {limit[at]:.3g}"


def _trsv(
    a: Any, x: Any, incx: int = 1, offx: int = 0, lower: int = 0, trans: int = 0, diag: int = 0, overwrite_x: int = 0
) -> System:
    inner = elements(a.shape[0], incx, offx)
    return System(turned(triangle(wide(a), lower, unit=diag), trans), wide(x)[inner], inner=inner)


def _tpsv(n: int, ap: Any, x: Any, *, lower: int = 0, **words: int) -> System:
    full, first = np.zeros((n, n), ap.dtype), 0
    for j in range(n):
        rows = slice(j, n) if lower else slice(0, j + 1)
        count = n - j if lower else j + 1
        full[rows, j] = ap[first : first + count]
        first += count
    return _trsv(full, x, lower=lower, **words)


def _tbsv(k: int, a: Any, x: Any, *, lower: int = 0, **words: int) -> System:
    n = a.shape[1]
    full = np.zeros((n, n), a.dtype)
    for d in range(min(k + 1, n)):
        full += np.diag(a[d, : n - d], -d) if lower else np.diag(a[k - d, d:], d)
    return _trsv(full, x, lower=lower, **words)


def _trsm(
    alpha: Any, a: Any, b: Any, side: int = 0, lower: int = 0, trans_a: int = 0, diag: int = 0, overwrite_b: int = 0
) -> System:
    return System(turned(triangle(wide(a), lower, unit=diag), trans_a), alpha * wide(b), left=not side)


def _gesv(a: Any, b: Any, **words: int) -> System:
    return System(wide(a), wide(b), result=2)


def _posv(a: Any, b: Any, lower: int = 0, **words: int) -> System:
    return System(whole(wide(a), lower, hermitian=True), wide(b), result=1)


def _trtrs(a: Any, b: Any, lower: int = 0, trans: int = 0, unitdiag: int = 0, overwrite_b: int = 0) -> System:
    return System(turned(triangle(wide(a), lower, unit=unitdiag), trans), wide(b))


def _solve(a: Any, b: Any, *, assume_a: str = "general", lower: bool = False) -> System:
    return System(whole(wide(a), lower, hermitian=True) if assume_a != "general" else wide(a), wide(b))


def _solve_triangular(
    a: Any, b: Any, *, left: bool = True, lower: bool = False, trans: int = 0, alpha: Any = 1
) -> System:
    return System(turned(triangle(wide(a), lower), trans), alpha * wide(b), left=left)


def _of_each_type(**solvers: Any) -> SimpleNamespace:
    return SimpleNamespace(**{t + name: solver for t in "sdcz" for name, solver in solvers.items()})


SYSTEMS = {
    "blas": _of_each_type(trsv=_trsv, tpsv=_tpsv, tbsv=_tbsv, trsm=_trsm),
    "lapack": _of_each_type(gesv=_gesv, posv=_posv, trtrs=_trtrs),
    "linalg": SimpleNamespace(solve=_solve, solve_triangular=_solve_triangular),
}
"""Functions with the solvers' names and arguments that give the system that a call solves, by module."""
