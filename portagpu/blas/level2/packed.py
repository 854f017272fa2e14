"""`spmv`, `hpmv`, `tpmv` and `tpsv`: packed triangles with a vector."""

from __future__ import annotations

from functools import partial
from typing import Any

from portagpu.blas.host_arrays import on_device
from portagpu.blas.level2.products.call import scale_vector
from portagpu.blas.level2.products.form import LOWER as LOWER_TRIANGLE
from portagpu.blas.level2.products.form import READ, UNIT, UPPER
from portagpu.blas.level2.products.product import Use, multiply_packed, packed_lines, symmetric_use
from portagpu.blas.level2.solving import solve_lines
from portagpu.blas.level2.vector_results import product_result
from portagpu.blas.scipy_arguments import DIAG, LOWER, TRANS, Routine, flat, in_dtype, may_overwrite, option
from portagpu.blas.scipy_vectors import count, section
from portagpu.errors import ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any


def spmv(
    alpha: complex,
    ap: DeviceNDArray,
    x: DeviceNDArray,
    beta: complex,
    y: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool = False,
    hermitian: bool = False,
) -> None:
    """``y = alpha * A @ x + beta * y`` for a symmetric A, or a ``hermitian`` one, packed; enqueued.

    ap (n * (n + 1) / 2): the columns of A's upper triangle, or of the ``lower`` one, one after the other; x (n), y (n):
    device arrays of any strides and of one dtype. The diagonal of a Hermitian matrix counts as real. y must not overlap
    ap or x. With ``beta`` 0, y is not read, with ``alpha`` 0 neither are ap and x. Raises `MissingCapabilityError`.
    """
    if y.size == 0:
        return
    if alpha == 0:
        scale_vector(y, beta, stream)
        return
    use = symmetric_use("spmv", "hpmv", ap.dtype, lower=lower, hermitian=hermitian)
    multiply_packed(use, ap, x, y, stream, alpha=alpha, beta=beta)


def tpmv(
    ap: DeviceNDArray,
    x: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool = False,
    trans: int = 0,
    unit: bool = False,
) -> None:
    """``x = op(A) @ x`` for a packed triangle; enqueued. ``trans``: 1 transposes A, 2 transposes and conjugates it.

    ap, x: see `spmv`. The diagonal is not read where it is ``unit``. Raises `MissingCapabilityError`.
    """
    if x.size == 0:
        return
    conjugate = trans == 2 and ap.dtype.kind == "c"
    use = Use(
        routine="tpmv",
        rows=trans == 0,
        columns=trans != 0,
        conjugate_columns=conjugate,
        shape=LOWER_TRIANGLE if lower else UPPER,
        diagonal=UNIT if unit else READ,
    )
    multiply_packed(use, ap, x, x, stream)


def tpsv(
    ap: DeviceNDArray,
    x: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool = False,
    trans: int = 0,
    unit: bool = False,
) -> None:
    """Solve ``op(A) @ x = b`` for a packed triangle, where x is b before and the solution after; enqueued.

    Arguments as of `tpmv`; zeros on the diagonal make the solution infinite or NaN. Raises `MissingCapabilityError`.
    """
    if x.size == 0:
        return
    columns = packed_lines(ap, LOWER_TRIANGLE if lower else UPPER, x.size, stream)
    solve_lines(columns, x, stream, rows=trans != 0, lower=lower != (trans != 0), unit=unit, conjugate=trans == 2)


def packed_triangle(routine: Routine, ap: Array, n: int) -> Array:
    """The first n * (n + 1) / 2 elements of a vector: a packed triangle of n columns. Raises `ShapeError`."""
    needed = n * (n + 1) // 2
    if ap.size < needed:
        raise ShapeError(
            f"ap has {ap.size} elements; a packed triangle of {n} columns has {needed}",
            hint=f"pass a longer ap, or a smaller n of {routine.name}",
        )
    return flat(ap)[:needed]


