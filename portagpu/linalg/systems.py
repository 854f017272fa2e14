"""Systems of linear equations, inverses and determinants."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.arguments import check_scalar
from portagpu.blas.factorisations import cholesky as cholesky_factors
from portagpu.blas.factorisations import lu as lu_factors
from portagpu.blas.factorisations import refinement
from portagpu.blas.factorisations.batches import stacked
from portagpu.blas.factorisations.triangles import first_zero
from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.fill import clear
from portagpu.blas.level3 import triangular_solve
from portagpu.blas.level3.triangles import identity
from portagpu.blas.replay.calls import repeats
from portagpu.errors import UnknownOptionError, did_you_mean
from portagpu.linalg.checking import checked
from portagpu.linalg.matrices import INT32, Array, arrays_of, check_matrix, copy_of, new
from portagpu.linalg.results import Report, Result, run, takes_results
from portagpu.linalg.right_sides import RightSides, not_definite, readable, singular, transposition
from portagpu.runtime.execution.stream import Stream

_ASSUMED = {
    "general": "general",
    "gen": "general",
    "positive definite": "positive definite",
    "pos": "positive definite",
}


@takes_results
@checked(singular, shares_matrix=True, definite=not_definite)
@repeats
def solve(
    a: Array,
    b: Array,
    *,
    assume_a: str = "general",
    lower: bool = False,
    precision: str | None = None,
    out: Array | None = None,
    info: Array | None = None,
    stream: Stream | None = None,
) -> Array:
    """``inv(a) @ b``, by LU factors with partial pivoting, or by Cholesky factors.

    a: (..., n, n); b: (n), or (..., n, m), whose leading axes broadcast with those of a; one kind of arrays, NumPy's or
    on the device. ``assume_a``: "general", or "positive definite", where only the triangle that ``lower`` names is
    read. ``out``: where to put the result, of its shape and dtype.

    ``info``: an int32 array of the batch's shape, where the matrices are: of each matrix it becomes 0, or the number,
    counted from 1, of the first pivot that is 0, or of the first leading minor that is not positive definite; solutions
    of these are anything. Without it such a matrix is an error, for which work on device arrays is waited for; see
    `checks`.

    ``precision``: "float32" leaves float64 and complex128 matrices to be factored in float32 or complex64. Solutions
    are refined until residuals are as small as those of factors in the operands' dtype, or, where they do not become so
    in 30 steps, found by such factors. It pays for large, well-conditioned matrices where the device is much faster in
    float32, and waits for the device after each step.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `SingularMatrixError`,
    `NotPositiveDefiniteError`, `OutOfMemoryError`.
    """
    if assume_a not in tuple(_ASSUMED):  # lists have no hash
        near = did_you_mean(str(assume_a), _ASSUMED)
        raise UnknownOptionError(f"solve: assume_a is {assume_a!r}", hint=f"{near}general or positive definite")
    (a, b), dtype = arrays_of("solve", a=a, b=b)
    if precision is not None and (
        precision != "float32" or dtype.name not in refinement.LOWER or _ASSUMED[assume_a] != "general"
    ):
        raise UnknownOptionError(
            f"solve: precision is {precision!r}, for {assume_a} matrices of {dtype}",
            hint="'float32', for general matrices of float64 or complex128; None is the operands' own",
        )
    check_matrix(a, "a", "solve", square=True)
    sides = RightSides("solve", a, b, dtype, out, stream)
    n = a.shape[-1]
    work = stacked(copy_of(a, (*sides.a_batch, n, n), dtype, stream))
    report = Report(info, a, sides.a_batch, "solve")
    if _ASSUMED[assume_a] == "general":
        pivots = new(a, (*work.shape[:-2], n), INT32)

        def by_lu(a: Any, b: Any, pivots: Any, info: Any, stream: Stream) -> None:
            lu_factors.getrf(a, pivots, info, stream)
            lu_factors.getrs(a, pivots, b, stream)

        def by_refinement(a: Any, b: Any, pivots: Any, info: Any, stream: Stream) -> None:
            def factor(low: Any) -> Any:
                lu_factors.getrf(low, pivots, info, stream)
                return lambda low, sides: lu_factors.getrs(low, pivots, sides, stream)

            if b.size == 0 or not refinement.refine(a, b, info, stream, factor):
                by_lu(a, b, pivots, info, stream)

        run(
            by_lu if precision is None else by_refinement,
            stream,
            report,
            updates={"a": work, "b": sides.array},
            results={"pivots": pivots},
        )
        report.finish(singular, stream)
    else:

        def by_cholesky(a: Any, b: Any, info: Any, stream: Stream) -> None:
            cholesky_factors.potrf(a, info, stream, lower=lower)
            cholesky_factors.potrs(a, b, stream, lower=lower)

        run(by_cholesky, stream, report, updates={"a": work, "b": sides.array})
        report.finish(not_definite, stream)
    return sides.result()


@takes_results
@checked(singular, shares_matrix=True)
@repeats
def solve_triangular(
    a: Array,
    b: Array,
    *,
    left: bool = True,
    lower: bool = False,
    trans: int | str = 0,
    unit_diagonal: bool = False,
    alpha: complex = 1,
    out: Array | None = None,
    info: Array | None = None,
    stream: Stream | None = None,
) -> Array:
    """``inv(op(a)) @ (alpha * b)`` for triangular matrices, of which only the triangle that ``lower`` names is read.

    Unless ``left``, a stands on the right: ``alpha * b @ inv(op(a))``, for b (..., m, n). ``unit_diagonal``: the
    diagonal is ones, and not read. ``trans`` is as in `lu_solve`, all else as in `solve`: ``info`` tells the first zero
    on the diagonal.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `SingularMatrixError`,
    `OutOfMemoryError`.
    """
    op = transposition("solve_triangular", trans)
    (a, b), dtype = arrays_of("solve_triangular", a=a, b=b)
    check_matrix(a, "a", "solve_triangular", square=True)
    factor = check_scalar(alpha, "alpha", dtype, dtype)
    sides = RightSides("solve_triangular", a, b, dtype, out, stream, left=left)
    n = a.shape[-1]
    held = stacked(readable(a, (*sides.a_batch, n, n), dtype, stream))
    report = Report(info, a, sides.a_batch, "solve_triangular")

    def with_report(a: Any, b: Any, info: Any, stream: Stream) -> None:
        if unit_diagonal:
            clear(info, stream)
        else:
            first_zero(a, info, stream)
        enqueue(a, b, stream)

    def enqueue(a: Any, b: Any, stream: Stream) -> None:
        is_turned = left == (op > 0)  # x op(a) = b is op(a)^T x^T = b^T
        triangular_solve.solve_triangular(
            swapped(a) if is_turned else a,
            b if left else swapped(b),
            stream,
            lower=lower != is_turned,
            unit_diagonal=unit_diagonal,
            conjugate=op == 2,
            alpha=factor,
        )

    arrays: dict[str, Any] = {"reads": {"a": held}, "updates": {"b": sides.array}}
    if report.is_wanted:
        run(with_report, stream, report, **arrays)
    else:
        run(enqueue, stream, **arrays)
    report.finish(singular, stream)
    return sides.result()


@takes_results
@checked(singular)
@repeats
def inv(a: Array, *, out: Array | None = None, info: Array | None = None, stream: Stream | None = None) -> Array:
    """The inverses of matrices (..., n, n).

    ``out``, ``info`` and ``stream`` are as in `solve`, which is faster, and more accurate, than a product with the
    inverse. Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `SingularMatrixError`, `OutOfMemoryError`.
    """
    (a,), dtype = arrays_of("inv", a=a)
    check_matrix(a, "a", "inv", square=True)
    result = Result("inv", out, a, a.shape, dtype)
    work = stacked(copy_of(a, a.shape, dtype, stream))
    pivots = new(a, work.shape[:-1], INT32)
    report = Report(info, a, a.shape[:-2], "inv")

    def enqueue(a: Any, inverse: Any, pivots: Any, info: Any, stream: Stream) -> None:
        lu_factors.getrf(a, pivots, info, stream)
        identity(inverse, stream)
        lu_factors.getrs(a, pivots, inverse, stream)

    run(enqueue, stream, report, updates={"a": work}, results={"inverse": stacked(result.array), "pivots": pivots})
    report.finish(singular, stream)
    return result.delivered(stream)


@repeats
def det(a: Array, *, stream: Stream | None = None) -> Array:
    """The determinants of matrices (..., n, n): (...), a number for one NumPy matrix; 1 for matrices without rows.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    (a,), dtype = arrays_of("det", a=a)
    check_matrix(a, "a", "det", square=True)
    batch, n = a.shape[:-2], a.shape[-1]
    count = int(np.prod(batch, dtype=np.int64))
    work = copy_of(a, a.shape, dtype, stream).reshape((count, n, n))
    made, pivots = new(a, (count,), dtype), new(a, (count, n), INT32)
    report = Report(new(a, (count,), INT32), a, (count,), "det")

    def enqueue(a: Any, pivots: Any, result: Any, info: Any, stream: Stream) -> None:
        lu_factors.getrf(a, pivots, info, stream)
        lu_factors.determinants(a, pivots, result, stream)

    if count:
        run(enqueue, stream, report, updates={"a": work}, results={"pivots": pivots, "result": made})
    found = made.reshape(batch)
    return found[()] if not batch and isinstance(found, np.ndarray) else found
