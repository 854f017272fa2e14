"""LAPACK's routines for general matrices: getrf, getrs, gesv, getri"""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.factorisations import lu as factors
from portagpu.blas.factorisations.triangles import first_zero
from portagpu.blas.host_arrays import on_device
from portagpu.blas.level3.triangles import identity
from portagpu.blas.scipy_arguments import TRANS, Routine, may_overwrite, option
from portagpu.lapack.arguments import folded, lapack_function, new, no_info, pivot_rows, right_sides, target, with_info
from portagpu.runtime.execution.stream import Stream

Array = Any


def _getrf(
    routine: Routine, /, a: Array, overwrite_a: int = 0, *, stream: Stream | None = None
) -> tuple[Array, Array, Any]:
    found = target(routine, routine.matrix(a, "a", batch=True), a, "a", overwrite_a, stream)
    piv = new(found, (*found.shape[:-2], min(found.shape[-2:])), np.int32)

    def enqueue(a: Any, piv: Any, info: Any, stream: Stream) -> None:
        factors.getrf(a, piv, info, stream)

    return found, piv, with_info(enqueue, found, stream, updates={"a": folded(found, stream)}, results={"piv": piv})


def _getrs(
    routine: Routine,
    /,
    lu: Array,
    piv: Array,
    b: Array,
    trans: int = 0,
    overwrite_b: int = 0,
    *,
    stream: Stream | None = None,
) -> tuple[Array, Any]:
    op = option(trans, "trans", TRANS)
    found = routine.square(lu, "lu", batch=True)
    rows = pivot_rows(routine, piv, found, stream)
    held, x = right_sides(routine, b, found, overwrite_b, stream)

    def enqueue(lu: Any, piv: Any, b: Any, stream: Stream) -> None:
        factors.getrs(lu, piv, b, stream, transpose=op > 0, conjugate=op == 2)

    on_device(enqueue, stream, reads={"lu": folded(found, stream), "piv": rows}, updates={"b": folded(held, stream)})
    return x, no_info(held, stream)


def _gesv(
    routine: Routine,
    /,
    a: Array,
    b: Array,
    overwrite_a: int = 0,
    overwrite_b: int = 0,
    *,
    stream: Stream | None = None,
) -> tuple[Array, Array, Array, Any]:
    found = target(routine, routine.square(a, "a", batch=True), a, "a", overwrite_a, stream)
    held, x = right_sides(routine, b, found, overwrite_b, stream)
    piv = new(found, found.shape[:-1], np.int32)

    def enqueue(a: Any, b: Any, piv: Any, info: Any, stream: Stream) -> None:
        factors.getrf(a, piv, info, stream)
        factors.getrs(a, piv, b, stream)

    systems = {"a": folded(found, stream), "b": folded(held, stream)}
    info = with_info(enqueue, found, stream, updates=systems, results={"piv": piv})
    return found, piv, x, info


def _getri(
    routine: Routine,
    /,
    lu: Array,
    piv: Array,
    lwork: int | None = None,
    overwrite_lu: int = 0,
    *,
    stream: Stream | None = None,
) -> tuple[Array, Any]:
    del lwork  # there is no workspace to measure
    found = routine.square(lu, "lu", batch=True)
    rows = pivot_rows(routine, piv, found, stream)
    may_overwrite(overwrite_lu, "lu")  # a leave that is not used
    made = new(found, found.shape, found.dtype)

    def enqueue(lu: Any, piv: Any, inverse: Any, info: Any, stream: Stream) -> None:
        first_zero(lu, info, stream)
        identity(inverse, stream)
        factors.getrs(lu, piv, inverse, stream)

    given = {"lu": folded(found, stream), "piv": rows}
    return made, with_info(enqueue, found, stream, reads=given, results={"inverse": folded(made, stream)})


_DOC = """``a = P L U`` with partial pivoting in float32, as `scipy.linalg.lapack.sgetrf`: (lu, piv, info).

    a: (m, n). lu: L below the diagonal of ones, U on and above it; piv: int32, the row with which row i was exchanged,
    counted from 0. ``overwrite_a``: lu may be a itself, and is for device arrays, and NumPy arrays of that dtype in
    Fortran order. NumPy arrays of other dtypes are converted; device arrays must be float32, the work is enqueued on
    ``stream``, and piv and info are int32 arrays on the device, info without axes. info: 0, or the number of the first
    pivot that is zero, counted from 1; the factors are complete even so.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """
sgetrf = lapack_function(_getrf, "sgetrf", "float32", _DOC)
dgetrf = lapack_function(_getrf, "dgetrf", "float64", "As `sgetrf`, in float64.")
cgetrf = lapack_function(_getrf, "cgetrf", "complex64", "As `sgetrf`, in complex64.")
zgetrf = lapack_function(_getrf, "zgetrf", "complex128", "As `sgetrf`, in complex128.")

_DOC = """``inv(op(a)) @ b`` with the factors of a in float32, as `scipy.linalg.lapack.sgetrs`: (x, info).

    lu, piv: of `sgetrf`, (n, n) and (n). ``op`` leaves a as it is (``trans`` 0), transposes (1), or transposes and
    conjugates (2). b: (n, m) or (n), which ``overwrite_b`` lets the result replace. info is 0. Arrays and errors are as
    those of `sgetrf`.
    """
sgetrs = lapack_function(_getrs, "sgetrs", "float32", _DOC)
dgetrs = lapack_function(_getrs, "dgetrs", "float64", "As `sgetrs`, in float64.")
cgetrs = lapack_function(_getrs, "cgetrs", "complex64", "As `sgetrs`, in complex64.")
zgetrs = lapack_function(_getrs, "zgetrs", "complex128", "As `sgetrs`, in complex128.")

_DOC = """``inv(a) @ b`` in float32, as `scipy.linalg.lapack.sgesv`: (lu, piv, x, info).

    `sgetrf`, then `sgetrs`; where info is not 0, x holds anything.
    """
sgesv = lapack_function(_gesv, "sgesv", "float32", _DOC)
dgesv = lapack_function(_gesv, "dgesv", "float64", "As `sgesv`, in float64.")
cgesv = lapack_function(_gesv, "cgesv", "complex64", "As `sgesv`, in complex64.")
zgesv = lapack_function(_gesv, "zgesv", "complex128", "As `sgesv`, in complex128.")

_DOC = """``inv(a)`` of the factors of a in float32, as `scipy.linalg.lapack.sgetri`: (inv_a, info).

    lu, piv: of `sgetrf`. ``lwork`` is taken and not needed. Nor does lu become the result, which ``overwrite_lu`` would
    allow. info: 0, or the number of the first pivot that is zero; inv_a holds anything then. Arrays and errors are as
    those of `sgetrf`.
    """
sgetri = lapack_function(_getri, "sgetri", "float32", _DOC)
dgetri = lapack_function(_getri, "dgetri", "float64", "As `sgetri`, in float64.")
cgetri = lapack_function(_getri, "cgetri", "complex64", "As `sgetri`, in complex64.")
zgetri = lapack_function(_getri, "zgetri", "complex128", "As `sgetri`, in complex128.")
