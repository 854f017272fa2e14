"""Factors of matrices that systems of linear equations are solved with, once or again and again."""

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu.blas.arguments import operand_of
from portagpu.blas.factorisations import cholesky as cholesky_factors
from portagpu.blas.factorisations import lu as lu_factors
from portagpu.blas.factorisations.batches import stacked
from portagpu.blas.factorisations.triangles import clear_beyond
from portagpu.blas.host_arrays import are_on_device
from portagpu.blas.replay.calls import repeats
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.linalg.checking import checked
from portagpu.linalg.matrices import INT32, Array, arrays_of, check_matrix, copy_into, new
from portagpu.linalg.results import Report, Result, run, takes_results
from portagpu.linalg.right_sides import RightSides, not_definite, readable, singular, transposition
from portagpu.runtime.execution.stream import Stream


class LuFactors(NamedTuple):
    """``a = P L U``: `lu` has L below the diagonal of ones, and U; `pivots` are the rows with which rows 0, 1, ... were
    exchanged, one after the other, counted from 0."""

    lu: Array
    pivots: Array


@takes_results
@checked(not_definite)
@repeats
def cholesky(
    a: Array,
    *,
    lower: bool = True,
    out: Array | None = None,
    info: Array | None = None,
    stream: Stream | None = None,
) -> Array:
    """The Cholesky factors of Hermitian positive definite matrices: L with ``a = L @ L^H``, or U with ``a = U^H @ U``.

    a: (..., n, n), of which only the triangle that ``lower`` names is read; the other one of the result is zero.
    ``out``, which may be a itself, ``info`` and ``stream`` are as in `solve`.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `NotPositiveDefiniteError`, `OutOfMemoryError`.
    """
    (a,), dtype = arrays_of("cholesky", a=a)
    check_matrix(a, "a", "cholesky", square=True)
    result = Result("cholesky", out, a, a.shape, dtype)
    copy_into(a, result.array, stream)
    report = Report(info, a, a.shape[:-2], "cholesky")

    def enqueue(a: Any, info: Any, stream: Stream) -> None:
        cholesky_factors.potrf(a, info, stream, lower=lower)
        clear_beyond(a, stream, lower=lower)

    run(enqueue, stream, report, updates={"a": stacked(result.array)})
    report.finish(not_definite, stream)
    return result.delivered(stream)


@takes_results
@repeats
def lu_factor(
    a: Array, *, out: Array | None = None, info: Array | None = None, stream: Stream | None = None
) -> LuFactors:
    """LU factors with partial pivoting, for `lu_solve`: ``a = P @ L @ U``.

    a: (..., m, n). Returns `LuFactors`: lu (..., m, n), and pivots (..., min(m, n)), int32. ``out``, for lu, may be a
    itself. Factors of singular matrices are complete, and no error: ``info`` tells of pivots that are 0, as in `solve`.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    (a,), dtype = arrays_of("lu_factor", a=a)
    check_matrix(a, "a", "lu_factor")
    result = Result("lu_factor", out, a, a.shape, dtype)
    copy_into(a, result.array, stream)
    work = stacked(result.array)
    batch, least = a.shape[:-2], min(a.shape[-2:])
    pivots = new(a, (*batch, least), INT32)
    report = Report(new(a, batch, INT32) if info is None else info, a, batch, "lu_factor")
    flat = pivots if not batch else pivots.reshape((work.shape[0], least))
    run(lu_factors.getrf, stream, report, updates={"a": work}, results={"pivots": flat})
    report.finish(singular, stream)
    return LuFactors(result.delivered(stream), pivots)


@takes_results
@repeats
def lu_solve(
    factors: LuFactors | tuple[Array, Array],
    b: Array,
    *,
    trans: int | str = 0,
    out: Array | None = None,
    stream: Stream | None = None,
) -> Array:
    """``inv(op(a)) @ b`` with the factors of a.

    factors: of `lu_factor` for square matrices. b, ``out`` and ``stream`` are as in `solve`. ``trans``: op leaves a as
    it is (0 or "N"), transposes (1, "T"), or transposes and conjugates (2, "C"). Pivots that are 0 give infinities or
    NaN.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """
    op = transposition("lu_solve", trans)
    try:
        lu, pivots = factors
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"lu_solve: factors is a {type(factors).__name__}, not lu and pivots", hint="pass what lu_factor returned"
        ) from None
    (lu, b), dtype = arrays_of("lu_solve", lu=lu, b=b)
    check_matrix(lu, "lu", "lu_solve", square=True)
    pivots = _pivots(pivots, lu)
    sides = RightSides("lu_solve", lu, b, dtype, out, stream)
    n = lu.shape[-1]
    held = stacked(readable(lu, (*sides.a_batch, n, n), dtype, stream))
    rows = readable(pivots, (*sides.a_batch, n), INT32, stream)
    rows = rows.reshape((held.shape[0], n)) if rows.ndim > 1 else rows

    def enqueue(lu: Any, pivots: Any, b: Any, stream: Stream) -> None:
        lu_factors.getrs(lu, pivots, b, stream, transpose=op > 0, conjugate=op == 2)

    run(enqueue, stream, reads={"lu": held, "pivots": rows}, updates={"b": sides.array})
    return sides.result()


def _pivots(given: Any, lu: Array) -> Array:
    """Pivots of `lu_factor`, int32, where its factors are: NumPy's may have another dtype, and are checked.

    Raises `ShapeError`, `ArgumentTypeError`.
    """
    pivots, n = operand_of(given, "pivots"), lu.shape[-1]
    is_there = are_on_device({"lu": lu, "pivots": pivots}, "lu_solve")
    if pivots.shape != lu.shape[:-1] or (pivots.dtype != INT32 if is_there else pivots.dtype.kind not in "iu"):
        raise ShapeError(
            f"lu_solve: pivots of shape {pivots.shape} and {pivots.dtype} for lu of {lu.shape}",
            hint="pass what lu_factor returned",
        )
    if is_there:
        return pivots
    if pivots.size and (pivots.min() < 0 or pivots.max() >= n):
        raise ShapeError(
            f"lu_solve: pivots are rows from {pivots.min()} to {pivots.max()}, the matrix has {n}",
            hint="pass what lu_factor returned: pivots count rows from 0",
        )
    return pivots.astype(INT32)  # a copy, which calls that are recorded cannot have: each call is checked
