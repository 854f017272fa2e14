"""`ssyr` to `zsyr`, `cher`, `zher`, `ssyr2`, `dsyr2`, `cher2`, `zher2`: updates of a symmetric or Hermitian matrix."""

from __future__ import annotations

from functools import partial
from typing import Any

from portagpu.blas.host_arrays import on_device
from portagpu.blas.level2.products.form import LOWER as LOWER_TRIANGLE
from portagpu.blas.level2.products.form import UPPER
from portagpu.blas.level2.updates.update import Outer, add_products
from portagpu.blas.scipy_arguments import LOWER, Routine, in_dtype, may_overwrite, option
from portagpu.blas.scipy_vectors import count, section
from portagpu.errors import ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any


def syr(
    alpha: complex,
    x: DeviceNDArray,
    a: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool = False,
    hermitian: bool = False,
) -> None:
    """``a = alpha * x * x^T + a`` in one triangle, of a ``hermitian`` a ``x^H`` and a real alpha; enqueued.

    x (n), a (n, n): device arrays of any strides and of one dtype, which do not overlap. A Hermitian matrix's diagonal
    becomes real. With ``alpha`` 0, nothing is read or written.
    """
    if not a.size or alpha == 0:
        return
    hermitian = hermitian and a.dtype.kind == "c"
    triangle = LOWER_TRIANGLE if lower else UPPER
    product = Outer(alpha, x, x, conjugate_y=hermitian)
    add_products(a, (product,), stream, shape=triangle, real_diagonal=hermitian)


def syr2(
    alpha: complex,
    x: DeviceNDArray,
    y: DeviceNDArray,
    a: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool = False,
    hermitian: bool = False,
) -> None:
    """``a = alpha * x * y^T + alpha * y * x^T + a`` in one triangle; enqueued.

    Of a ``hermitian`` a: ``alpha * x * y^H + conj(alpha) * y * x^H + a``. The rest is as of `syr`.
    """
    if not a.size or alpha == 0:
        return
    hermitian = hermitian and a.dtype.kind == "c"
    triangle = LOWER_TRIANGLE if lower else UPPER
    other = complex(alpha).conjugate() if hermitian else alpha
    products = (Outer(alpha, x, y, conjugate_y=hermitian), Outer(other, y, x, conjugate_y=hermitian))
    add_products(a, products, stream, shape=triangle, real_diagonal=hermitian)


def _matrix(routine: Routine, a: Array, n: int, like: Array, overwrite: bool, stream: Stream | None) -> Array:
    """The matrix that is updated: a, a copy of it, or zeros."""
    if a is None:
        return routine.zeros(like, (n, n), stream)
    matrix = routine.square(a, "a")
    if matrix.shape[0] != n:
        raise ShapeError(f"a has shape {matrix.shape}; {routine.name} needs ({n}, {n})", hint=f"pass a[:{n}, :{n}]")
    return routine.target(matrix, a, overwrite=overwrite, stream=stream)


def _syr(
    routine: Routine,
    /,
    alpha: Any,
    x: Array,
    lower: int = 0,
    incx: int = 1,
    offx: int = 0,
    n: int | None = None,
    a: Array = None,
    overwrite_a: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    given = section(routine.vector(x, "x", stream), "x", offx, incx)
    size = count(routine, n, given.length)
    source = given.view(size, counted=True)
    is_lower, overwrite = bool(option(lower, "lower", LOWER)), may_overwrite(overwrite_a, "a")
    factor, hermitian = routine.scalar(alpha, "alpha"), routine.family == "her"
    if hermitian:  # BLAS has a real one
        factor = factor.real
    result = _matrix(routine, a, size, given.array, overwrite, stream)
    if factor != 0 and size:
        call = partial(_enqueue_one, factor, is_lower, hermitian)
        on_device(call, stream, reads={"x": source}, updates={"a": result})
    return result


def _enqueue_one(
    alpha: complex, lower: bool, hermitian: bool, x: DeviceNDArray, a: DeviceNDArray, stream: Stream
) -> None:
    syr(alpha, x, a, stream, lower=lower, hermitian=hermitian)


def _syr2(
    routine: Routine,
    /,
    alpha: Any,
    x: Array,
    y: Array,
    lower: int = 0,
    incx: int = 1,
    offx: int = 0,
    incy: int = 1,
    offy: int = 0,
    n: int | None = None,
    a: Array = None,
    overwrite_a: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    left = section(routine.vector(x, "x", stream), "x", offx, incx)
    right = section(routine.vector(y, "y", stream), "y", offy, incy)
    size = count(routine, n, min(left.length, right.length))
    one, other = left.view(size, counted=True), right.view(size, counted=True)
    is_lower, overwrite = bool(option(lower, "lower", LOWER)), may_overwrite(overwrite_a, "a")
    factor = routine.scalar(alpha, "alpha")
    result = _matrix(routine, a, size, left.array, overwrite, stream)
    if factor != 0 and size:
        call = partial(_enqueue_two, factor, is_lower, routine.family == "her2")
        on_device(call, stream, reads={"x": one, "y": other}, updates={"a": result})
    return result


def _enqueue_two(
    alpha: complex,
    lower: bool,
    hermitian: bool,
    x: DeviceNDArray,
    y: DeviceNDArray,
    a: DeviceNDArray,
    stream: Stream,
) -> None:
    syr2(alpha, x, y, a, stream, lower=lower, hermitian=hermitian)


ssyr = in_dtype(
    _syr,
    "ssyr",
    "float32",
    """``alpha * x * x^T + a`` in float32, as `scipy.linalg.blas.ssyr`: a matrix (n, n), of which a triangle is updated.

    x: a vector, of which n elements from ``offx`` on are used, each ``incx``-th, from the end where that is negative.
    a: a matrix (n, n), or zeros without one, whose upper triangle is read and written, or the lower one if ``lower`` is
    1; left as it is unless ``overwrite_a``. Both are NumPy arrays (or what becomes some; those of other dtypes are
    converted), or device arrays of that dtype. With ``alpha`` 0, x is not read. For device arrays the update is
    enqueued on ``stream``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dsyr = in_dtype(_syr, "dsyr", "float64", "As `ssyr`, in float64.")
csyr = in_dtype(_syr, "csyr", "complex64", "As `ssyr`, in complex64: nothing is conjugated.")
zsyr = in_dtype(_syr, "zsyr", "complex128", "As `csyr`, in complex128.")
cher = in_dtype(
    _syr,
    "cher",
    "complex64",
    "As `ssyr`, ``alpha * x * x^H + a`` for a Hermitian a, whose diagonal becomes real, and the real part of alpha.",
    family="her",
)
zher = in_dtype(_syr, "zher", "complex128", "As `cher`, in complex128.", family="her")
ssyr2 = in_dtype(
    _syr2,
    "ssyr2",
    "float32",
    """``alpha * x * y^T + alpha * y * x^T + a`` in float32, in one triangle, as `scipy.linalg.blas.ssyr2`.

    x, y: vectors as of `ssyr`, as is the rest.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dsyr2 = in_dtype(_syr2, "dsyr2", "float64", "As `ssyr2`, in float64.")
cher2 = in_dtype(
    _syr2,
    "cher2",
    "complex64",
    "As `ssyr2`, ``alpha * x * y^H + conj(alpha) * y * x^H + a`` for a Hermitian a, whose diagonal becomes real.",
    family="her2",
)
zher2 = in_dtype(_syr2, "zher2", "complex128", "As `cher2`, in complex128.", family="her2")
