"""`gbmv`, `sbmv`, `hbmv`, `tbmv` and `tbsv`: banded matrices with a vector, in BLAS's band storage."""

from __future__ import annotations

from typing import Any

from portagpu.blas.host_arrays import on_device
from portagpu.blas.level2.bands.product import multiply, multiply_triangle
from portagpu.blas.level2.bands.solve import solve
from portagpu.blas.level2.bands.storage import band, general, symmetric, triangular_band
from portagpu.blas.level2.vector_results import product_result
from portagpu.blas.scipy_arguments import DIAG, LOWER, TRANS, Routine, in_dtype, integer, may_overwrite, option
from portagpu.blas.scipy_vectors import count, section
from portagpu.errors import ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any


def _diagonals(name: str, value: Any) -> int:
    found = integer(value, name)
    if found < 0:
        raise ShapeError(f"{name} is {found}", hint=f"{name} counts diagonals beside the main one: 0 or more")
    return found


def _check_lines(a: Array, needed: int, how: str) -> None:
    if a.shape[0] < needed:
        raise ShapeError(
            f"a has {a.shape[0]} rows; a band with {how} has {needed}",
            hint="row i of a is a diagonal, the topmost one first; SciPy's documentation calls that band storage",
        )


def _gbmv(
    routine: Routine,
    /,
    m: int,
    n: int,
    kl: int,
    ku: int,
    alpha: Any,
    a: Array,
    x: Array,
    incx: int = 1,
    offx: int = 0,
    beta: Any = 0.0,
    y: Array = None,
    incy: int = 1,
    offy: int = 0,
    trans: int = 0,
    overwrite_y: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    rows, columns = count(routine, m, 0, "m"), count(routine, n, 0, "n")
    below, above = _diagonals("kl", kl), _diagonals("ku", ku)
    matrix = routine.matrix(a, "a")
    if matrix.shape[1] != columns:
        raise ShapeError(
            f"n is {columns}; a has {matrix.shape[1]} columns", hint="a band has as many columns as its matrix"
        )
    _check_lines(matrix, below + above + 1, f"kl = {below}, ku = {above}")
    how = option(trans, "trans", TRANS)

    def enqueue(
        alpha: complex, beta: complex, a: DeviceNDArray, x: DeviceNDArray, y: DeviceNDArray, stream: Stream
    ) -> None:
        storage = band(a, rows, below, above)
        multiply(storage, general(storage, how), x, y, stream, alpha=alpha, beta=beta)

    return product_result(
        routine,
        ("a", matrix),
        enqueue,
        (columns, rows) if how else (rows, columns),
        (alpha, beta),
        (x, offx, incx),
        (y, offy, incy),
        overwrite_y,
        stream,
    )


def _sbmv(
    routine: Routine,
    /,
    k: int,
    alpha: Any,
    a: Array,
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
    width, matrix = _diagonals("k", k), routine.matrix(a, "a")
    _check_lines(matrix, width + 1, f"k = {width}")
    is_lower = bool(option(lower, "lower", LOWER))

    def enqueue(
        alpha: complex, beta: complex, a: DeviceNDArray, x: DeviceNDArray, y: DeviceNDArray, stream: Stream
    ) -> None:
        storage = triangular_band(a, width, is_lower)
        parts = symmetric(storage, hermitian=routine.family == "hbmv")
        multiply(storage, parts, x, y, stream, alpha=alpha, beta=beta)

    return product_result(
        routine,
        ("a", matrix),
        enqueue,
        (matrix.shape[1], matrix.shape[1]),
        (alpha, beta),
        (x, offx, incx),
        (y, offy, incy),
        overwrite_y,
        stream,
    )


def _tbmv(
    routine: Routine,
    /,
    k: int,
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
    width, matrix = _diagonals("k", k), routine.matrix(a, "a")
    _check_lines(matrix, width + 1, f"k = {width}")
    how, overwrite = option(trans, "trans", TRANS), may_overwrite(overwrite_x, "x")
    is_lower, unit = bool(option(lower, "lower", LOWER)), bool(option(diag, "diag", DIAG))
    result = routine.written_vector(x, "x", overwrite=overwrite, stream=stream)
    target = section(result, "x", offx, incx).view(matrix.shape[1])
    core = solve if routine.family == "tbsv" else multiply_triangle

    def enqueue(a: DeviceNDArray, x: DeviceNDArray, stream: Stream) -> None:
        core(triangular_band(a, width, is_lower), x, stream, trans=how, unit=unit)

    if target.size:
        on_device(enqueue, stream, reads={"a": matrix}, updates={"x": target})
    return result


sgbmv = in_dtype(
    _gbmv,
    "sgbmv",
    "float32",
    """``alpha * op(A) @ x + beta * y`` in float32 for a banded A, as `scipy.linalg.blas.sgbmv`: a vector.

    A (m, n) has ``kl`` diagonals below the main one and ``ku`` above it. a (kl + ku + 1 at least, n) has them as rows:
    element (i, j) of A is ``a[ku + i - j, j]``; what is in its corners, outside of A, is not read. ``op`` leaves A as
    it is where ``trans`` is 0; 1 transposes, 2 transposes and conjugates. x, y: vectors, of which as many elements as
    op(A) has columns and rows are used, from ``offx`` (``offy``) on, each ``incx``-th, from the end where that is
    negative. Without y, the result is just long enough; y is read only if ``beta`` is not 0, and left as it is unless
    ``overwrite_y``. All are NumPy arrays (or what becomes some; those of other dtypes are converted), or device arrays
    of that dtype of any strides, and then the product is enqueued on ``stream``. With ``alpha`` 0, a and x are not
    read. Unlike SciPy's, bands may be wider than the matrix, as in BLAS.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dgbmv = in_dtype(_gbmv, "dgbmv", "float64", "As `sgbmv`, in float64.")
cgbmv = in_dtype(_gbmv, "cgbmv", "complex64", "As `sgbmv`, in complex64.")
zgbmv = in_dtype(_gbmv, "zgbmv", "complex128", "As `sgbmv`, in complex128.")
ssbmv = in_dtype(
    _sbmv,
    "ssbmv",
    "float32",
    """``alpha * A @ x + beta * y`` in float32 for a symmetric banded A, as `scipy.linalg.blas.ssbmv`: a vector.

    A (n, n) has ``k`` diagonals above the main one, and as many below it. a (k + 1 at least, n) has those above as
    rows: element (i, j) is ``a[k + i - j, j]``; those below if ``lower`` is 1: ``a[i - j, j]``. The rest is as of
    `sgbmv`.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dsbmv = in_dtype(_sbmv, "dsbmv", "float64", "As `ssbmv`, in float64.")
chbmv = in_dtype(
    _sbmv,
    "chbmv",
    "complex64",
    "As `ssbmv`, in complex64, for a Hermitian A, whose diagonal counts as real: `scipy.linalg.blas.chbmv`.",
    family="hbmv",
)
zhbmv = in_dtype(_sbmv, "zhbmv", "complex128", "As `chbmv`, in complex128.", family="hbmv")
stbmv = in_dtype(
    _tbmv,
    "stbmv",
    "float32",
    """``op(A) @ x`` in float32 for a triangular banded A, as `scipy.linalg.blas.stbmv`: x with the product in it.

    A (n, n) has ``k`` diagonals above the main one, below it if ``lower`` is 1, stored as those of `ssbmv`; the main
    one counts as ones, and is not read, if ``diag`` is 1. ``op``: see `sgbmv`. x: a vector, of which n elements from
    ``offx`` on are used, each ``incx``-th; left as it is unless ``overwrite_x``. Arrays as of `sgbmv`.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dtbmv = in_dtype(_tbmv, "dtbmv", "float64", "As `stbmv`, in float64.")
ctbmv = in_dtype(_tbmv, "ctbmv", "complex64", "As `stbmv`, in complex64.")
ztbmv = in_dtype(_tbmv, "ztbmv", "complex128", "As `stbmv`, in complex128.")
stbsv = in_dtype(
    _tbmv,
    "stbsv",
    "float32",
    """Solve ``op(A) @ x = b`` in float32 for a triangular banded A, as `scipy.linalg.blas.stbsv`.

    b: the argument x, in whose place the solution is. All arguments are those of `stbmv`. Whether A is singular is not
    looked at: the solution then has infinities or NaN, as in BLAS.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
    family="tbsv",
)
dtbsv = in_dtype(_tbmv, "dtbsv", "float64", "As `stbsv`, in float64.", family="tbsv")
ctbsv = in_dtype(_tbmv, "ctbsv", "complex64", "As `stbsv`, in complex64.", family="tbsv")
ztbsv = in_dtype(_tbmv, "ztbsv", "complex128", "As `stbsv`, in complex128.", family="tbsv")
