"""`spr`, `hpr`, `spr2` and `hpr2`: rank-one and rank-two updates of packed triangles."""

from __future__ import annotations

from typing import Any

from portagpu.blas.host_arrays import on_device
from portagpu.blas.level2.packed import packed_triangle
from portagpu.blas.level2.products.form import LOWER as LOWER_TRIANGLE
from portagpu.blas.level2.products.form import UPPER
from portagpu.blas.level2.updates.update import Outer, add_to_packed
from portagpu.blas.scipy_arguments import LOWER, Routine, in_dtype, may_overwrite, option
from portagpu.blas.scipy_vectors import count, section
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any


def spr(
    alpha: complex,
    vectors: tuple[DeviceNDArray, ...],
    ap: DeviceNDArray,
    n: int,
    stream: Stream,
    *,
    lower: bool = False,
    hermitian: bool = False,
) -> None:
    """``A = alpha * x * x^T + A`` for one vector, ``alpha * x * y^T + alpha * y * x^T + A`` for two; enqueued.

    Of a ``hermitian`` A: ``alpha * x * x^H`` with a real alpha, and ``alpha * x * y^H + conj(alpha) * y * x^H``; its
    diagonal becomes real. ap (n * (n + 1) / 2): the columns of A's upper triangle, or of the ``lower`` one; vectors of
    n elements: device arrays of any strides and of one dtype, which have no memory in common with ap.
    """
    if n == 0 or alpha == 0:
        return
    hermitian = hermitian and ap.dtype.kind == "c"
    products: tuple[Outer, ...] = (Outer(alpha, vectors[0], vectors[-1], conjugate_y=hermitian),)
    if len(vectors) == 2:
        other = complex(alpha).conjugate() if hermitian else alpha
        products += (Outer(other, vectors[1], vectors[0], conjugate_y=hermitian),)
    add_to_packed(ap, n, products, stream, shape=LOWER_TRIANGLE if lower else UPPER, real_diagonal=hermitian)


def _spr(
    routine: Routine,
    /,
    n: int,
    alpha: Any,
    x: Array,
    ap: Array,
    incx: int = 1,
    offx: int = 0,
    lower: int = 0,
    overwrite_ap: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    return _updated(routine, n, alpha, {"x": (x, offx, incx)}, ap, lower, overwrite_ap, stream)


def _spr2(
    routine: Routine,
    /,
    n: int,
    alpha: Any,
    x: Array,
    y: Array,
    ap: Array,
    incx: int = 1,
    offx: int = 0,
    incy: int = 1,
    offy: int = 0,
    lower: int = 0,
    overwrite_ap: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    vectors = {"x": (x, offx, incx), "y": (y, offy, incy)}
    return _updated(routine, n, alpha, vectors, ap, lower, overwrite_ap, stream)


def _updated(
    routine: Routine,
    n: Any,
    alpha: Any,
    vectors: dict[str, tuple[Array, Any, Any]],
    ap: Array,
    lower: Any,
    overwrite_ap: Any,
    stream: Stream | None,
) -> Array:
    """The packed triangle with one or two products of vectors added, as the routine has it."""
    size = count(routine, n, 0)
    is_lower, overwrite = bool(option(lower, "lower", LOWER)), may_overwrite(overwrite_ap, "ap")
    hermitian, factor = routine.family.startswith("h"), routine.scalar(alpha, "alpha")
    if routine.family == "hpr":  # BLAS has a real one
        factor = factor.real
    sources = {
        name: section(routine.vector(given, name, stream), name, *placing).view(size)
        for name, (given, *placing) in vectors.items()
    }
    result = routine.written_vector(ap, "ap", overwrite=overwrite, stream=stream)
    triangle = packed_triangle(routine, result, size)

    def enqueue(*given: Any) -> None:
        *found, ap, where = given
        spr(factor, tuple(found), ap, size, where, lower=is_lower, hermitian=hermitian)

    if factor != 0 and size:
        on_device(enqueue, stream, reads=sources, updates={"ap": triangle})
    return result


sspr = in_dtype(
    _spr,
    "sspr",
    "float32",
    """``alpha * x * x^T + A`` in float32 for a symmetric A, packed, as `scipy.linalg.blas.sspr`: the packed triangle.

    ap: as of `sspmv`, left as it is unless ``overwrite_ap``. x: a vector, of which n elements are used, as of `sspmv`,
    not read where ``alpha`` is 0. Arrays as of `sspmv`.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dspr = in_dtype(_spr, "dspr", "float64", "As `sspr`, in float64.")
cspr = in_dtype(_spr, "cspr", "complex64", "As `sspr`, in complex64: nothing is conjugated.")
zspr = in_dtype(_spr, "zspr", "complex128", "As `cspr`, in complex128.")
chpr = in_dtype(
    _spr,
    "chpr",
    "complex64",
    "As `sspr`, ``alpha * x * x^H + A`` for a Hermitian A, whose diagonal becomes real, and the real part of alpha.",
    family="hpr",
)
zhpr = in_dtype(_spr, "zhpr", "complex128", "As `chpr`, in complex128.", family="hpr")
sspr2 = in_dtype(
    _spr2,
    "sspr2",
    "float32",
    """``alpha * x * y^T + alpha * y * x^T + A`` in float32 for a symmetric A, packed, as `scipy.linalg.blas.sspr2`.

    x, y: vectors as of `sspr`, as is the rest.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dspr2 = in_dtype(_spr2, "dspr2", "float64", "As `sspr2`, in float64.")
chpr2 = in_dtype(
    _spr2,
    "chpr2",
    "complex64",
    "As `sspr2`, ``alpha * x * y^H + conj(alpha) * y * x^H + A`` for a Hermitian A, whose diagonal becomes real.",
    family="hpr2",
)
zhpr2 = in_dtype(_spr2, "zhpr2", "complex128", "As `chpr2`, in complex128.", family="hpr2")
