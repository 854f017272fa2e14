"""Systems of linear equations and the factorisations that solve them"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu.blas.arguments import check_scalar, operand_of
from portagpu.blas.factorisations import cholesky as cholesky_factors
from portagpu.blas.factorisations import lu as lu_factors
from portagpu.blas.factorisations import refinement
from portagpu.blas.factorisations.batches import stacked
from portagpu.blas.factorisations.triangles import clear_beyond, first_zero
from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.fill import clear
from portagpu.blas.host_arrays import are_on_device
from portagpu.blas.level3 import triangular_solve
from portagpu.blas.level3.triangles import identity
from portagpu.blas.replay.calls import repeats
from portagpu.errors import (
    ArgumentTypeError,
    NotPositiveDefiniteError,
    ShapeError,
    SingularMatrixError,
    UnknownOptionError,
    did_you_mean,
)
from portagpu.linalg.matrices import (
    INT32,
    Array,
    Report,
    arrays_of,
    broadcast_batches,
    check_matrix,
    check_out,
    copy_of,
    delivered,
    is_simple,
    new,
    run,
    shares,
    takes_results,
)
from portagpu.runtime.execution.stream import Stream

_ASSUMED = {
    "general": "general",
    "gen": "general",
    "positive definite": "positive definite",
    "pos": "positive definite",
}
_TRANS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


class LuFactors(NamedTuple):
    """``a = P L U``: `lu` has L below the diagonal of ones, and U; `pivots` are the rows with which rows 0, 1, ... were
    exchanged, one after the other, counted from 0."""

    lu: Array
    pivots: Array


def singular(order: int, matrix: tuple[int, ...]) -> SingularMatrixError:
    """The error for a matrix of a batch whose pivot ``order``, counted from 1, is 0."""
    which = f"matrix {matrix} of the batch" if matrix else "the matrix"
    error = SingularMatrixError(
        f"{which} is singular: pivot {order}, counted from 1, is exactly 0",
        hint="lstsq solves such systems as nearly as they can be; info= takes what is found instead",
    )
    error.order, error.matrix = order, matrix
    return error


def _not_definite(order: int, matrix: tuple[int, ...]) -> NotPositiveDefiniteError:
    which = f"matrix {matrix} of the batch" if matrix else "the matrix"
    error = NotPositiveDefiniteError(
        f"{which} is not positive definite: its leading minor of order {order} is not",
        hint="solve takes general matrices; info= takes what is found instead",
    )
    error.order, error.matrix = order, matrix
    return error


class _Sides:
    """Right sides of systems: a copy to solve in, in three axes at most, and the result that it becomes.

    A batch of right sides of one matrix is one matrix with all their columns; where the matrix stands on the right
    (not ``left``), with all their rows.
    """

    def __init__(
        self,
        function: str,
        a: Array,
        b: Array,
        dtype: np.dtype[Any],
        out: Array,
        stream: Stream | None,
        *,
        left: bool = True,
    ) -> None:
        n = a.shape[-1]
        is_vector = b.ndim == 1
        if b.ndim == 0 or b.shape[-2 if left and not is_vector else -1] != n:
            raise ShapeError(
                f"{function}: a has shape {a.shape}, b {b.shape}",
                hint=f"b is (n), or {'(..., n, m)' if left else '(..., m, n)'}, for matrices of n rows",
            )
        columns = b.reshape((n, 1) if left else (1, n)) if is_vector else b
        self.batch = broadcast_batches(function, a=a.shape[:-2], b=columns.shape[:-2])
        shape = (*self.batch, *columns.shape[-2:])
        self._shape = (*self.batch, n) if is_vector else shape
        check_out(out, a, self._shape, dtype, function)
        self._out, self._stream = out, stream
        is_shared = a.ndim == 2 and len(shape) > 2
        self._folded, self._in_place = is_shared and left, False
        self.a_batch = () if a.ndim == 2 else self.batch
        if self._folded:
            axes = (len(shape) - 2, *range(len(shape) - 2), len(shape) - 1)
            moved = columns.transpose(axes)
            whole = copy_of(moved, moved.shape, dtype, stream)
            self._back = tuple(int(i) for i in np.argsort(axes))
            self._whole = whole
            self.array = whole.reshape((n, int(np.prod(whole.shape[1:], dtype=np.int64))))
            return
        # the right sides are put there before the matrix is read
        self._in_place = is_simple(out) and not shares(out, a)
        own = out.reshape(shape) if self._in_place else None
        self._whole = copy_of(columns, shape, dtype, stream, own)
        rows = int(np.prod(shape[:-1], dtype=np.int64))
        self.array = self._whole.reshape((rows, n)) if is_shared else stacked(self._whole)

    def result(self) -> Array:
        """The solutions, of b's shape."""
        made = self._whole.transpose(self._back) if self._folded else self._whole
        if self._in_place:
            return self._out
        return delivered(made if self._folded else made.reshape(self._shape), self._out, self._stream)