def _spmv(
    routine: Routine,
    /,
    n: int,
    alpha: Any,
    ap: Array,
    x: Array,
    incx: int = 1,
    offx: int = 0,
    beta: Any = 0.0,
    y: Array = None,
    incy: int = 1,
    offy: int = 0,
    lower: int = 0,
    overwrite_y: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    size = count(routine, n, 0)
    triangle = packed_triangle(routine, routine.vector(ap, "ap", stream), size)
    is_lower = bool(option(lower, "lower", LOWER))

    def enqueue(
        alpha: complex, beta: complex, ap: DeviceNDArray, x: DeviceNDArray, y: DeviceNDArray, stream: Stream
    ) -> None:
        spmv(alpha, ap, x, beta, y, stream, lower=is_lower, hermitian=routine.family == "hpmv")

    return product_result(
        routine,
        ("ap", triangle),
        enqueue,
        (size, size),
        (alpha, beta),
        (x, offx, incx),
        (y, offy, incy),
        overwrite_y,
        stream,
    )


def _tpmv(
    routine: Routine,
    /,
    n: int,
    ap: Array,
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
    size = count(routine, n, 0)
    triangle = packed_triangle(routine, routine.vector(ap, "ap", stream), size)
    how, overwrite = option(trans, "trans", TRANS), may_overwrite(overwrite_x, "x")
    is_lower, unit = bool(option(lower, "lower", LOWER)), bool(option(diag, "diag", DIAG))
    result = routine.written_vector(x, "x", overwrite=overwrite, stream=stream)
    target = section(result, "x", offx, incx).view(size)
    call = partial(_enqueue, tpsv if routine.family == "tpsv" else tpmv, is_lower, how, unit)
    if size:
        on_device(call, stream, reads={"ap": triangle}, updates={"x": target})
    return result


def _enqueue(
    core: Any, lower: bool, trans: int, unit: bool, ap: DeviceNDArray, x: DeviceNDArray, stream: Stream
) -> None:
    core(ap, x, stream, lower=lower, trans=trans, unit=unit)


sspmv = in_dtype(
    _spmv,
    "sspmv",
    "float32",
    """``alpha * A @ x + beta * y`` in float32 for a symmetric A, packed, as `scipy.linalg.blas.sspmv`: a vector.

    A (n, n): ap has the columns of its upper triangle, or of the lower one if ``lower`` is 1, one after the other,
    n * (n + 1) / 2 elements at least. x, y: vectors, of which n elements are used, from ``offx`` (``offy``) on, each
    ``incx``-th, from the end where that is negative. Without y, the result is just long enough; y is read only if
    ``beta`` is not 0, and left as it is unless ``overwrite_y``. All are NumPy arrays (or what becomes some; those of
    other dtypes are converted), or device arrays of that dtype of any strides, and then the product is enqueued on
    ``stream``. With ``alpha`` 0, ap and x are not read.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dspmv = in_dtype(_spmv, "dspmv", "float64", "As `sspmv`, in float64.")
cspmv = in_dtype(_spmv, "cspmv", "complex64", "As `sspmv`, in complex64: nothing is conjugated.")
zspmv = in_dtype(_spmv, "zspmv", "complex128", "As `cspmv`, in complex128.")
chpmv = in_dtype(
    _spmv,
    "chpmv",
    "complex64",
    "As `sspmv`, in complex64, for a Hermitian A, whose diagonal counts as real: `scipy.linalg.blas.chpmv`.",
    family="hpmv",
)
zhpmv = in_dtype(_spmv, "zhpmv", "complex128", "As `chpmv`, in complex128.", family="hpmv")
stpmv = in_dtype(
    _tpmv,
    "stpmv",
    "float32",
    """``op(A) @ x`` in float32 for a triangular A, packed, as `scipy.linalg.blas.stpmv`: x with the product in it.

    A (n, n): a triangle that is stored as of `sspmv`; its diagonal counts as ones, and is not read, if ``diag`` is 1.
    ``op`` leaves it as it is where ``trans`` is 0; 1 transposes, 2 transposes and conjugates. x: a vector, of which n
    elements from ``offx`` on are used, each ``incx``-th; left as it is unless ``overwrite_x``. Arrays as of `sspmv`.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dtpmv = in_dtype(_tpmv, "dtpmv", "float64", "As `stpmv`, in float64.")
ctpmv = in_dtype(_tpmv, "ctpmv", "complex64", "As `stpmv`, in complex64.")
ztpmv = in_dtype(_tpmv, "ztpmv", "complex128", "As `stpmv`, in complex128.")
stpsv = in_dtype(
    _tpmv,
    "stpsv",
    "float32",
    """Solve ``op(A) @ x = b`` in float32 for a triangular A, packed, as `scipy.linalg.blas.stpsv`.

    b: the argument x, in whose place the solution is. All arguments are those of `stpmv`. Whether A is singular is not
    looked at: the solution then has infinities or NaN, as in BLAS.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
    family="tpsv",
)
dtpsv = in_dtype(_tpmv, "dtpsv", "float64", "As `stpsv`, in float64.", family="tpsv")
ctpsv = in_dtype(_tpmv, "ctpsv", "complex64", "As `stpsv`, in complex64.", family="tpsv")
ztpsv = in_dtype(_tpmv, "ztpsv", "complex128", "As `stpsv`, in complex128.", family="tpsv")
