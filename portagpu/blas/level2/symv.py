"""`ssymv`, `dsymv`, `chemv` and `zhemv`: products of a symmetric or Hermitian matrix with a vector."""

from __future__ import annotations

from functools import partial
from typing import Any

from portagpu.blas.host_arrays import on_device
from portagpu.blas.level2.products.call import scale_vector
from portagpu.blas.level2.products.product import multiply, symmetric_use
from portagpu.blas.scipy_arguments import LOWER, Routine, in_dtype, may_overwrite, option
from portagpu.blas.scipy_vectors import section, vector_target
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any


def symv(
    alpha: complex,
    a: DeviceNDArray,
    x: DeviceNDArray,
    beta: complex,
    y: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool = False,
    hermitian: bool = False,
) -> None:
    """``y = alpha * a @ x + beta * y`` for a symmetric matrix, or a ``hermitian`` one; enqueued.

    a (n, n), of which one triangle is read, each element once; x (n), y (n): device arrays of any strides and of one
    dtype. The diagonal of a Hermitian matrix counts as real. y must not overlap a or x. With ``beta`` 0, y is not read,
    with ``alpha`` 0 neither are a and x. Raises `MissingCapabilityError`.
    """
    if y.size == 0:
        return
    if alpha == 0:
        scale_vector(y, beta, stream)
        return
    use = symmetric_use("symv", "hemv", a.dtype, lower=lower, hermitian=hermitian)
    multiply(use, a, x, y, stream, alpha=alpha, beta=beta)


def _symv(
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
    lower: int = 0,
    overwrite_y: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    matrix = routine.square(a, "a")
    given = section(routine.vector(x, "x", stream), "x", offx, incx)
    is_lower, overwrite = bool(option(lower, "lower", LOWER)), may_overwrite(overwrite_y, "y")
    alpha, beta = routine.scalar(alpha, "alpha"), routine.scalar(beta, "beta")
    n = matrix.shape[0]
    source = given.view(n)
    result, target = vector_target(routine, y, "y", n, (offy, incy), like=matrix, overwrite=overwrite, stream=stream)
    beta = 0.0 if y is None else beta
    into: dict[str, Any] = {"results" if beta == 0 else "updates": {"y": target}}
    if alpha == 0:
        on_device(lambda y, stream: scale_vector(y, beta, stream), stream, **into)
    else:
        call = partial(_enqueue, alpha, beta, is_lower)
        on_device(call, stream, reads={"a": matrix, "x": source}, **into)
    return result


def _enqueue(
    alpha: complex, beta: complex, lower: bool, a: DeviceNDArray, x: DeviceNDArray, y: DeviceNDArray, stream: Stream
) -> None:
    symv(alpha, a, x, beta, y, stream, lower=lower, hermitian=True)


ssymv = in_dtype(
    _symv,
    "ssymv",
    "float32",
    """``alpha * a @ x + beta * y`` in float32 for a symmetric a, as `scipy.linalg.blas.ssymv`: a vector.

    a: a matrix (n, n), of which the upper triangle is read, or the lower one if ``lower`` is 1. The rest is as of
    `sgemv`.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dsymv = in_dtype(_symv, "dsymv", "float64", "As `ssymv`, in float64.")
chemv = in_dtype(
    _symv,
    "chemv",
    "complex64",
    """As `ssymv`, in complex64, for a Hermitian a, whose diagonal counts as real: `scipy.linalg.blas.chemv`.""",
    family="hemv",
)
zhemv = in_dtype(_symv, "zhemv", "complex128", "As `chemv`, in complex128.", family="hemv")
