"""`strsv`, `dtrsv`, `ctrsv` and `ztrsv`: triangular systems with one right-hand side."""

from __future__ import annotations

from functools import partial
from typing import Any

from portagpu.blas.gemm.core.alignment import new_aligned_rows
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.operands import placed
from portagpu.blas.host_arrays import on_device
from portagpu.blas.level2.products.product import Lines
from portagpu.blas.level2.solving import solve_lines
from portagpu.blas.scipy_arguments import DIAG, LOWER, TRANS, Routine, in_dtype, may_overwrite, option
from portagpu.blas.scipy_vectors import section
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any


def trsv(
    a: DeviceNDArray,
    x: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool = False,
    unit: bool = False,
    conjugate: bool = False,
) -> None:
    """Solve ``a @ x = b`` for a triangle of a, where x is b before and the solution after; enqueued.

    a (n, n), x (n): device arrays of any strides and of one dtype, which do not overlap. With ``conjugate``, a's
    conjugate is solved with. The other triangle is not read, nor the diagonal where it is ``unit``; zeros on it make
    the solution infinite or NaN, as in BLAS. A transposed system is one of ``a.T``, whose triangle is the other one. By
    blocks along the diagonal (Golub, Van Loan: Matrix Computations, section 3.1). Raises `MissingCapabilityError`.
    """
    if x.size == 0:
        return
    order = order_of(a)
    if not order:
        a, order = new_aligned_rows(a, stream), "C"
    n, rows = x.size, order == "C"
    pitch = a.strides[0 if rows else 1] // a.itemsize if n > 1 else 1
    found = Lines(placed(a), n, n, pitch)
    solve_lines(found, x, stream, rows=rows, lower=lower, unit=unit, conjugate=conjugate)


def _trsv(
    routine: Routine,
    /,
    a: Array,
    x: Array,
    incx: int = 1,
    offx: int = 0,
    lower: int = 0,
    trans: int = 0,
    diag: int = 0,
    overwrite_x: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    matrix = routine.square(a, "a")
    how = option(trans, "trans", TRANS)
    is_lower, unit = bool(option(lower, "lower", LOWER)), bool(option(diag, "diag", DIAG))
    overwrite = may_overwrite(overwrite_x, "x")
    result = routine.written_vector(x, "x", overwrite=overwrite, stream=stream)
    target = section(result, "x", offx, incx).view(matrix.shape[0])
    if how:
        matrix, is_lower = matrix.T, not is_lower
    call = partial(_enqueue, is_lower, unit, how == 2)
    on_device(call, stream, reads={"a": matrix}, updates={"x": target})
    return result


def _enqueue(lower: bool, unit: bool, conjugate: bool, a: DeviceNDArray, x: DeviceNDArray, stream: Stream) -> None:
    trsv(a, x, stream, lower=lower, unit=unit, conjugate=conjugate)


strsv = in_dtype(
    _trsv,
    "strsv",
    "float32",
    """Solve ``op(a) @ x = b`` in float32, as `scipy.linalg.blas.strsv`: the solution in the place of b.

    b: the argument x. All arguments are as those of `strmv`, ``incx`` and ``offx`` the other way round. Whether a is
    singular is not looked at: the solution then has infinities or NaN.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dtrsv = in_dtype(_trsv, "dtrsv", "float64", "As `strsv`, in float64.")
ctrsv = in_dtype(_trsv, "ctrsv", "complex64", "As `strsv`, in complex64.")
ztrsv = in_dtype(_trsv, "ztrsv", "complex128", "As `strsv`, in complex128.")
