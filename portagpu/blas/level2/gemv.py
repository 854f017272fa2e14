"""`sgemv`, `dgemv`, `cgemv` and `zgemv`: products of a matrix with a vector."""

from __future__ import annotations

from functools import partial
from typing import Any

from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.host_arrays import on_device
from portagpu.blas.level2.products.call import scale_vector
from portagpu.blas.level2.products.product import Use, multiply
from portagpu.blas.scipy_arguments import TRANS, Routine, in_dtype, may_overwrite, option
from portagpu.blas.scipy_vectors import section, vector_target
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.stream import Stream

Array = Any


def gemv(
    alpha: complex,
    a: DeviceNDArray,
    x: DeviceNDArray,
    beta: complex,
    y: DeviceNDArray,
    stream: Stream,
    *,
    conjugate: bool = False,
) -> None:
    """``y = alpha * a @ x + beta * y``; enqueued. With ``conjugate``, a's conjugate is multiplied.

    a (m, n), x (n), y (m): device arrays of any strides and of one dtype, a transposed product is one of ``a.T``. y
    must not overlap a or x. With ``beta`` 0, y is not read, with ``alpha`` 0 neither are a and x. Raises
    `MissingCapabilityError`.
    """
    if y.size == 0:
        return
    if alpha == 0 or x.size == 0:
        scale_vector(y, beta, stream)
    elif a.dtype.kind == "c":
        use = Use(routine="gemv", conjugate_rows=conjugate)
        multiply(use, a, x, y, stream, alpha=alpha, beta=beta)
    else:
        _multiply_real(alpha, a, x, beta, y, stream)


def _multiply_real(
    alpha: complex, a: DeviceNDArray, x: DeviceNDArray, beta: complex, y: DeviceNDArray, stream: Stream
) -> None:
    """By the products' engine, as fast as memory is read; vectors that are read backwards are copied."""
    if _is_backwards(x):
        x = _straight(x, stream, copied=True)
    target = _straight(y, stream, copied=beta != 0) if _is_backwards(y) else y
    gemm(a, _column(x), _column(target), stream, alpha=alpha, beta=beta)
    if target is not y:
        copy_strided(target, y, stream)


def _is_backwards(x: DeviceNDArray) -> bool:
    return x.size > 1 and x.strides[0] <= 0


def _straight(x: DeviceNDArray, stream: Stream, *, copied: bool) -> DeviceNDArray:
    made = device_array(x.shape, x.dtype, context=x.context)
    if copied:
        copy_strided(x, made, stream)
    return made


def _column(x: DeviceNDArray) -> DeviceNDArray:
    """A vector as a matrix of one column."""
    return with_strides(x, (x.size, 1), (x.strides[0], x.itemsize))


def _gemv(
    routine: Routine,
    /,
    alpha: Any,
    a: Array,
    x: Array,
    beta: Any = 0.0,
    y: Array = None,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
    trans: int = 0,
    overwrite_y: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    matrix = routine.matrix(a, "a")
    given = section(routine.vector(x, "x", stream), "x", offx, incx)
    how, overwrite = option(trans, "trans", TRANS), may_overwrite(overwrite_y, "y")
    alpha, beta = routine.scalar(alpha, "alpha"), routine.scalar(beta, "beta")
    if how:
        matrix = matrix.T
    rows, columns = matrix.shape
    source = given.view(columns)
    result, target = vector_target(routine, y, "y", rows, (offy, incy), like=matrix, overwrite=overwrite, stream=stream)
    if y is None:
        beta = 0.0
    elif columns == 0:  # BLAS leaves y as it is
        return result
    into: dict[str, Any] = {"results" if beta == 0 else "updates": {"y": target}}
    if alpha == 0 or columns == 0:
        on_device(lambda y, stream: scale_vector(y, beta, stream), stream, **into)
    else:
        call = partial(_enqueue, alpha, beta, how == 2)
        on_device(call, stream, reads={"a": matrix, "x": source}, **into)
    return result


def _enqueue(
    alpha: complex,
    beta: complex,
    conjugate: bool,
    a: DeviceNDArray,
    x: DeviceNDArray,
    y: DeviceNDArray,
    stream: Stream,
) -> None:
    gemv(alpha, a, x, beta, y, stream, conjugate=conjugate)


sgemv = in_dtype(
    _gemv,
    "sgemv",
    "float32",
    """``alpha * op(a) @ x + beta * y`` in float32, as `scipy.linalg.blas.sgemv`: a vector.

    a: a matrix (m, n), which ``op`` leaves as it is where ``trans`` is 0; 1 transposes, 2 transposes and conjugates.
    x, y: vectors, of which elements from ``offx`` (``offy``) on are used, each ``incx``-th (``incy``-th), from the end
    where that is negative. All are NumPy arrays (or what becomes some; those of other dtypes are converted), or all are
    device arrays of that dtype; nothing is copied for its order or its increments. ``y`` is read only if ``beta`` is
    not 0, and left as it is unless ``overwrite_y``; elements beside the vector's are those of y, or zero without one.
    With ``alpha`` 0, neither a nor x is read. For device arrays the product is enqueued on ``stream``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dgemv = in_dtype(_gemv, "dgemv", "float64", "As `sgemv`, in float64.")
cgemv = in_dtype(_gemv, "cgemv", "complex64", "As `sgemv`, in complex64.")
zgemv = in_dtype(_gemv, "zgemv", "complex128", "As `sgemv`, in complex128.")
