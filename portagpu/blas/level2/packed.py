"""`spmv`, `hpmv`, `tpmv` and `tpsv`: packed triangles with a vector."""

from __future__ import annotations

from functools import partial
from typing import Any

from portagpu.blas.level2.stored.calls import packed_triangle, product, triangular
from portagpu.blas.level2.stored.storage import packed, symmetric
from portagpu.blas.scipy_arguments import LOWER, Routine, in_dtype, option
from portagpu.blas.scipy_vectors import count
from portagpu.runtime.execution.stream import Stream

Array = Any


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
    matrix = packed_triangle(routine, routine.vector(ap, "ap"), size)
    is_lower = bool(option(lower, "lower", LOWER))
    return product(
        routine,
        (
            "ap",
            matrix,
            lambda ap: packed(ap, size, is_lower),
            partial(symmetric, hermitian=routine.family == "hpmv"),
        ),
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
    matrix = packed_triangle(routine, routine.vector(ap, "ap"), size)
    return triangular(
        routine,
        ("ap", matrix, size, lambda ap, is_lower: packed(ap, size, is_lower)),
        (x, offx, incx),
        (lower, trans, diag),
        overwrite_x,
        stream,
    )


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
