"""References in NumPy for routines that SciPy does not have: definitions, in double precision, rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg.blas


def wide(x: Any) -> Any:
    """An array in double precision."""
    x = np.asarray(x)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def turned(a: Any, trans: int) -> Any:
    """op(a) of BLAS: 1 transposes, 2 transposes and conjugates, 3 conjugates."""
    a = a.swapaxes(-1, -2) if trans in (1, 2) else a
    return a.conj() if trans in (2, 3) else a


def triangle(a: Any, lower: int, *, unit: int = 0) -> Any:
    """The triangular matrix of which one triangle is stored."""
    n = a.shape[-1]
    inside = np.tri(n, n, 0, bool) if lower else np.tri(n, n, 0, bool).T
    full = np.where(inside, a, 0)
    return np.where(np.eye(n, dtype=bool), 1, full) if unit else full


def whole(a: Any, lower: int, *, hermitian: bool) -> Any:
    """The symmetric or Hermitian matrix of which one triangle is stored."""
    one = triangle(a, lower)
    other = one.swapaxes(-1, -2)
    n = a.shape[-1]
    if hermitian:
        other = other.conj()
        one = np.where(np.eye(n, dtype=bool), one.real, one)
    return np.where(np.eye(n, dtype=bool), one, one + other)


def _add(value: Any, beta: Any, c: Any) -> Any:
    return value if c is None or beta == 0 else value + beta * wide(c)


def _one_triangle(value: Any, lower: int, c: Any) -> Any:
    n = value.shape[-1]
    inside = np.tri(n, n, 0, bool) if lower else np.tri(n, n, 0, bool).T
    return np.where(inside, value, 0 if c is None else c)


def gemmt(alpha: Any, a: Any, b: Any, beta: Any = 0.0, c: Any = None, **words: int) -> Any:
    """One triangle of a product."""
    product = alpha * turned(wide(a), words.get("trans_a", 0)) @ turned(wide(b), words.get("trans_b", 0))
    return _one_triangle(_add(product, beta, c), words.get("lower", 0), c).astype(a.dtype)


def omatcopy(alpha: Any, a: Any, trans: int = 0) -> Any:
    """A scaled copy, transposed or conjugated."""
    return (alpha * turned(wide(a), trans)).astype(a.dtype)


def geam(alpha: Any, a: Any, beta: Any, b: Any, trans_a: int = 0, trans_b: int = 0) -> Any:
    """The sum of two scaled matrices."""
    return (alpha * turned(wide(a), trans_a) + beta * turned(wide(b), trans_b)).astype(a.dtype)


def dgmm(a: Any, x: Any, side: int = 0) -> Any:
    """A diagonal matrix times a matrix."""
    return (wide(a) * wide(x) if side else wide(x)[:, None] * wide(a)).astype(a.dtype)


def elements(n: int, increment: int, offset: int) -> slice:
    """Elements of a vector in memory; in its own order from the last to the first for a negative increment."""
    step = abs(increment)
    stop = offset + n * step
    if increment > 0 or n == 0:
        return slice(offset, stop, step)
    last = offset - step
    return slice(stop - step, last if last >= 0 else None, -step)


def spr(name: str) -> Callable[..., Any]:
    """SciPy's function with elements in the other order for a negative increment: it checks all arguments.

    OpenBLAS 0.3.30 reads elements before a complex vector whose increment is negative.
    """
    theirs = getattr(scipy.linalg.blas, name)

    def call(n: int, alpha: Any, x: Any, ap: Any, incx: int = 1, offx: int = 0, **words: int) -> Any:
        if incx < 0 <= offx < x.size:
            reverse = x.copy()
            reverse[elements(n, -incx, offx)] = x[elements(n, incx, offx)]
            x = reverse
        return theirs(n, alpha, x, ap, incx=abs(incx), offx=offx, **words)

    return call


def beyond_scipy() -> dict[str, Any]:
    """Routines of `portagpu.blas` that `scipy.linalg.blas` does not have, or has wrong, by name."""
    own = {t + f.__name__: f for t in "sdcz" for f in (gemmt, omatcopy, geam, dgmm)}
    return own | {name: spr(name) for name in ("cspr", "zspr")}


def _stored(value: Any, dtype: Any, out: Any) -> Any:
    value = np.asarray(value).astype(dtype)
    if out is None:
        return value
    out[...] = value
    return out


class Linalg:
    """Functions of `portagpu.linalg`."""

    @staticmethod
    def matmul(a: Any, b: Any, out: Any = None, *, alpha: Any = 1, beta: Any = 0) -> Any:
        dtype = np.result_type(a, b)
        return _stored(_add(alpha * (wide(a) @ wide(b)), beta, out), dtype, out)

    @staticmethod
    def matvec(a: Any, x: Any, *, alpha: Any = 1, beta: Any = 0, out: Any = None) -> Any:
        return _stored(_add(alpha * (wide(a) @ wide(x)[..., None])[..., 0], beta, out), np.result_type(a, x), out)

    @staticmethod
    def vecmat(x: Any, a: Any, *, alpha: Any = 1, beta: Any = 0, out: Any = None) -> Any:
        value = (wide(x).conj()[..., None, :] @ wide(a))[..., 0, :]
        return _stored(_add(alpha * value, beta, out), np.result_type(a, x), out)

    @staticmethod
    def syrk(
        a: Any, *, lower: bool = False, hermitian: bool = False, alpha: Any = 1, beta: Any = 0, out: Any = None
    ) -> Any:
        value = alpha * wide(a) @ turned(wide(a), 2 if hermitian else 1)
        return _stored(_one_triangle(_add(value, beta, out), lower, out), a.dtype, out)

    @staticmethod
    def gemmt(a: Any, b: Any, *, lower: bool = False, alpha: Any = 1, beta: Any = 0, out: Any = None) -> Any:
        return _stored(_one_triangle(_add(alpha * wide(a) @ wide(b), beta, out), lower, out), a.dtype, out)

    @staticmethod
    def symm(
        a: Any, b: Any, *, lower: bool = False, left: bool = True, hermitian: bool = False, alpha: Any = 1,
        beta: Any = 0, out: Any = None,
    ) -> Any:  # fmt: skip
        full = whole(wide(a), lower, hermitian=hermitian)
        value = full @ wide(b) if left else wide(b) @ full
        return _stored(_add(alpha * value, beta, out), a.dtype, out)

    @staticmethod
    def trmm(
        a: Any, b: Any, *, lower: bool = False, left: bool = True, unit_diagonal: bool = False,
        conjugate: bool = False, alpha: Any = 1, out: Any = None,
    ) -> Any:  # fmt: skip
        full = triangle(wide(a), lower, unit=unit_diagonal)
        full = full.conj() if conjugate else full
        return _stored(alpha * (full @ wide(b) if left else wide(b) @ full), a.dtype, out)

    @staticmethod
    def transpose(a: Any, *, alpha: Any = 1, conjugate: bool = False, out: Any = None) -> Any:
        return _stored(alpha * turned(wide(a), 2 if conjugate else 1), a.dtype, out)

    @staticmethod
    def geam(a: Any, b: Any, *, alpha: Any = 1, beta: Any = 1, out: Any = None) -> Any:
        return _stored(alpha * wide(a) + beta * wide(b), a.dtype, out)

    @staticmethod
    def dgmm(a: Any, x: Any, *, left: bool = True, out: Any = None) -> Any:
        return _stored(wide(x)[..., :, None] * wide(a) if left else wide(a) * wide(x)[..., None, :], a.dtype, out)

    @staticmethod
    def axpy(alpha: Any, x: Any, y: Any, *, out: Any = None) -> Any:
        return _stored(alpha * wide(x) + wide(y), x.dtype, out)

    @staticmethod
    def scal(alpha: Any, x: Any, *, out: Any = None) -> Any:
        return _stored(alpha * wide(x), x.dtype, out)

    @staticmethod
    def vecdot(x: Any, y: Any, *, axis: int = -1) -> Any:
        return np.asarray(np.sum(wide(x).conj() * wide(y), axis=axis)).astype(x.dtype)

    @staticmethod
    def gemm_batched(a: Any, b: Any, *, alpha: Any = 1, beta: Any = 0) -> Any:
        return [Linalg.matmul(x, y, alpha=alpha) for x, y in zip(a, b, strict=True)]

    @staticmethod
    def syrk_batched(a: Any, *, lower: bool = False, alpha: Any = 1) -> Any:
        return [Linalg.syrk(x, lower=lower, alpha=alpha) for x in a]

    @staticmethod
    def solve(a: Any, b: Any, *, assume_a: str = "general", lower: bool = False, out: Any = None) -> Any:
        full = whole(wide(a), lower, hermitian=True) if assume_a != "general" else wide(a)
        return _stored(np.linalg.solve(full, wide(b)), a.dtype, out)

    @staticmethod
    def solve_triangular(
        a: Any, b: Any, *, left: bool = True, lower: bool = False, trans: int = 0, unit_diagonal: bool = False,
        alpha: Any = 1, out: Any = None,
    ) -> Any:  # fmt: skip
        full = turned(triangle(wide(a), lower, unit=unit_diagonal), trans)
        if left:
            return _stored(alpha * np.linalg.solve(full, wide(b)), a.dtype, out)
        value = np.linalg.solve(full.swapaxes(-1, -2), wide(b).swapaxes(-1, -2)).swapaxes(-1, -2)
        return _stored(alpha * value, a.dtype, out)

    @staticmethod
    def cholesky(a: Any, *, lower: bool = True, out: Any = None) -> Any:
        factor = np.linalg.cholesky(whole(wide(a), lower, hermitian=True))
        return _stored(factor if lower else turned(factor, 2), a.dtype, out)

    @staticmethod
    def inv(a: Any, *, out: Any = None) -> Any:
        return _stored(np.linalg.inv(wide(a)), a.dtype, out)

    @staticmethod
    def det(a: Any) -> Any:
        return np.asarray(np.linalg.det(wide(a))).astype(a.dtype)

    @staticmethod
    def lstsq(a: Any, b: Any) -> Any:
        return (np.linalg.pinv(wide(a)) @ wide(b)).astype(a.dtype)