@takes_results
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
    of these are anything. Without it such a matrix is an error for NumPy arrays; work on device arrays is enqueued, and
    only ``info`` tells.

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
    sides = _Sides("solve", a, b, dtype, out, stream)
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
        report.finish(_not_definite, stream)
    return sides.result()


@takes_results
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
    check_out(out, a, a.shape, dtype, "cholesky")
    made = copy_of(a, a.shape, dtype, stream, out if is_simple(out) else None)
    report = Report(info, a, a.shape[:-2], "cholesky")

    def enqueue(a: Any, info: Any, stream: Stream) -> None:
        cholesky_factors.potrf(a, info, stream, lower=lower)
        clear_beyond(a, stream, lower=lower)

    run(enqueue, stream, report, updates={"a": stacked(made)})
    report.finish(_not_definite, stream)
    return delivered(made, out, stream)


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
    check_out(out, a, a.shape, dtype, "lu_factor")
    made = copy_of(a, a.shape, dtype, stream, out if is_simple(out) else None)
    work = stacked(made)
    batch, least = a.shape[:-2], min(a.shape[-2:])
    pivots = new(a, (*batch, least), INT32)
    report = Report(new(a, batch, INT32) if info is None else info, a, batch, "lu_factor")
    flat = pivots if not batch else pivots.reshape((work.shape[0], least))
    run(lu_factors.getrf, stream, report, updates={"a": work}, results={"pivots": flat})
    report.finish(singular, stream)
    return LuFactors(delivered(made, out, stream), pivots)


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
    op = _trans("lu_solve", trans)
    try:
        lu, pivots = factors
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"lu_solve: factors is a {type(factors).__name__}, not lu and pivots", hint="pass what lu_factor returned"
        ) from None
    (lu, b), dtype = arrays_of("lu_solve", lu=lu, b=b)
    check_matrix(lu, "lu", "lu_solve", square=True)
    pivots = _pivots(pivots, lu)
    sides = _Sides("lu_solve", lu, b, dtype, out, stream)
    n = lu.shape[-1]
    held = stacked(_readable(lu, (*sides.a_batch, n, n), dtype, stream))
    rows = _readable(pivots, (*sides.a_batch, n), INT32, stream)
    rows = rows.reshape((held.shape[0], n)) if rows.ndim > 1 else rows

    def enqueue(lu: Any, pivots: Any, b: Any, stream: Stream) -> None:
        lu_factors.getrs(lu, pivots, b, stream, transpose=op > 0, conjugate=op == 2)

    run(enqueue, stream, reads={"lu": held, "pivots": rows}, updates={"b": sides.array})
    return sides.result()


@takes_results
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
    op = _trans("solve_triangular", trans)
    (a, b), dtype = arrays_of("solve_triangular", a=a, b=b)
    check_matrix(a, "a", "solve_triangular", square=True)
    factor = check_scalar(alpha, "alpha", dtype, dtype)
    sides = _Sides("solve_triangular", a, b, dtype, out, stream, left=left)
    n = a.shape[-1]
    held = stacked(_readable(a, (*sides.a_batch, n, n), dtype, stream))
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
@repeats
def inv(a: Array, *, out: Array | None = None, info: Array | None = None, stream: Stream | None = None) -> Array:
    """The inverses of matrices (..., n, n).

    ``out``, ``info`` and ``stream`` are as in `solve`, which is faster, and more accurate, than a product with the
    inverse. Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `SingularMatrixError`, `OutOfMemoryError`.
    """
    (a,), dtype = arrays_of("inv", a=a)
    check_matrix(a, "a", "inv", square=True)
    check_out(out, a, a.shape, dtype, "inv")
    work = stacked(copy_of(a, a.shape, dtype, stream))
    made = out if is_simple(out) else new(a, a.shape, dtype)
    pivots = new(a, work.shape[:-1], INT32)
    report = Report(info, a, a.shape[:-2], "inv")

    def enqueue(a: Any, inverse: Any, pivots: Any, info: Any, stream: Stream) -> None:
        lu_factors.getrf(a, pivots, info, stream)
        identity(inverse, stream)
        lu_factors.getrs(a, pivots, inverse, stream)

    run(enqueue, stream, report, updates={"a": work}, results={"inverse": stacked(made), "pivots": pivots})
    report.finish(singular, stream)
    return delivered(made, out, stream)


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


def _readable(x: Array, shape: tuple[int, ...], dtype: np.dtype[Any], stream: Stream | None) -> Array:
    """An array in C order with these elements, broadcast: itself, if it is one."""
    if x.shape == shape and x.dtype == dtype and is_simple(x):
        return x
    return copy_of(x, shape, dtype, stream)


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


def _trans(function: str, trans: Any) -> int:
    if not isinstance(trans, int | str | np.integer | np.bool_) or trans not in _TRANS:
        raise UnknownOptionError(
            f"{function}: trans is {trans!r}",
            hint="0 or 'N' leaves a as it is, 1 or 'T' transposes, 2 or 'C' conjugates, too",
        )
    return _TRANS[trans]
