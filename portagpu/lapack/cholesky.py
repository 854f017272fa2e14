"""LAPACK's routines for Hermitian positive definite matrices: potrf, potrs, posv, potri"""

from __future__ import annotations

from typing import Any

from portagpu.blas.factorisations import cholesky, inverses
from portagpu.blas.factorisations.triangles import clear_beyond, first_zero
from portagpu.blas.host_arrays import on_device
from portagpu.blas.scipy_arguments import LOWER, Routine, option
from portagpu.lapack.arguments import folded, lapack_function, no_info, right_sides, target, with_info
from portagpu.runtime.execution.stream import Stream

Array = Any
_CLEAN = ("leaves the other triangle as it is", "fills the other triangle with zeros")


def _potrf(
    routine: Routine,
    /,
    a: Array,
    lower: int = 0,
    clean: int = 1,
    overwrite_a: int = 0,
    *,
    stream: Stream | None = None,
) -> tuple[Array, Any]:
    is_lower, is_clean = bool(option(lower, "lower", LOWER)), bool(option(clean, "clean", _CLEAN))
    found = target(routine, routine.square(a, "a", batch=True), a, "a", overwrite_a, stream)

    def enqueue(c: Any, info: Any, stream: Stream) -> None:
        cholesky.potrf(c, info, stream, lower=is_lower)
        if is_clean:
            clear_beyond(c, stream, lower=is_lower)

    return found, with_info(enqueue, found, stream, updates={"a": folded(found, stream)})


def _potrs(
    routine: Routine, /, c: Array, b: Array, lower: int = 0, overwrite_b: int = 0, *, stream: Stream | None = None
) -> tuple[Array, Any]:
    is_lower = bool(option(lower, "lower", LOWER))
    factor = routine.square(c, "c", batch=True)
    held, x = right_sides(routine, b, factor, overwrite_b, stream)

    def enqueue(factor: Any, b: Any, stream: Stream) -> None:
        cholesky.potrs(factor, b, stream, lower=is_lower)

    on_device(enqueue, stream, reads={"c": folded(factor, stream)}, updates={"b": folded(held, stream)})
    return x, no_info(held, stream)


def _posv(
    routine: Routine,
    /,
    a: Array,
    b: Array,
    lower: int = 0,
    overwrite_a: int = 0,
    overwrite_b: int = 0,
    *,
    stream: Stream | None = None,
) -> tuple[Array, Array, Any]:
    is_lower = bool(option(lower, "lower", LOWER))
    matrix = routine.square(a, "a", batch=True)
    found = target(routine, matrix, a, "a", overwrite_a, stream)
    held, x = right_sides(routine, b, found, overwrite_b, stream)

    def enqueue(c: Any, b: Any, info: Any, stream: Stream) -> None:
        cholesky.potrf(c, info, stream, lower=is_lower)
        cholesky.potrs(c, b, stream, lower=is_lower)

    return found, x, with_info(enqueue, found, stream, updates={"a": folded(found, stream), "b": folded(held, stream)})


def _potri(
    routine: Routine, /, c: Array, lower: int = 0, overwrite_c: int = 0, *, stream: Stream | None = None
) -> tuple[Array, Any]:
    is_lower = bool(option(lower, "lower", LOWER))
    found = target(routine, routine.square(c, "c", batch=True), c, "c", overwrite_c, stream)

    def enqueue(c: Any, info: Any, stream: Stream) -> None:
        first_zero(c, info, stream)
        inverses.potri(c, stream, lower=is_lower)

    return found, with_info(enqueue, found, stream, updates={"c": folded(found, stream)})


_DOC = """The Cholesky factor of a positive definite matrix in float32, as `scipy.linalg.lapack.spotrf`: (c, info).

    a: (n, n), of which only the ``lower`` (1) or upper (0) triangle is read; c: L with a = L L^H, or U with a = U^H U.
    ``clean``: zeros in the other triangle (1), or what a has there (0). ``overwrite_a``: c may be a itself, and is for
    device arrays, and NumPy arrays of that dtype in Fortran order. NumPy arrays of other dtypes are converted; device
    arrays must be float32, the work is enqueued on ``stream``, and info is an int32 array on the device. info: 0, or
    the order of the first leading minor that is not positive definite; c holds anything then.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """
spotrf = lapack_function(_potrf, "spotrf", "float32", _DOC)
dpotrf = lapack_function(_potrf, "dpotrf", "float64", "As `spotrf`, in float64.")
cpotrf = lapack_function(_potrf, "cpotrf", "complex64", "As `spotrf`, in complex64.")
zpotrf = lapack_function(_potrf, "zpotrf", "complex128", "As `spotrf`, in complex128.")

_DOC = """``inv(a) @ b`` with the Cholesky factor of a in float32, as `scipy.linalg.lapack.spotrs`: (x, info).

    c: (n, n), of `spotrf` with the same ``lower``; its other triangle is not read. b: (n, m) or (n), which
    ``overwrite_b`` lets the result replace. info is 0. Arrays and errors are as those of `spotrf`.
    """
spotrs = lapack_function(_potrs, "spotrs", "float32", _DOC)
dpotrs = lapack_function(_potrs, "dpotrs", "float64", "As `spotrs`, in float64.")
cpotrs = lapack_function(_potrs, "cpotrs", "complex64", "As `spotrs`, in complex64.")
zpotrs = lapack_function(_potrs, "zpotrs", "complex128", "As `spotrs`, in complex128.")

_DOC = """``inv(a) @ b`` for a positive definite matrix in float32, as `scipy.linalg.lapack.sposv`: (c, x, info).

    `spotrf` without ``clean``, then `spotrs`; where info is not 0, x holds anything.
    """
sposv = lapack_function(_posv, "sposv", "float32", _DOC)
dposv = lapack_function(_posv, "dposv", "float64", "As `sposv`, in float64.")
cposv = lapack_function(_posv, "cposv", "complex64", "As `sposv`, in complex64.")
zposv = lapack_function(_posv, "zposv", "complex128", "As `sposv`, in complex128.")

_DOC = """``inv(a)`` of a's Cholesky factor in float32, as `scipy.linalg.lapack.spotri`: (inv_a, info).

    c: (n, n), of `spotrf` with the same ``lower``, which names the triangle of inv_a, too; the other one is c's.
    ``overwrite_c``: inv_a may be c itself. info: 0, or the number of the first zero on the diagonal, counted from 1.
    Arrays and errors are as those of `spotrf`.
    """
spotri = lapack_function(_potri, "spotri", "float32", _DOC)
dpotri = lapack_function(_potri, "dpotri", "float64", "As `spotri`, in float64.")
cpotri = lapack_function(_potri, "cpotri", "complex64", "As `spotri`, in complex64.")
zpotri = lapack_function(_potri, "zpotri", "complex128", "As `spotri`, in complex128.")
