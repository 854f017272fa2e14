"""axpy, scal, copy and swap under the names of `scipy.linalg.blas`: `saxpy`, `csscal`, `zswap` ..."""

from __future__ import annotations

from functools import partial
from typing import Any

from portagpu.blas.host_arrays import on_device
from portagpu.blas.level1 import elementwise
from portagpu.blas.scipy_arguments import Routine, in_dtype, may_overwrite
from portagpu.blas.scipy_vectors import Section, count, section
from portagpu.runtime.execution.stream import Stream

Array = Any


def _axpy(
    routine: Routine,
    /,
    x: Array,
    y: Array,
    n: int | None = None,
    a: Any = 1.0,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
    *,
    stream: Stream | None = None,
) -> Array:
    given, kept = sections(routine, x, y, (offx, incx), (offy, incy), stream, writes="y")
    alpha = routine.scalar(a, "a")
    n = count(routine, n, given.whole_steps)
    source, target = given.view(n, counted=True), kept.view(n, counted=True)
    if n and alpha != 0:
        call = partial(elementwise.axpy, alpha)
        on_device(call, stream, reads={"x": source}, updates={"y": target}, in_place=True)
    return kept.array


def _scal(
    routine: Routine,
    /,
    a: Any,
    x: Array,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    *,
    stream: Stream | None = None,
) -> Array:
    return _scaled(routine, a, x, n, offx, incx, True, stream)


def _real_scal(
    routine: Routine,
    /,
    a: Any,
    x: Array,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    overwrite_x: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    return _scaled(routine, routine.real_scalar(a, "a"), x, n, offx, incx, may_overwrite(overwrite_x, "x"), stream)


def _scaled(
    routine: Routine, a: Any, x: Array, n: Any, offx: Any, incx: Any, overwrite: bool, stream: Stream | None
) -> Array:
    array = routine.written_vector(x, "x", overwrite=overwrite, stream=stream)
    kept = section(array, "x", offx, incx)
    alpha = routine.scalar(a, "a")
    n = count(routine, n, kept.whole_steps)
    target = kept.view(n, counted=True)
    if n and kept.increment > 0:  # BLAS leaves a vector of a negative increment as it is
        on_device(lambda x, stream: elementwise.scal(alpha, x, stream), stream, updates={"x": target})
    return array


def _copy(
    routine: Routine,
    /,
    x: Array,
    y: Array,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
    *,
    stream: Stream | None = None,
) -> Array:
    given, kept = sections(routine, x, y, (offx, incx), (offy, incy), stream, writes="y")
    n = count(routine, n, given.whole_steps)
    source, target = given.view(n, counted=True), kept.view(n, counted=True)
    if n:
        on_device(elementwise.copy, stream, reads={"x": source}, results={"y": target}, in_place=True)
    return kept.array


def _swap(
    routine: Routine,
    /,
    x: Array,
    y: Array,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
    *,
    stream: Stream | None = None,
) -> tuple[Array, Array]:
    given, kept = sections(routine, x, y, (offx, incx), (offy, incy), stream, writes="xy")
    n = count(routine, n, given.whole_steps)
    first, second = given.view(n, counted=True), kept.view(n, counted=True)
    if n:
        on_device(elementwise.swap, stream, updates={"x": first, "y": second}, in_place=True)
    return given.array, kept.array


def sections(
    routine: Routine,
    x: Array,
    y: Array,
    x_placing: tuple[Any, Any],
    y_placing: tuple[Any, Any],
    stream: Stream | None,
    *,
    writes: str,
    overwrite_x: bool = True,
    overwrite_y: bool = True,
) -> tuple[Section, Section]:
    """Both vectors; those that are written are the arguments themselves if they may be overwritten, else copies."""
    if "x" in writes:
        left = routine.written_vector(x, "x", overwrite=overwrite_x, stream=stream)
    else:
        left = routine.vector(x, "x", stream)
    right = routine.written_vector(y, "y", overwrite=overwrite_y, stream=stream)
    return section(left, "x", *x_placing), section(right, "y", *y_placing)


saxpy = in_dtype(
    _axpy,
    "saxpy",
    "float32",
    """``y += a * x`` in float32, as `scipy.linalg.blas.saxpy`: the array y, which holds the result.

    x, y: vectors, both NumPy arrays (or what becomes some) or both device arrays; NumPy arrays of other dtypes are
    converted, device arrays must be float32. ``n`` elements of each: those from ``offx`` on, ``incx`` apart, backwards
    where that is negative; by default ``(len(x) - offx) // abs(incx)``. The result is put into y if that is a device
    array, or a NumPy array of that dtype that is contiguous; else into a copy. Arrays with more axes are read in
    Fortran order; a y in C order is copied, and the result has its shape. With ``a`` 0, x is not read. For device
    arrays the work is enqueued on ``stream``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """,
)
daxpy = in_dtype(_axpy, "daxpy", "float64", "As `saxpy`, in float64.")
caxpy = in_dtype(_axpy, "caxpy", "complex64", "As `saxpy`, in complex64.")
zaxpy = in_dtype(_axpy, "zaxpy", "complex128", "As `saxpy`, in complex128.")

sscal = in_dtype(
    _scal,
    "sscal",
    "float32",
    """``x *= a`` in float32, as `scipy.linalg.blas.sscal`: the array x, which holds the result. See `saxpy`.

    A vector of a negative increment is left as it is, as BLAS has it.
    """,
)
dscal = in_dtype(_scal, "dscal", "float64", "As `sscal`, in float64.")
cscal = in_dtype(_scal, "cscal", "complex64", "As `sscal`, in complex64.")
zscal = in_dtype(_scal, "zscal", "complex128", "As `sscal`, in complex128.")
csscal = in_dtype(
    _real_scal,
    "csscal",
    "complex64",
    """``a * x`` of complex64 x and a real a, as `scipy.linalg.blas.csscal`: a copy, or x itself if ``overwrite_x``.""",
)
zdscal = in_dtype(_real_scal, "zdscal", "complex128", "As `csscal`, in complex128.")

scopy = in_dtype(
    _copy, "scopy", "float32", """``y = x`` in float32, as `scipy.linalg.blas.scopy`: the array y. See `saxpy`."""
)
dcopy = in_dtype(_copy, "dcopy", "float64", "As `scopy`, in float64.")
ccopy = in_dtype(_copy, "ccopy", "complex64", "As `scopy`, in complex64.")
zcopy = in_dtype(_copy, "zcopy", "complex128", "As `scopy`, in complex128.")

sswap = in_dtype(
    _swap,
    "sswap",
    "float32",
    """``x, y = y, x`` in float32, as `scipy.linalg.blas.sswap`: both arrays, overwritten or copies. See `saxpy`.""",
)
dswap = in_dtype(_swap, "dswap", "float64", "As `sswap`, in float64.")
cswap = in_dtype(_swap, "cswap", "complex64", "As `sswap`, in complex64.")
zswap = in_dtype(_swap, "zswap", "complex128", "As `sswap`, in complex128.")
