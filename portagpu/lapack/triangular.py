"""LAPACK's routines for triangular matrices: trtri, trtrs"""

from __future__ import annotations

from typing import Any

from portagpu.blas.factorisations.inverses import trtri
from portagpu.blas.factorisations.triangles import first_zero
from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.level3.triangular_solve import solve_triangular
from portagpu.blas.scipy_arguments import DIAG, LOWER, TRANS, Routine, integer, option
from portagpu.errors import ShapeError
from portagpu.lapack.arguments import cleared, folded, lapack_function, right_sides, target, with_info
from portagpu.runtime.execution.stream import Stream

Array = Any


def _trtri(
    routine: Routine,
    /,
    c: Array,
    lower: int = 0,
    unitdiag: int = 0,
    overwrite_c: int = 0,
    *,
    stream: Stream | None = None,
) -> tuple[Array, Any]:
    is_lower, unit = bool(option(lower, "lower", LOWER)), bool(option(unitdiag, "unitdiag", DIAG))
    found = target(routine, routine.square(c, "c", batch=True), c, "c", overwrite_c, stream)

    def enqueue(c: Any, info: Any, stream: Stream) -> None:
        if unit:
            cleared(info, stream)
        else:
            first_zero(c, info, stream)
        trtri(c, stream, lower=is_lower, unit_diagonal=unit)

    return found, with_info(enqueue, found, stream, updates={"c": folded(found, stream)})


def _trtrs(
    routine: Routine,
    /,
    a: Array,
    b: Array,
    lower: int = 0,
    trans: int = 0,
    unitdiag: int = 0,
    lda: int | None = None,
    overwrite_b: int = 0,
    *,
    stream: Stream | None = None,
) -> tuple[Array, Any]:
    is_lower, unit = bool(option(lower, "lower", LOWER)), bool(option(unitdiag, "unitdiag", DIAG))
    op = option(trans, "trans", TRANS)
    found = routine.square(a, "a", batch=True)
    if lda is not None and integer(lda, "lda") != found.shape[-2]:
        raise ShapeError(f"{routine.name}: lda is {lda}, a has {found.shape[-2]} rows", hint="leave lda away")
    held, x = right_sides(routine, b, found, overwrite_b, stream)

    def enqueue(a: Any, b: Any, info: Any, stream: Stream) -> None:
        if unit:
            cleared(info, stream)
        else:
            first_zero(a, info, stream)
        solve_triangular(
            swapped(a) if op else a, b, stream, lower=is_lower != (op > 0), unit_diagonal=unit, conjugate=op == 2
        )

    return x, with_info(enqueue, held, stream, reads={"a": folded(found, stream)}, updates={"b": folded(held, stream)})


_DOC = """The inverse of a triangular matrix in float32, as `scipy.linalg.lapack.strtri`: (inv_c, info).

    c: (n, n), of which only the ``lower`` (1) or upper (0) triangle is read, and with ``unitdiag`` 1 not its diagonal;
    inv_c has c's other elements. ``overwrite_c``: inv_c may be c itself. info: 0, or the number of the first zero on
    the diagonal, counted from 1; inv_c holds anything then. Arrays and errors are as those of `sgetrf`.
    """
strtri = lapack_function(_trtri, "strtri", "float32", _DOC)
dtrtri = lapack_function(_trtri, "dtrtri", "float64", "As `strtri`, in float64.")
ctrtri = lapack_function(_trtri, "ctrtri", "complex64", "As `strtri`, in complex64.")
ztrtri = lapack_function(_trtri, "ztrtri", "complex128", "As `strtri`, in complex128.")

_DOC = """``inv(op(a)) @ b`` for a triangular matrix in float32, as `scipy.linalg.lapack.strtrs`: (x, info).

    a, ``lower``, ``unitdiag`` and info are as in `strtri`; ``trans`` is as in `sgetrs`. b: (n, m) or (n), which
    ``overwrite_b`` lets the result replace. Arrays and errors are as those of `sgetrf`.
    """
strtrs = lapack_function(_trtrs, "strtrs", "float32", _DOC)
dtrtrs = lapack_function(_trtrs, "dtrtrs", "float64", "As `strtrs`, in float64.")
ctrtrs = lapack_function(_trtrs, "ctrtrs", "complex64", "As `strtrs`, in complex64.")
ztrtrs = lapack_function(_trtrs, "ztrtrs", "complex128", "As `strtrs`, in complex128.")
