"""`strmv`, `dtrmv`, `ctrmv` and `ztrmv`: products of a triangular matrix with a vector, in its place."""

from __future__ import annotations

from functools import partial
from typing import Any

from portagpu.blas.host_arrays import on_device
from portagpu.blas.level2.products.form import LOWER as LOWER_TRIANGLE
from portagpu.blas.level2.products.form import READ, UNIT, UPPER
from portagpu.blas.level2.products.product import Use, multiply
from portagpu.blas.scipy_arguments import DIAG, LOWER, TRANS, Routine, in_dtype, may_overwrite, option
from portagpu.blas.scipy_vectors import section
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any


def trmv(
    a: DeviceNDArray,
    x: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool = False,
    unit: bool = False,
    conjugate: bool = False,
) -> None:
    """``x = a @ x`` for a triangle of a; enqueued. With ``conjugate``, of a's conjugate.

    a (n, n), x (n): device arrays of any strides and of one dtype, which do not overlap. The other triangle is not
    read, nor the diagonal where it is ``unit``. A transposed product is one of ``a.T``, whose triangle is the other
    one. Raises `MissingCapabilityError`.
    """
    if x.size == 0:
        return
    use = Use(
        routine="trmv",
        conjugate_rows=conjugate and a.dtype.kind == "c",
        shape=LOWER_TRIANGLE if lower else UPPER,
        diagonal=UNIT if unit else READ,
    )
    multiply(use, a, x, x, stream)


def _trmv(
    routine: Routine,
    /,
    a: Array,
    x: Array,
    offx: int = 0,
    incx: int = 1,
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
    trmv(a, x, stream, lower=lower, unit=unit, conjugate=conjugate)


strmv = in_dtype(
    _trmv,
    "strmv",
    "float32",
    """``op(a) @ x`` in float32 for a triangular a, as `scipy.linalg.blas.strmv`: x with the product in its place.

    a: a matrix (n, n), of which the upper triangle is read, or the lower one if ``lower`` is 1; the diagonal counts as
    ones, and is not read, if ``diag`` is 1. ``op`` leaves it as it is where ``trans`` is 0; 1 transposes, 2 transposes
    and conjugates. x: a vector, of which n elements from ``offx`` on are used, each ``incx``-th, from the end where
    that is negative; left as it is unless ``overwrite_x``. Both are NumPy arrays (or what becomes some; those of other
    dtypes are converted), or device arrays of that dtype, and then the product is enqueued on ``stream``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dtrmv = in_dtype(_trmv, "dtrmv", "float64", "As `strmv`, in float64.")
ctrmv = in_dtype(_trmv, "ctrmv", "complex64", "As `strmv`, in complex64.")
ztrmv = in_dtype(_trmv, "ztrmv", "complex128", "As `strmv`, in complex128.")
